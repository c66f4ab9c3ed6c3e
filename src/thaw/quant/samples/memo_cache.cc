#include "thaw/quant/samples/memo_cache.h"

#define XXH_INLINE_ALL
#include <utility>

#include <xxhash.h>

namespace thaw::quantizing {
namespace {

constexpr uint64_t kMostHeld = uint64_t{1} << 30;  // bytes of converted weights
constexpr const char* kHeld = "bytes of converted weights";

// Where they are to be kept, the bytes themselves: a source would make them again for each model that is sent to the runtime.
void hold(std::vector<ir::Tensor>& tensors, uint64_t& held) {
  uint64_t bytes = 0;
  for (const ir::Tensor& tensor : tensors) bytes += tensor.num_bytes();
  if (held + bytes > kMostHeld) return;
  held += bytes;
  for (ir::Tensor& tensor : tensors) {
    if (tensor.storage() != ir::Tensor::Storage::kMade) continue;
    const std::span<const std::byte> made = tensor.bytes();
    tensor = ir::Tensor::from_bytes(tensor.name, tensor.data_type, tensor.dims, {made.begin(), made.end()});
  }
}

}  // namespace

MemoKey::MemoKey(std::string_view what, const ir::Tensor& weight) : text_("made ") {
  text_.append(what).push_back(' ');
  text_.append(weight.name).push_back('\0');
  add(weight.data_type);
  for (const int64_t dim : weight.dims) add(dim);
  switch (weight.storage()) {
    case ir::Tensor::Storage::kExternal:
      text_.append(weight.external()->location);
      add(weight.external()->offset);
      break;
    case ir::Tensor::Storage::kMade:
      add(reinterpret_cast<uintptr_t>(weight.source()));
      break;
    case ir::Tensor::Storage::kRaw:
      add(reinterpret_cast<uintptr_t>(weight.bytes().data()));
      break;
    case ir::Tensor::Storage::kTyped:
      add(weight.bytes());  // each copy of the model decodes it for itself
      break;
  }
}

MemoKey& MemoKey::add(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return add(hash.high64).add(hash.low64).add(bytes.size());
}

std::vector<ir::Tensor> memoized(Remembered* known, const MemoKey& key,
                                 const std::function<std::vector<ir::Tensor>()>& make) {
  if (!known) return make();
  if (const auto at = known->find(key.text()); at != known->end())
    return std::any_cast<const std::vector<ir::Tensor>&>(at->second);
  std::vector<ir::Tensor> tensors = make();
  std::any& held = known->try_emplace(kHeld, uint64_t{0}).first->second;
  hold(tensors, std::any_cast<uint64_t&>(held));
  known->emplace(key.text(), tensors);
  return tensors;
}

}  // namespace thaw::quantizing
