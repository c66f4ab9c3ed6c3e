// A constant matrix as products read it: columns of weights, summed along k, whichever way it is stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thaw/ir/data/tensor.h"
#include "thaw/quant/blocks/tile.h"

namespace thaw::quantizing::blocks {

class WeightMatrix {
 public:
  // A tensor of float32, float16 or bfloat16, [k, n]; turned: [n, k]. Each weight counts times `gain`, and those at place
  // i of k times (*row_scales)[i] where they are given.
  WeightMatrix(ir::Tensor tensor, bool turned, float gain = 1,
               std::shared_ptr<const std::vector<float>> row_scales = nullptr);

  int64_t k() const { return k_; }
  int64_t n() const { return n_; }
  bool turned() const { return turned_; }
  const ir::Tensor& tensor() const { return tensor_; }
  float gain() const { return gain_; }

  // The tensor's bytes while they are needed: mapped ones as they are, those of a source made for as long as this lives.
  class Bytes {
   public:
    explicit Bytes(const WeightMatrix& matrix);
    std::span<const std::byte> get() const { return bytes_; }

   private:
    std::vector<std::byte> made_;
    std::span<const std::byte> bytes_;
  };

  // weights [count, kLanes] = places [first_k, first_k + count) of the columns [first_n, first_n + lanes); lanes past
  // those are 0.
  void read(std::span<const std::byte> bytes, int64_t first_k, int count, int64_t first_n, int lanes,
            float* weights) const;

  // Gives back the memory of mapped bytes: of places [first_k, first_k + count) of the columns [first_n, first_n + num).
  void release(std::span<const std::byte> bytes, int64_t first_k, int64_t count, int64_t first_n, int64_t num) const;

 private:
  ir::Tensor tensor_;
  std::span<const std::byte> mapped_;  // found at once: a source must not ask a tensor for its bytes while it writes
  int64_t k_, n_;
  bool turned_;
  float gain_;
  std::shared_ptr<const std::vector<float>> row_scales_;
};

}  // namespace thaw::quantizing::blocks
