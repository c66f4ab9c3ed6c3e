// Nodes that read constant matrices become nodes that read them in blocks: products and lookups.
//
//   Converter converter(model, facts);
//   std::string why = converter.convert(node, 4, options, nullptr, changes);   // empty: done
//   … all nodes …; then rewrite::remove_unused takes the weights that nothing reads any more.
//
// The weights are converted when the model is saved (packed_weight.h), except by methods that need statistics, which do
// it at once and keep the codes.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "thaw/convert.h"
#include "thaw/infer/inference.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/blocks/awq.h"
#include "thaw/quant/blocks/packed_weight.h"
#include "thaw/quant/blocks/statistics.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/rewrite/pass.h"
#include "thaw/rewrite/patch.h"

namespace thaw::quantizing::blocks {

// Why no weight can have such blocks, as a clause; empty where some can.
std::string why_not(int bits, const BlockOptions& options);
// The opset of ai.onnx that a model needs for such blocks.
int64_t opset_needed(int bits, const BlockOptions& options);

class Converter {
 public:
  // All must outlive it. `known`: where what becomes of a weight is remembered for the next conversion of the model; may be null.
  Converter(ir::Model& model, infer::Inference& facts, Remembered* known = nullptr)
      : model_(model), facts_(facts), known_(known) {}

  // Whether the node is one that a weight in blocks may be for: a product with a constant matrix, a lookup in one.
  static bool is_candidate(const ir::Node& node);
  // The value whose rows a product sums over, of which statistics are wanted; null for other nodes.
  static ir::Value* summed_input(const ir::Node& node);

  // The constant that a candidate reads, and whether its rows are the columns of the product: a lookup's are.
  static std::pair<ir::Value*, bool> weight_of(const ir::Node& node);

  // Gives the node's weight that form; the node is replaced, or stays where the form is DequantizeLinear. Returns why it
  // cannot be done, a clause, and has changed nothing then; empty where it was done, which stands in changes.made.
  // A weight that several nodes read in one format is packed once, whichever way they read it.
  // statistics: of summed_input(node); may be null, but for the methods gptq and awq.
  std::string convert(ir::Node& node, int bits, const BlockOptions& options, const ColumnStatistics* statistics,
                      rewrite::Changes& changes);
  // The same of nodes that share a weight, with statistics of all that it multiplies; a reason for each. Products of the
  // method awq must come with all that read what they read, too: it is divided once for all of them. Where one of those
  // cannot have its input divided, as a lookup has none, `search` chooses for all, which changes.left says.
  std::vector<std::string> convert(std::span<ir::Node* const> nodes, int bits, const BlockOptions& options,
                                   const ColumnStatistics* statistics, rewrite::Changes& changes);

 private:
  // What the three tensors of a weight are in the model; zeros is null where the format has none.
  struct Listed {
    ir::Value *codes = nullptr, *scales = nullptr, *zeros = nullptr;
    explicit operator bool() const { return codes != nullptr; }
  };
  struct Request;
  struct Operand;
  // A weight as it is packed: which, whether its rows are the columns of the product, format, gain, row scales, method.
  using Key =
      std::tuple<const ir::Value*, bool, int, int64_t, bool, bool, ir::DataType, float, const void*, bool, BlockMethod>;
  struct Entry {
    std::shared_ptr<const BlockTensors> tensors;  // of product and lookup: the same bytes where both are there
    Listed product, lookup, stored;
  };

  // Finds the weight of a product and fills in what the request lacks; returns why it cannot be converted.
  std::string examine(const ir::Node& node, Request& request, Operand& operand) const;
  std::string convert(ir::Node& node, const Request& request, rewrite::Changes& changes);
  // For awq: why what the nodes read cannot be divided for all that share their weights, a clause; empty where it can.
  std::string why_not_scaled(std::span<ir::Node* const> nodes, const Request& request) const;
  // For awq: divides what products among the nodes read, and returns by what.
  RowScaling scale_rows(std::span<ir::Node* const> nodes, const Request& request);
  static Key key_of(const Operand& operand, const Request& request);
  // The weight's tensors, which may have been made before.
  BlockTensors make(const Operand& operand, const Request& request, Layout layout) const;
  static BlockTensors make_new(const Operand& operand, const Request& request, Layout layout);
  Entry& entry_for_lookup(const Operand& operand, const Request& request);
  std::string convert_product(ir::Node& node, const Request& request, rewrite::Changes& changes);
  std::string convert_lookup(ir::Node& node, const Request& request, rewrite::Changes& changes);
  std::string dequantize(ir::Node& node, int input, const Operand& operand, const Request& request,
                         rewrite::Changes& changes);
  Listed list(const BlockTensors& tensors, Layout layout, const Operand& operand, const BlockFormat& format,
              rewrite::Patch& patch);

  ir::Model& model_;
  infer::Inference& facts_;
  Remembered* known_;
  std::map<Key, Entry> entries_;
};

}  // namespace thaw::quantizing::blocks
