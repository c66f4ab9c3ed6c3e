#include "thaw/ir/data/tensor_chunks.h"

#include <algorithm>

#include "thaw/core/mapped_file.h"

namespace thaw::ir {

void for_chunks(const Tensor& tensor, size_t most, const TensorSource::Sink& each) {
  if (tensor.storage() == Tensor::Storage::kMade) return tensor.source()->write(each);
  const std::span<const std::byte> bytes = tensor.bytes();
  for (size_t at = 0; at < bytes.size(); at += most) {
    const auto chunk = bytes.subspan(at, std::min(most, bytes.size() - at));
    each(chunk);
    release_pages(chunk);
  }
}

}  // namespace thaw::ir
