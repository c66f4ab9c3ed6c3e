#include "thaw/model/weight.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"
#include "thaw/ir/tensor_source.h"
#include "thaw/model/float_convert.h"

namespace thaw::model {
namespace {

constexpr int64_t kBlock = int64_t{2} << 20;  // floats that are held at once, about

size_t bytes_of(ir::DataType type) { return static_cast<size_t>(ir::bits_of(type)) / 8; }

// Reads a rectangle of a matrix [*, columns] as floats, row by row.
void read_block(const ir::Tensor& matrix, int64_t columns, int64_t row, int64_t rows, int64_t column, int64_t count,
                float* to) {
  const size_t size = bytes_of(matrix.data_type);
  const std::byte* from = matrix.bytes().data() + static_cast<size_t>(row * columns + column) * size;
  if (count == columns) return to_floats(matrix.data_type, from, {to, static_cast<size_t>(rows * columns)});
  for (int64_t i = 0; i < rows; ++i) {
    to_floats(matrix.data_type, from, {to, static_cast<size_t>(count)});
    from += static_cast<size_t>(columns) * size;
    to += count;
  }
}

// to [rows, columns] += scale * b [rows, rank] a [rank, columns]
void add_product(const float* b, const float* a, int64_t rows, int64_t rank, int64_t columns, float scale, float* to) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = to + i * columns;
    int64_t k = 0;
    // Four terms at a time, so that each row of the result is loaded and stored a quarter as often.
    for (; k + 4 <= rank; k += 4) {
      const float* b4 = b + i * rank + k;
      const float s0 = scale * b4[0], s1 = scale * b4[1], s2 = scale * b4[2], s3 = scale * b4[3];
      const float *a0 = a + k * columns, *a1 = a0 + columns, *a2 = a1 + columns, *a3 = a2 + columns;
      for (int64_t j = 0; j < columns; ++j) row[j] += s0 * a0[j] + s1 * a1[j] + s2 * a2[j] + s3 * a3[j];
    }
    for (; k < rank; ++k) {
      const float s = scale * b[i * rank + k];
      const float* ak = a + k * columns;
      for (int64_t j = 0; j < columns; ++j) row[j] += s * ak[j];
    }
  }
}

class WeightSource : public ir::TensorSource {
 public:
  WeightSource(std::string name, std::vector<Weight::Part> parts, int64_t rows, int64_t columns, bool transposed,
               ir::DataType type)
      : name_(std::move(name)),
        parts_(std::move(parts)),
        rows_(rows),
        columns_(columns),
        transposed_(transposed),
        type_(type) {}

  void write(const Sink& sink) const override {
    if (rows_ == 0 || columns_ == 0) return;
    if (transposed_) {
      write_columns(sink);
    } else {
      for (const Weight::Part& part : parts_) write_rows(part, sink);
    }
  }

 private:
  void read(const Weight::Part& part, int64_t row, int64_t rows, int64_t column, int64_t count, float* to) const {
    read_block(part.values, columns_, part.first + row, rows, column, count, to);
    for (const Weight::Part::LowRank& adapter : part.adapters) {
      const int64_t rank = adapter.a.dims[0];
      std::vector<float> a(static_cast<size_t>(rank * count)), b(static_cast<size_t>(rows * rank));
      read_block(adapter.a, columns_, 0, rank, column, count, a.data());
      read_block(adapter.b, rank, part.first + row, rows, 0, rank, b.data());
      add_product(b.data(), a.data(), rows, rank, count, static_cast<float>(adapter.scale), to);
    }
  }

  void pass_on(std::span<const float> values, std::vector<std::byte>& bytes, const Sink& sink) const {
    if (type_ == ir::DataType::kFloat) return sink(std::as_bytes(values));
    bytes.resize(values.size() * bytes_of(type_));
    if (!from_floats(values, type_, bytes.data())) {
      throw Error({.what = fmt::format("the weight holds numbers that {} cannot", ir::name_of(type_)),
                   .where = name_,
                   .expected = "numbers of at most 65504",
                   .next = "build with --dtype bf16 or f32"});
    }
    sink(bytes);
  }

  void write_rows(const Weight::Part& part, const Sink& sink) const {
    const auto row_bytes = static_cast<size_t>(columns_) * bytes_of(part.values.data_type);
    const int64_t step = std::max<int64_t>(1, kBlock / columns_);
    std::vector<float> values;
    std::vector<std::byte> bytes;
    for (int64_t row = 0; row < part.count; row += step) {
      const int64_t rows = std::min(step, part.count - row);
      const auto from = part.values.bytes().subspan(static_cast<size_t>(part.first + row) * row_bytes,
                                                    static_cast<size_t>(rows) * row_bytes);
      if (part.adapters.empty() && part.values.data_type == type_) {
        sink(from);  // as it stands
      } else {
        values.resize(static_cast<size_t>(rows * columns_));
        read(part, row, rows, 0, columns_, values.data());
        pass_on(values, bytes, sink);
      }
      release_pages(from);
    }
  }

  // A row of the result is a column of every part.
  void write_columns(const Sink& sink) const {
    constexpr int64_t kTile = 64;
    const int64_t step = std::clamp<int64_t>(kBlock / rows_, 16, columns_ < 16 ? 16 : columns_);
    std::vector<float> block, turned;
    std::vector<std::byte> bytes;
    for (int64_t column = 0; column < columns_; column += step) {
      const int64_t count = std::min(step, columns_ - column);
      turned.resize(static_cast<size_t>(rows_ * count));
      int64_t done = 0;
      for (const Weight::Part& part : parts_) {
        for (int64_t row = 0; row < part.count; row += kTile) {
          const int64_t rows = std::min(kTile, part.count - row);
          block.resize(static_cast<size_t>(rows * count));
          read(part, row, rows, column, count, block.data());
          for (int64_t j = 0; j < count; ++j) {
            float* to = turned.data() + j * rows_ + done + row;
            for (int64_t i = 0; i < rows; ++i) to[i] = block[static_cast<size_t>(i * count + j)];
          }
        }
        done += part.count;
      }
      pass_on(turned, bytes, sink);
    }
    for (const Weight::Part& part : parts_) release_pages(part.values.bytes());
  }

  std::string name_;
  std::vector<Weight::Part> parts_;
  int64_t rows_, columns_;
  bool transposed_;
  ir::DataType type_;
};

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

Weight Weight::below(const Weight& other) const {
  if (transposed_ || other.transposed_) misuse("rows are joined before transposing");
  if (columns_ != other.columns_) misuse(fmt::format("{} columns cannot join {}", other.columns_, columns_));
  Weight joined = *this;
  joined.parts_.insert(joined.parts_.end(), other.parts_.begin(), other.parts_.end());
  joined.rows_ += other.rows_;
  joined.dims_ = dims_.size() == 1 ? std::vector{joined.rows_} : std::vector{joined.rows_, joined.columns_};
  return joined;
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
  Weight turned = *this;
  turned.transposed_ = true;
  turned.dims_ = {columns_, rows_};
  return turned;
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
