// A constant matrix as products read it: columns of weights, summed along k, whichever way it is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/ir/data/tensor.h"
#include "thaw/quant/blocks/tile.h"

namespace thaw::quantizing::blocks {

class WeightMatrix {
 public:
  // A tensor of float32, float16 or bfloat16, [k, n]; transposed: [n, k]. Each weight counts times `gain`, and those at position
  // i of k times (*row_scales)[i] where they are given.
  WeightMatrix(ir::Tensor tensor, bool transposed, float gain = 1,
               std::shared_ptr<const std::vector<float>> row_scales = nullptr);

  int64_t k() const { return k_; }
  int64_t n() const { return n_; }
  // As it is read: that of a source whose numbers lie elsewhere may be stored the other way.
  bool transposed() const { return transposed_; }
  // As the tensor has it.
  bool declared_transposed() const { return declared_transposed_; }
  // The same weight, read as the tensor has it and in one place.
  WeightMatrix as_declared() const;
  // Whether columns lie one after the other in mapped bytes, of which the tensor has rows.
  bool is_mapped_turned() const { return transposed_ && !declared_transposed_ && !mapped_.empty(); }
  const ir::Tensor& tensor() const { return tensor_; }

  // Some rows as they are stored: [k, n]'s, or transposed, [n, k]'s.
  struct StoredRows {
    std::span<const std::byte> bytes;
    int64_t first = 0;  // the row that the bytes begin with
  };

  // Mapped bytes, whole; none where a source makes them, or they lie in several places.
  std::optional<StoredRows> mapped() const;
  // All rows from first to last, about `step` of them at once (and a multiple of it but for the last of each place). Mapped bytes are
  // given back once each(first, last, rows) is through with them; of those that a source makes no more is held at once.
  using EachRows = std::function<void(int64_t first, int64_t last, const StoredRows& rows)>;
  void for_rows(int64_t step, const EachRows& each) const;
  // The rows of each place of mapped bytes, one place after the other. Nothing is given back.
  void for_places(const EachRows& each) const;

  // weights [count, kLanes] = positions [first_k, first_k + count) of the columns [first_n, first_n + lanes); lanes past
  // those are 0.
  void read(const StoredRows& rows, int64_t first_k, int count, int64_t first_n, int lanes, float* weights) const;

  // Asks for what read() of the same will read, and does not wait.
  void prefetch(const StoredRows& rows, int64_t first_k, int count, int64_t first_n, int lanes) const;

  // The system reads ahead the first `most` mapped bytes.
  void expect(size_t most) const;

  // Releases the memory of all mapped bytes.
  void release() const;
  // The same of mapped() alone: of positions [first_k, first_k + count) of the columns [first_n, first_n + num).
  void release(int64_t first_k, int64_t count, int64_t first_n, int64_t num) const;

  // For methods that read here and there: mapped bytes, or a copy of those that are in no one place for as long as this lives.
  class All {
   public:
    explicit All(const WeightMatrix& matrix);
    const StoredRows& rows() const { return rows_; }

   private:
    std::vector<std::byte> made_;
    StoredRows rows_;
  };

 private:
  ir::Tensor tensor_;
  // Found at once: a source must not ask a tensor for its bytes while it writes. None where a source makes them.
  std::vector<StoredRows> mapped_;
  ir::DataType type_;  // of what is read
  int64_t k_, n_;
  bool transposed_, declared_transposed_;
  float gain_;
  std::shared_ptr<const std::vector<float>> row_scales_;
};

}  // namespace thaw::quantizing::blocks
