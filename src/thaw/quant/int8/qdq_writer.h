// The nodes and constants of static INT8.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/int8/chosen.h"
#include "thaw/quant/int8/coded_weight.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing::int8 {

class QdqWriter {
 public:
  // `known`: where what becomes of a weight is remembered for the next conversion of the model; may be null.
  explicit QdqWriter(ir::Model& model, Remembered* known = nullptr) : graph_(*model.graph), known_(known) {}

  // Constants with the scale and zero point of a tensor, once for all that share them.
  void set_scale(ir::Value* of, const Affine& affine, const Codes& codes);
  // The tensor goes through a pair, behind what makes it.
  void put_pair(const QuantizedTensor& tensor);
  // The node reads codes behind a DequantizeLinear; equal scales of one constant once. That stands in the node's graph where
  // it reads its data from a pair, as kernels want it; else in the main one: ONNX Runtime 1.31 does not load a product inside an If
  // with weights alone in codes that stand outside.
  void put_weight(ir::Node& node, const WeightOperand& weight, const WeightScales& scales, bool has_coded_data);
  // The node reads its bias in 32 bits: scale of what it multiplies times that of the weight.
  void put_bias(const WeightedNode& weighted, float data_scale, const WeightScales& weight);
  // The node looks up codes of rows, and what is theirs of scales and zero points: number = scale * (code - zero point).
  void put_rows(const Lookup& lookup, const WeightScales& scales);

  // Constants of a weight: codes of its shape, scales and zero points. Equal ones once.
  struct CodedConstants {
    ir::Value *codes = nullptr, *scale = nullptr, *zero = nullptr;
    std::map<std::pair<const ir::Graph*, bool>, ir::Value*> decoded = {};  // by where, and whether it is transposed
    ir::Value* transposed = nullptr;                                       // the codes of a matrix
  };
  CodedConstants& constants_of(ir::Value* weight, const WeightScales& scales);
  // The codes as [columns, rows]; a Transpose, which a runtime computes once.
  ir::Value* transposed(CodedConstants& constants, const std::string& name);

 private:
  struct Parameters {
    ir::Value *scale = nullptr, *zero = nullptr;
  };
  static ir::Value* add_node(std::string_view op, std::vector<ir::Value*> inputs, const std::string& name,
                             ir::Graph& graph, ir::Node* before);
  // Numbers of channels as the rows that `node` looks up meet them.
  ir::Value* of_channels(const ir::Value* table, const WeightScales& scales, std::vector<float> numbers,
                         ir::Value* indices, ir::Node& node, const char* what);
  static ir::Value* dequantize(ir::Value* codes, ir::Value* scale, ir::Value* zero, int axis, const std::string& name,
                               ir::Graph& graph, ir::Node* before);

  ir::Graph& graph_;  // the main one, which has all constants; nodes stand where what reads them does
  Remembered* known_;
  std::unordered_map<const ir::Value*, Parameters> scales_;
  std::map<std::tuple<const ir::Value*, int, int, int>, CodedConstants> weights_;  // by axis, type and lowest code
};

}  // namespace thaw::quantizing::int8
