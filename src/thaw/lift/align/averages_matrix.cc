#include "thaw/lift/align/averages_matrix.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "thaw/lift/align/averaged_cells.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostAverages = int64_t{1} << 24;  // entries of a matrix

size_t entry_place(int64_t cell, int64_t cells, int64_t at, int64_t side, bool turned) {
  return static_cast<size_t>(turned ? at * cells + cell : cell * side + at);
}

float weight_in(const Window& window) { return 1.0F / static_cast<float>(window.end - window.begin); }

}  // namespace

bool is_large_average(int64_t cells, int64_t side) { return side > kMostAverages || cells * side > kMostAverages; }

ir::Tensor averages_matrix(std::string name, int64_t cells, int64_t side, bool turned) {
  std::vector<float> entries(static_cast<size_t>(cells * side));
  for (int64_t cell = 0; cell < cells; ++cell) {
    const Window window = window_of(cell, cells, side);
    for (int64_t at = window.begin; at < window.end; ++at)
      entries[entry_place(cell, cells, at, side, turned)] = weight_in(window);
  }
  return ir::Tensor::from_float(std::move(name), turned ? std::vector{side, cells} : std::vector{cells, side}, entries);
}

bool is_averages_matrix(const ir::Tensor& tensor, bool turned) {
  if (tensor.data_type != ir::DataType::kFloat || tensor.dims.size() != 2) return false;
  const int64_t cells = tensor.dims[turned ? 1 : 0], side = tensor.dims[turned ? 0 : 1];
  if (cells < 1 || side < 1 || cells > kMostAverages / side) return false;
  const std::byte* entries = tensor.bytes().data();
  // Any weight of a product is asked: most of them are none at their first entry.
  for (int64_t cell = 0; cell < cells; ++cell) {
    const Window window = window_of(cell, cells, side);
    for (int64_t at = 0; at < side; ++at) {
      const float wanted = at >= window.begin && at < window.end ? weight_in(window) : 0.0F;
      uint32_t bits = 0;
      std::memcpy(&bits, entries + entry_place(cell, cells, at, side, turned) * sizeof(float), sizeof(bits));
      if (bits != std::bit_cast<uint32_t>(wanted)) return false;
    }
  }
  return true;
}

}  // namespace thaw::lifting
