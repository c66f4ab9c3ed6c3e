#include "thaw/ir/data/tensor_pieces.h"

#include <algorithm>

#include "thaw/core/mapped_file.h"

namespace thaw::ir {

void for_pieces(const Tensor& tensor, size_t most, const TensorSource::Sink& each) {
  if (tensor.storage() == Tensor::Storage::kMade) return tensor.source()->write(each);
  const std::span<const std::byte> bytes = tensor.bytes();
  for (size_t at = 0; at < bytes.size(); at += most) {
    const auto piece = bytes.subspan(at, std::min(most, bytes.size() - at));
    each(piece);
    release_pages(piece);
  }
}

}  // namespace thaw::ir
