#include "thaw/lift/align/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace thaw::lifting {
namespace {

constexpr int64_t kMostListed = 12;

bool is_listed(const ir::Tensor& tensor) {
  return ir::is_integer(tensor.data_type) && tensor.data_type != ir::DataType::kUint64 && tensor.dims.size() <= 2 &&
         tensor.num_elements() > 0 && tensor.num_elements() <= kMostListed;
}

std::string list(const ir::Tensor& tensor) {
  const std::vector<int64_t> values = tensor.to_int64();
  if (tensor.dims.empty()) return std::to_string(values[0]);
  if (tensor.dims.size() == 1) return fmt::format("[{}]", fmt::join(values, ", "));
  std::vector<std::string> rows;
  const int64_t width = tensor.dims[1];
  for (int64_t row = 0; row < tensor.dims[0]; ++row) {
    const auto begin = values.begin() + row * width;
    rows.push_back(fmt::format("[{}]", fmt::join(begin, begin + width, ", ")));
  }
  return fmt::format("[{}]", fmt::join(rows, ", "));
}

}  // namespace

std::vector<std::string> evidence(std::span<const ir::Tensor* const> tensors) {
  std::vector<std::string> texts;
  for (const ir::Tensor* tensor : tensors) {
    texts.push_back(is_listed(*tensor)
                        ? list(*tensor)
                        : fmt::format("{}[{}]", ir::name_of(tensor->data_type), fmt::join(tensor->dims, ",")));
  }
  return texts;
}

}  // namespace thaw::lifting
