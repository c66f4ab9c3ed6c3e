#include "thaw/lift/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace thaw::lift {
namespace {

constexpr int64_t kMostListed = 12;

bool is_listed(const ir::Tensor& tensor) {
  return ir::is_integer(tensor.data_type) && tensor.data_type != ir::DataType::kUint64 && tensor.dims.size() <= 1 &&
         tensor.num_elements() <= kMostListed;
}

}  // namespace

std::vector<std::string> evidence(std::span<const ir::Tensor* const> tensors) {
  std::vector<std::string> texts;
  for (const ir::Tensor* tensor : tensors) {
    if (is_listed(*tensor)) {
      const std::vector<int64_t> values = tensor->to_int64();
      texts.push_back(tensor->dims.empty() ? fmt::format("{}", values[0])
                                           : fmt::format("[{}]", fmt::join(values, ", ")));
    } else {
      texts.push_back(fmt::format("{}[{}]", ir::name_of(tensor->data_type), fmt::join(tensor->dims, ",")));
    }
  }
  return texts;
}

}  // namespace thaw::lift
