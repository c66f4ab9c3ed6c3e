// Weights in blocks as a model has them: each packed once for all nodes that read it, and the constants in the model's graphs.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/blocks/awq.h"
#include "thaw/quant/blocks/packed_weight.h"
#include "thaw/quant/blocks/statistics.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/rewrite/patch.h"

namespace thaw::quantizing::blocks {

// How a weight is to be packed.
struct BlockRequest {
  BlockFormat format;
  BlockOptions options;
  const ColumnStatistics* statistics = nullptr;
  RowScaling rows = {};
  bool has_one_sided_inputs = false;  // all that the weight multiplies is of one sign
};

// A weight as a node reads it.
struct BlockOperand {
  ir::Value* value = nullptr;  // the constant
  const ir::Tensor* tensor = nullptr;
  bool behind_transpose = false;
  bool transposed = false;  // the constant is [n, k]
  float gain = 1;

  int64_t k() const { return tensor->dims[transposed ? 1 : 0]; }
  int64_t n() const { return tensor->dims[transposed ? 0 : 1]; }
};

class WeightStore {
 public:
  // `known`: where what becomes of a weight is remembered for the next conversion of the model; may be null.
  explicit WeightStore(Remembered* known) : known_(known) {}

  // What the three tensors of a weight are in the model; zeros is null where the format has none.
  struct Listed {
    ir::Value *codes = nullptr, *scales = nullptr, *zeros = nullptr;
    explicit operator bool() const { return codes != nullptr; }
  };

  // As MatMulNBits reads it. Lookups that have a table of their own read this one from now on, in their own dims.
  const Listed& for_product(const BlockOperand& operand, const BlockRequest& request, rewrite::Patch& patch);
  // As GatherBlockQuantized reads it: where a product has its codes, those, reshaped by nodes of `at`.
  Listed for_lookup(const BlockOperand& operand, const BlockRequest& request, rewrite::Patch& patch,
                    const ops::Emit& at);
  // As DequantizeLinear reads it: that is to stand in the graph of the codes.
  const Listed& as_stored(const BlockOperand& operand, const BlockRequest& request, rewrite::Patch& patch);

 private:
  // A weight as it is packed: which, whether its rows are the columns of the product, format, gain, row scales, method.
  using Key =
      std::tuple<const ir::Value*, bool, int, int64_t, bool, bool, ir::DataType, float, const void*, bool, BlockMethod>;
  struct Entry {
    std::shared_ptr<const BlockTensors> tensors;  // of product and lookup: the same bytes where both are there
    Listed product, lookup, stored;
  };
  static Key key_of(const BlockOperand& operand, const BlockRequest& request);
  Entry& entry_for_lookup(const BlockOperand& operand, const BlockRequest& request);
  // The weight's tensors, which may have been made before.
  BlockTensors make(const BlockOperand& operand, const BlockRequest& request, Layout layout) const;
  static Listed list(const BlockTensors& tensors, Layout layout, const BlockOperand& operand, const BlockFormat& format,
                     rewrite::Patch& patch);

  Remembered* known_;
  std::map<Key, Entry> entries_;
};

}  // namespace thaw::quantizing::blocks
