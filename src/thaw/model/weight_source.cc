#include "thaw/model/weight_source.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "thaw/core/cancel.h"
#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/read_ahead.h"
#include "thaw/ir/data/floats.h"
#include "thaw/math/transpose_block.h"
#include "thaw/model/add_product.h"

namespace thaw::model {
namespace {

constexpr int64_t kBlock = int64_t{2} << 20;  // floats that are passed on at once, about
constexpr int64_t kChunk = 128;               // rows that one processor reads and merges at once

size_t bytes_of(ir::DataType type) { return static_cast<size_t>(ir::bits_of(type)) / 8; }

// Memory whose first values do not matter.
std::unique_ptr<float[]> floats(int64_t count) {
  return std::unique_ptr<float[]>(new float[static_cast<size_t>(count)]);
}

// Reads a rectangle of a matrix [*, columns] as floats, row by row.
void read_rectangle(const ir::Tensor& matrix, int64_t columns, int64_t row, int64_t rows, int64_t column, int64_t count,
                    float* to) {
  const size_t size = bytes_of(matrix.data_type);
  const std::byte* from = matrix.bytes().data() + static_cast<size_t>(row * columns + column) * size;
  if (count == columns) return ir::to_floats(matrix.data_type, from, {to, static_cast<size_t>(rows * columns)});
  for (int64_t i = 0; i < rows; ++i) {
    ir::to_floats(matrix.data_type, from, {to, static_cast<size_t>(count)});
    from += static_cast<size_t>(columns) * size;
    to += count;
  }
}

// Some columns of a part, to be read in any rows.
class Columns {
 public:
  Columns(const Weight::Part& part, int64_t columns, int64_t first, int64_t count)
      : part_(part), columns_(columns), first_(first), count_(count) {
    for (const Weight::Part::LowRank& adapter : part.adapters) {
      const int64_t rank = adapter.a.dims[0];
      factors_.push_back(floats(rank * count));
      read_rectangle(adapter.a, columns, 0, rank, first, count, factors_.back().get());
    }
  }

  // to [rows, count] = the part's rows from `row` on, with its adapters merged.
  void read(int64_t row, int64_t rows, float* to) const {
    read_rectangle(part_.values, columns_, part_.first + row, rows, first_, count_, to);
    for (size_t i = 0; i < factors_.size(); ++i) {
      const Weight::Part::LowRank& adapter = part_.adapters[i];
      const int64_t rank = adapter.a.dims[0];
      const auto b = floats(rows * rank);
      read_rectangle(adapter.b, rank, part_.first + row, rows, 0, rank, b.get());
      add_product(b.get(), factors_[i].get(), rows, rank, count_, static_cast<float>(adapter.scale), to);
    }
  }

 private:
  const Weight::Part& part_;
  int64_t columns_, first_, count_;
  std::vector<std::unique_ptr<float[]>> factors_;  // each adapter's A, those columns
};

// Calls each(row, rows) for chunks that make up all rows, on all processors.
template <typename Each>
void for_chunks(int64_t rows, Each each) {
  tbb::parallel_for(int64_t{0}, (rows + kChunk - 1) / kChunk, [&](int64_t i) {
    throw_if_cancelled();
    each(i * kChunk, std::min(kChunk, rows - i * kChunk));
  });
}

}  // namespace

void WeightSource::write(const Sink& sink) const {
  if (rows_ == 0 || columns_ == 0) return;
  if (transposed_) {
    write_columns(sink);
  } else {
    for (const Weight::Part& part : parts_) write_rows(part, sink);
  }
}

std::span<const std::byte> WeightSource::stored_rows(const Weight::Part& part, int64_t row, int64_t rows) const {
  const auto row_bytes = static_cast<size_t>(columns_) * bytes_of(part.values.data_type);
  return part.values.bytes().subspan(static_cast<size_t>(part.first + row) * row_bytes,
                                     static_cast<size_t>(rows) * row_bytes);
}

std::optional<ir::WidenedSource::Narrow> WeightSource::narrow() const {
  if (type_ != ir::DataType::kFloat || parts_.empty()) return std::nullopt;
  Narrow narrow{.parts = {}, .type = parts_.front().values.data_type, .turned = transposed_};
  for (const Weight::Part& part : parts_) {
    if (!part.adapters.empty() || part.values.data_type != narrow.type) return std::nullopt;
    narrow.parts.push_back(stored_rows(part, 0, part.count));
  }
  return narrow;
}

void WeightSource::pass_on(std::span<const float> values, std::vector<std::byte>& bytes, const Sink& sink) const {
  if (type_ == ir::DataType::kFloat) return sink(std::as_bytes(values));
  bytes.resize(values.size() * bytes_of(type_));
  if (!ir::from_floats(values, type_, bytes.data())) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("the weight holds numbers that {} cannot", ir::name_of(type_)),
                 .where = name_,
                 .expected = "numbers of at most 65504",
                 .next = "build with --dtype bf16 or f32"});
  }
  sink(bytes);
}

void WeightSource::write_rows(const Weight::Part& part, const Sink& sink) const {
  const int64_t step = std::max<int64_t>(1, kBlock / columns_);
  const bool as_it_stands = part.adapters.empty() && part.values.data_type == type_;
  const Columns all(part, columns_, 0, columns_);
  std::vector<float> values;
  std::vector<std::byte> bytes;
  for (int64_t row = 0; row < part.count; row += step) {
    const int64_t rows = std::min(step, part.count - row);
    const std::span<const std::byte> from = stored_rows(part, row, rows);
    read_ahead(stored_rows(part, row + rows, std::min(step, part.count - row - rows)));
    if (as_it_stands) {
      sink(from);
    } else {
      values.resize(static_cast<size_t>(rows * columns_));
      for_chunks(rows,
                 [&](int64_t first, int64_t count) { all.read(row + first, count, values.data() + first * columns_); });
      pass_on(values, bytes, sink);
    }
    release_pages(from);
  }
}

// A row of the result is a column of every part.
void WeightSource::write_columns(const Sink& sink) const {
  const int64_t step = std::clamp<int64_t>(kBlock / rows_, 16, std::max<int64_t>(16, columns_));
  std::vector<float> transposed;
  std::vector<std::byte> bytes;
  for (int64_t column = 0; column < columns_; column += step) {
    const int64_t count = std::min(step, columns_ - column);
    transposed.resize(static_cast<size_t>(rows_ * count));
    int64_t done = 0;
    for (const Weight::Part& part : parts_) {
      const Columns some(part, columns_, column, count);
      for_chunks(part.count, [&](int64_t first, int64_t rows) {
        const auto chunk = floats(rows * count);
        some.read(first, rows, chunk.get());
        math::transpose_block(chunk.get(), rows, count, transposed.data() + done + first, rows_);
      });
      done += part.count;
    }
    pass_on(transposed, bytes, sink);
  }
  for (const Weight::Part& part : parts_) release_pages(part.values.bytes());
}

}  // namespace thaw::model
