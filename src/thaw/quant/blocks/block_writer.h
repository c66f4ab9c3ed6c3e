// Writes the nodes that read weights in blocks: MatMulNBits for products and GatherBlockQuantized for lookups, or DequantizeLinear
// before either, in the place of nodes that read constant matrices.
//
//   BlockWriter writer(context);
//   std::string why = writer.write(node, 4, options, nullptr);   // empty: done
//   … all nodes …; then rewrite::remove_unused takes the weights that nothing reads any more.
//
// The weights are converted when the model is saved (packed_weight.h), except by methods that need statistics, which do
// it at once and keep the codes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ops/target/target.h"
#include "thaw/quant/blocks/weight_store.h"
#include "thaw/rewrite/pass.h"

namespace thaw::quantizing::blocks {

class BlockWriter {
 public:
  // All must outlive it. `known`: where what becomes of a weight is remembered for the next conversion of the model; may be null.
  // `target`: whose kernels look rows up; null: any that has them.
  explicit BlockWriter(rewrite::PassContext& context, Remembered* known = nullptr, const ops::Target* target = nullptr)
      : model_(context.model), facts_(context.facts()), changes_(context.changes), store_(known), target_(target) {}

  // Gives the node's weight that form; the node is replaced, or stays where the form is DequantizeLinear. Returns why it
  // cannot be done, a clause, and has changed nothing then; empty where it was done, which stands in the changes.
  // A weight that several nodes read in one format is packed once, whichever way they read it.
  // statistics: of summed_input(node); may be null, but for the methods gptq and awq. Where it is, `search` goes by whether all
  // that the weight multiplies is of one sign.
  std::string write(ir::Node& node, int bits, const BlockOptions& options, const ColumnStatistics* statistics);
  // The same of nodes that share a weight, with statistics of all that it multiplies; a reason for each. Products of the
  // method awq must come with all that read what they read, too: it is divided once for all of them. Where one of those
  // cannot have its input divided, as a lookup has none, `search` chooses for all, which the changes say.
  std::vector<std::string> write(std::span<ir::Node* const> nodes, int bits, const BlockOptions& options,
                                 const ColumnStatistics* statistics, bool has_one_sided_inputs = false);

 private:
  // Finds the weight of a product and fills in what the request lacks; returns why it cannot be converted.
  std::string examine(const ir::Node& node, BlockRequest& request, BlockOperand& operand) const;
  std::string write(ir::Node& node, const BlockRequest& request);
  // For awq: why what the nodes read cannot be divided for all that share their weights, a clause; empty where it can.
  std::string why_not_scaled(std::span<ir::Node* const> nodes, const BlockRequest& request) const;
  // For awq: divides what products among the nodes read, and returns by what.
  RowScaling scale_rows(std::span<ir::Node* const> nodes, const BlockRequest& request);
  std::string write_product(ir::Node& node, const BlockRequest& request);
  std::string write_lookup(ir::Node& node, const BlockRequest& request);
  std::string why_no_lookup(const ir::Node& node, const BlockFormat& format) const;
  // Puts the result, which the patch makes by the operator, in the node's place, and says so in the changes.
  void replace(ir::Node& node, ir::Value* result, std::string_view op, rewrite::Patch& patch);
  std::string dequantize(ir::Node& node, int input, const BlockOperand& operand, const BlockRequest& request);

  ir::Model& model_;
  infer::Inference& facts_;
  rewrite::Changes& changes_;
  WeightStore store_;
  const ops::Target* target_;
};

}  // namespace thaw::quantizing::blocks
