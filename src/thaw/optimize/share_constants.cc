// What is stored twice, once.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "thaw/core/mapped_file.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/patch.h"

namespace thaw::optimizing {
namespace {

constexpr size_t kEnd = 4096;  // bytes at either end of a tensor that are looked at first

using Kind = std::pair<ir::DataType, std::vector<int64_t>>;

bool lie_in_one_place(const ir::Tensor& a, const ir::Tensor& b) {
  return a.external() && b.external() && a.external()->location == b.external()->location &&
         a.external()->offset == b.external()->offset;
}

// The ends tell nearly all weights apart, so that a file of gigabytes is not read.
size_t hash_of_ends(const ir::Tensor& tensor) {
  const auto bytes = tensor.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::hash<std::string_view> hash;
  if (text.size() <= 2 * kEnd) return hash(text);
  return hash(text.substr(0, kEnd)) * 31 + hash(text.substr(text.size() - kEnd));
}

bool have_same_bytes(const ir::Tensor& a, const ir::Tensor& b) {
  if (lie_in_one_place(a, b)) return true;
  return same_bytes(a.bytes(), b.bytes());
}

int share_constants_in(ir::Graph& graph, const Constants& keep, rewrite::Changes& changes) {
  std::map<Kind, std::vector<ir::Value*>> by_kind;
  for (ir::Value* value : graph.initializers()) {
    const ir::Tensor& tensor = *value->initializer();
    if (keep.contains(value) || value->is_input() || tensor.data_type == ir::DataType::kString ||
        tensor.storage() == ir::Tensor::Storage::kMade)
      continue;
    by_kind[{tensor.data_type, tensor.dims}].push_back(value);
  }
  int count = 0;
  for (const auto& [kind, values] : by_kind) {
    if (values.size() < 2) continue;
    std::multimap<size_t, ir::Value*> known;
    for (ir::Value* value : values) {
      const ir::Tensor& tensor = *value->initializer();
      const size_t hash = hash_of_ends(tensor);
      const auto [begin, end] = known.equal_range(hash);
      const auto first = std::find_if(
          begin, end, [&](const auto& entry) { return have_same_bytes(*entry.second->initializer(), tensor); });
      if (first == end) {
        known.emplace(hash, value);
        continue;
      }
      if (!rewrite::can_replace(*value, *first->second)) continue;
      changes.made.push_back({.kind = "store once",
                              .location = "constant '" + value->name() + "'",
                              .replaced = {{"'" + value->name() + "'", "'" + first->second->name() + "'"}}});
      rewrite::replace_value(*value, *first->second);
      graph.remove_initializer(value);
      ++count;
    }
  }
  for (ir::Node* node : graph.nodes())
    for (ir::Graph* inner : node->subgraphs()) count += share_constants_in(*inner, keep, changes);
  return count;
}

}  // namespace

int share_constants(Context& context) {
  const Constants& keep = context.frozen();
  return rewrite::edit_as_one(context, [&] { return share_constants_in(*context.model.graph, keep, context.changes); });
}

}  // namespace thaw::optimizing
