#include "thaw/model/weight.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/model/weight_source.h"

namespace thaw::model {
namespace {

[[noreturn]] void misuse(std::string what) { throw std::logic_error("Weight: " + std::move(what)); }

}  // namespace

Weight Weight::of(ir::Tensor tensor) {
  Weight weight;
  weight.dims_ = tensor.dims;
  weight.rows_ = tensor.dims.empty() ? 1 : tensor.dims[0];
  weight.columns_ = weight.rows_ == 0 ? 1 : tensor.num_elements() / weight.rows_;
  const int64_t rows = weight.rows_;
  weight.parts_.push_back({.values = std::move(tensor), .first = 0, .count = rows, .adapters = {}});
  return weight;
}

Weight Weight::concat_rows(const Weight& other) const {
  if (transposed_ || other.transposed_) misuse("rows are concatenated before transposing");
  if (columns_ != other.columns_) misuse(fmt::format("{} columns cannot join {}", other.columns_, columns_));
  Weight concatenated = *this;
  concatenated.parts_.insert(concatenated.parts_.end(), other.parts_.begin(), other.parts_.end());
  concatenated.rows_ += other.rows_;
  concatenated.dims_ =
      dims_.size() == 1 ? std::vector{concatenated.rows_} : std::vector{concatenated.rows_, concatenated.columns_};
  return concatenated;
}

Weight Weight::rows(int64_t first, int64_t count) const {
  if (transposed_ || first < 0 || count < 0 || first + count > rows_) misuse("rows outside the matrix");
  Weight picked = *this;
  picked.parts_.clear();
  int64_t begin = 0;
  for (const Part& part : parts_) {
    const int64_t from = std::max(first, begin), to = std::min(first + count, begin + part.count);
    if (from < to) {
      picked.parts_.push_back(part);
      picked.parts_.back().first += from - begin;
      picked.parts_.back().count = to - from;
    }
    begin += part.count;
  }
  picked.rows_ = count;
  picked.dims_ = dims_.size() == 1 ? std::vector{count} : std::vector{count, columns_};
  return picked;
}

Weight Weight::plus_low_rank(ir::Tensor a, ir::Tensor b, double scale) const {
  if (parts_.size() != 1 || transposed_) misuse("an adapter belongs to one tensor");
  if (a.dims.size() != 2 || b.dims.size() != 2 || a.dims[0] != b.dims[1] || a.dims[1] != columns_ ||
      b.dims[0] != parts_[0].values.dims[0])
    misuse("an adapter of another shape");
  Weight merged = *this;
  merged.parts_[0].adapters.push_back({std::move(a), std::move(b), scale});
  return merged;
}

Weight Weight::transposed() const {
  if (transposed_) misuse("transposed twice");
  Weight transposed = *this;
  transposed.transposed_ = true;
  transposed.dims_ = {columns_, rows_};
  return transposed;
}

Weight Weight::reshaped(std::vector<int64_t> dims) const {
  const int64_t elements = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  if (elements != rows_ * columns_)
    misuse(fmt::format("[{}] for {} elements", fmt::join(dims, ", "), rows_ * columns_));
  Weight renamed = *this;
  renamed.dims_ = std::move(dims);
  return renamed;
}

ir::Tensor Weight::tensor(std::string name, ir::DataType type) const {
  auto source = std::make_shared<WeightSource>(name, parts_, rows_, columns_, transposed_, type);
  return ir::Tensor::made(std::move(name), type, dims_, std::move(source));
}

}  // namespace thaw::model
