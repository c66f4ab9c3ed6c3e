#include "thaw/lift/align/averages_matrix.h"

#include <utility>
#include <vector>

#include "thaw/lift/align/averaged_cells.h"
#include "thaw/lift/align/same_node.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostAverages = int64_t{1} << 24;  // entries of a matrix

}  // namespace

ir::Tensor averages_matrix(std::string name, int64_t cells, int64_t side, bool turned) {
  std::vector<float> entries(static_cast<size_t>(cells * side));
  for (int64_t cell = 0; cell < cells; ++cell) {
    const Window window = window_of(cell, cells, side);
    for (int64_t at = window.begin; at < window.end; ++at)
      entries[static_cast<size_t>(turned ? at * cells + cell : cell * side + at)] =
          1.0F / static_cast<float>(window.end - window.begin);
  }
  return ir::Tensor::from_float(std::move(name), turned ? std::vector{side, cells} : std::vector{cells, side}, entries);
}

bool is_averages_matrix(const ir::Tensor& tensor, bool turned) {
  if (tensor.data_type != ir::DataType::kFloat || tensor.dims.size() != 2) return false;
  const int64_t cells = tensor.dims[turned ? 1 : 0], side = tensor.dims[turned ? 0 : 1];
  if (cells < 1 || side < 1 || cells > kMostAverages / side) return false;
  return same_tensor(tensor, averages_matrix({}, cells, side, turned));
}

}  // namespace thaw::lifting
