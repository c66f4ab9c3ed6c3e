#include "thaw/quant/int8/scaled_weight.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "thaw/ir/data/tensor_source.h"
#include "thaw/quant/int8/coded_weight.h"

namespace thaw::quantizing::int8 {
namespace {

class ScaledSource final : public ir::TensorSource {
 public:
  ScaledSource(ir::Tensor weight, std::vector<float> factors, int64_t inner)
      : weight_(std::move(weight)), factors_(std::move(factors)), inner_(inner) {}

  void write(const Sink& sink) const override {
    std::vector<float> made;
    for_chunks(weight_, [&](int64_t first, std::span<const float> numbers) {
      made.assign(numbers.begin(), numbers.end());
      for (size_t i = 0; i < made.size(); ++i)
        made[i] *= factors_[static_cast<size_t>((first + static_cast<int64_t>(i)) / inner_) % factors_.size()];
      sink(std::as_bytes(std::span<const float>(made)));
    });
  }

 private:
  ir::Tensor weight_;
  std::vector<float> factors_;
  int64_t inner_;
};

}  // namespace

ir::Tensor scaled(const ir::Tensor& weight, std::string name, std::vector<float> factors, int64_t inner) {
  auto source = std::make_shared<ScaledSource>(weight, std::move(factors), inner);
  return ir::Tensor::made(std::move(name), ir::DataType::kFloat, weight.dims, std::move(source));
}

std::vector<double> largest_of(const ir::Tensor& weight, int64_t positions, int64_t inner) {
  std::vector<double> largest(static_cast<size_t>(positions), 0);
  for_chunks(weight, [&](int64_t first, std::span<const float> numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      double& here = largest[static_cast<size_t>((first + static_cast<int64_t>(i)) / inner % positions)];
      here = std::max(here, std::fabs(static_cast<double>(numbers[i])));
    }
  });
  return largest;
}

}  // namespace thaw::quantizing::int8
