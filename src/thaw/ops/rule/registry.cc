#include "thaw/ops/rule/registry.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>

#include "thaw/ops/rule/families.h"

namespace thaw::ops {

void Registry::add(const OpEntry& entry) {
  if (!entries_.emplace(Key{entry.domain, entry.name}, entry).second)
    throw std::logic_error("operator registered twice: " + std::string(entry.domain) + "." + std::string(entry.name));
}

const OpEntry* Registry::find(std::string_view domain, std::string_view name) const {
  auto it = entries_.find(Key{domain, name});
  return it == entries_.end() ? nullptr : &it->second;
}

std::vector<const OpEntry*> Registry::all() const {
  std::vector<const OpEntry*> list;
  list.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) list.push_back(&entry);
  std::sort(list.begin(), list.end(), [](const OpEntry* a, const OpEntry* b) {
    return std::tie(a->domain, a->name) < std::tie(b->domain, b->name);
  });
  return list;
}

const Registry& registry() {
  static const Registry instance = [] {
    Registry r;
    add_elementwise_ops(r);
    add_logical_ops(r);
    add_cast_ops(r);
    add_activation_ops(r);
    add_reduction_ops(r);
    add_matmul_ops(r);
    add_conv_ops(r);
    add_pool_ops(r);
    add_normalization_ops(r);
    add_attention_ops(r);
    add_recurrent_ops(r);
    add_quantization_ops(r);
    add_resize_ops(r);
    add_vision_ops(r);
    add_signal_ops(r);
    add_random_ops(r);
    add_loss_ops(r);
    add_reshape_ops(r);
    add_transpose_ops(r);
    add_slice_ops(r);
    add_concat_ops(r);
    add_gather_ops(r);
    add_select_ops(r);
    add_generator_ops(r);
    add_sequence_ops(r);
    add_control_ops(r);
    add_string_ops(r);
    add_ml_ops(r);
    add_ms_attention_ops(r);
    add_ms_norm_ops(r);
    add_ms_quant_ops(r);
    add_ms_misc_ops(r);
    return r;
  }();
  return instance;
}

}  // namespace thaw::ops
