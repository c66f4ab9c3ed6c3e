#include "thaw/prove/offsets.h"

#include <functional>
#include <numeric>

namespace thaw::proving {

int64_t product_of(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> offsets(std::span<const int64_t> dims, std::span<const int64_t> steps, int64_t first) {
  std::vector<int64_t> result;
  if (product_of(dims) == 0) return result;
  std::vector<int64_t> index(dims.size(), 0);
  int64_t at = first;
  while (true) {
    result.push_back(at);
    size_t k = dims.size();
    while (k > 0) {
      --k;
      at += steps[k];
      if (++index[k] < dims[k]) break;
      at -= steps[k] * dims[k];
      index[k] = 0;
      if (k == 0) return result;
    }
    if (dims.empty()) return result;
  }
}

}  // namespace thaw::proving
