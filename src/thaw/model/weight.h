// A weight on its way from the checkpoint into a model: which tensors it is made of, and how.
//
//   Weight::of(q).concat_rows(k).concat_rows(v).transposed()       [in, q + k + v], from three tensors [out, in]
//   Weight::of(w).plus_low_rank(a, b, scale)           W + scale * B A, a LoRA adapter merged (Hu et al., 2021, section
//   4)
//
// A Weight is a matrix of rows and columns (a tensor of more axes has its first as rows and all others as columns, one
// of one axis is a column), and a shape that it is written under. Nothing is read while it is put together. Written,
// its values pass through little memory, in blocks, and are rounded to the model's type, to nearest even.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thaw/ir/data/tensor.h"

namespace thaw::model {

class Weight {
 public:
  // tensor: float32, float16 or bfloat16.
  static Weight of(ir::Tensor tensor);

  // The rows of this, then the rows of another with as many columns. The shape is then [rows, columns].
  Weight concat_rows(const Weight& other) const;
  // Rows first, first + 1, … of this, count of them. The shape is then [count, columns].
  Weight rows(int64_t first, int64_t count) const;
  // W + scale * B A, for W [out, in], A [rank, in] and B [out, rank], all two-dimensional.
  Weight plus_low_rank(ir::Tensor a, ir::Tensor b, double scale) const;
  // [columns, rows]. Last, as the others work on rows.
  Weight transposed() const;
  // The same values in row-major order under other dims, of the same number of elements.
  Weight reshaped(std::vector<int64_t> dims) const;

  int64_t num_rows() const { return rows_; }
  const std::vector<int64_t>& dims() const { return dims_; }

  // The tensor to put into a model, of kFloat, kFloat16 or kBfloat16. A value that float16 cannot hold throws
  // thaw::Error when the tensor is written.
  ir::Tensor tensor(std::string name, ir::DataType type) const;

  // One tensor's share of the rows.
  struct Part {
    ir::Tensor values;
    int64_t first = 0, count = 0;  // rows of `values`
    struct LowRank {
      ir::Tensor a, b;
      double scale;
    };
    std::vector<LowRank> adapters;
  };

 private:
  std::vector<Part> parts_;
  int64_t rows_ = 0, columns_ = 0;
  bool transposed_ = false;
  std::vector<int64_t> dims_;
};

}  // namespace thaw::model
