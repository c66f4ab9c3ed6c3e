#include "thaw/quant/blocks/weight_matrix.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "thaw/core/mapped_file.h"
#include "thaw/core/read_ahead.h"
#include "thaw/ir/data/floats.h"
#include "thaw/ir/data/tensor_source.h"
#include "thaw/ir/data/widened_source.h"
#include "thaw/math/transpose_block.h"

namespace thaw::quantizing::blocks {
namespace {

size_t bytes_of_one(ir::DataType type) { return static_cast<size_t>(ir::bits_of(type)) / 8; }

}  // namespace

WeightMatrix::WeightMatrix(ir::Tensor tensor, bool transposed, float gain,
                           std::shared_ptr<const std::vector<float>> row_scales)
    : tensor_(std::move(tensor)),
      type_(tensor_.data_type),
      k_(tensor_.dims[transposed ? 1 : 0]),
      n_(tensor_.dims[transposed ? 0 : 1]),
      transposed_(transposed),
      declared_transposed_(transposed),
      gain_(gain),
      row_scales_(std::move(row_scales)) {
  if (!tensor_.source()) {
    mapped_.push_back({tensor_.bytes()});
  } else if (const auto* widened = dynamic_cast<const ir::WidenedSource*>(tensor_.source())) {
    const auto narrow = widened->narrow();
    // Blocks go along the rows, or over several of them, which are then in one place.
    if (!narrow || (transposed == narrow->turned && narrow->parts.size() > 1)) return;
    type_ = narrow->type;
    transposed_ = transposed != narrow->turned;
    const size_t row_bytes = static_cast<size_t>(transposed_ ? k_ : n_) * bytes_of_one(type_);
    int64_t first = 0;
    for (const std::span<const std::byte> part : narrow->parts) {
      mapped_.push_back({part, first});
      if (row_bytes > 0) first += static_cast<int64_t>(part.size() / row_bytes);
    }
  }
}

WeightMatrix WeightMatrix::as_declared() const {
  if (transposed_ == declared_transposed_ && mapped_.size() <= 1) return *this;
  WeightMatrix declared = *this;
  declared.mapped_.clear();
  declared.type_ = tensor_.data_type;
  declared.transposed_ = declared_transposed_;
  return declared;
}

std::optional<WeightMatrix::StoredRows> WeightMatrix::mapped() const {
  return mapped_.size() == 1 ? std::optional(mapped_.front()) : std::nullopt;
}

WeightMatrix::All::All(const WeightMatrix& matrix) {
  if (const auto mapped = matrix.mapped()) {
    rows_ = *mapped;
    return;
  }
  const auto add = [&](std::span<const std::byte> chunk) { made_.insert(made_.end(), chunk.begin(), chunk.end()); };
  made_.reserve(static_cast<size_t>(matrix.k_ * matrix.n_) * bytes_of_one(matrix.type_));
  for (const StoredRows& part : matrix.mapped_) add(part.bytes);
  if (matrix.mapped_.empty()) matrix.tensor_.source()->write(add);
  rows_.bytes = made_;
}

void WeightMatrix::for_rows(int64_t step, const EachRows& each) const {
  const int64_t rows = transposed_ ? n_ : k_, width = transposed_ ? k_ : n_;
  const size_t row_bytes = static_cast<size_t>(width) * bytes_of_one(type_);
  if (rows == 0 || width == 0) return;
  for (const StoredRows& part : mapped_) {
    const auto count = static_cast<int64_t>(part.bytes.size() / row_bytes);
    const auto bytes_of = [&](int64_t first, int64_t last) {
      return part.bytes.subspan(static_cast<size_t>(first) * row_bytes, static_cast<size_t>(last - first) * row_bytes);
    };
    for (int64_t first = 0; first < count; first += step) {
      const int64_t last = std::min(count, first + step);
      read_ahead(bytes_of(last, std::min(count, last + step)));
      each(part.first + first, part.first + last, part);
      release_pages(bytes_of(first, last));
    }
  }
  if (!mapped_.empty()) return;
  std::vector<std::byte> waiting;
  const size_t full = static_cast<size_t>(std::min(step, rows)) * row_bytes;
  waiting.reserve(full);
  int64_t first = 0;
  const auto pass_on = [&] {
    const auto count = static_cast<int64_t>(waiting.size() / row_bytes);
    if (count == 0) return;
    each(first, first + count, {waiting, first});
    first += count;
    waiting.clear();
  };
  tensor_.source()->write([&](std::span<const std::byte> chunk) {
    while (!chunk.empty()) {
      const auto part = chunk.first(std::min(chunk.size(), full - waiting.size()));
      waiting.insert(waiting.end(), part.begin(), part.end());
      chunk = chunk.subspan(part.size());
      if (waiting.size() == full) pass_on();
    }
  });
  pass_on();
}

void WeightMatrix::read(const StoredRows& rows, int64_t first_k, int count, int64_t first_n, int lanes,
                        float* weights) const {
  const size_t size = bytes_of_one(type_);
  if (lanes < kLanes) std::fill_n(weights, count * kLanes, 0.0F);
  if (transposed_) {
    alignas(64) float columns[kLargestBlock * kLanes];
    for (int lane = 0; lane < lanes; ++lane) {
      const std::byte* from =
          rows.bytes.data() + static_cast<size_t>((first_n + lane - rows.first) * k_ + first_k) * size;
      ir::to_floats(type_, from, {columns + int64_t{lane} * count, static_cast<size_t>(count)});
    }
    math::transpose_block(columns, lanes, count, weights, kLanes);
  } else {
    for (int i = 0; i < count; ++i) {
      const std::byte* from = rows.bytes.data() + static_cast<size_t>((first_k + i - rows.first) * n_ + first_n) * size;
      float* to = weights + i * kLanes;
      if (type_ == ir::DataType::kFloat)
        std::memcpy(to, from, static_cast<size_t>(lanes) * sizeof(float));
      else
        ir::to_floats(type_, from, {to, static_cast<size_t>(lanes)});
    }
  }
  if (gain_ == 1 && !row_scales_) return;
  for (int i = 0; i < count; ++i) {
    const float scale = gain_ * (row_scales_ ? (*row_scales_)[static_cast<size_t>(first_k + i)] : 1.0F);
    for (int lane = 0; lane < lanes; ++lane) weights[i * kLanes + lane] *= scale;
  }
}

void WeightMatrix::for_places(const EachRows& each) const {
  const size_t row_bytes = static_cast<size_t>(transposed_ ? k_ : n_) * bytes_of_one(type_);
  if (row_bytes == 0) return;
  for (const StoredRows& part : mapped_)
    each(part.first, part.first + static_cast<int64_t>(part.bytes.size() / row_bytes), part);
}

void WeightMatrix::expect(size_t most) const {
  for (const StoredRows& part : mapped_) {
    const auto some = part.bytes.first(std::min(most, part.bytes.size()));
    read_ahead(some);
    most -= some.size();
  }
}

void WeightMatrix::release() const {
  for (const StoredRows& part : mapped_) release_pages(part.bytes);
}

void WeightMatrix::prefetch(const StoredRows& rows, int64_t first_k, int count, int64_t first_n, int lanes) const {
  constexpr size_t kLine = 64;  // of most processors' caches; of others it is a hint all the same
  const int64_t first = transposed_ ? first_n : first_k, strips = transposed_ ? lanes : count;
  const int64_t width = transposed_ ? k_ : n_, at = transposed_ ? first_k : first_n;
  const size_t size = bytes_of_one(type_), wide = static_cast<size_t>(transposed_ ? count : lanes) * size;
  for (int64_t i = 0; i < strips; ++i) {
    const std::byte* from = rows.bytes.data() + static_cast<size_t>((first + i - rows.first) * width + at) * size;
    for (size_t line = 0; line < wide; line += kLine) __builtin_prefetch(from + line);
    __builtin_prefetch(from + wide - 1);
  }
}

void WeightMatrix::release(int64_t first_k, int64_t count, int64_t first_n, int64_t num) const {
  if (mapped_.size() != 1) return;
  const size_t size = bytes_of_one(type_);
  const int64_t first_row = transposed_ ? first_n : first_k, rows = transposed_ ? num : count;
  const int64_t first = transposed_ ? first_k : first_n, width = transposed_ ? count : num,
                stride = transposed_ ? k_ : n_;
  const auto give_back = [&](int64_t from, int64_t elements) {
    release_pages(
        mapped_.front().bytes.subspan(static_cast<size_t>(from) * size, static_cast<size_t>(elements) * size));
  };
  if (width == stride) return give_back(first_row * stride, rows * stride);
  for (int64_t row = first_row; row < first_row + rows; ++row) give_back(row * stride + first, width);
}

}  // namespace thaw::quantizing::blocks
