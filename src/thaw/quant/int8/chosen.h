// Which tensors of a model are quantized: what products read, what convolutions make, and what lies between those where every
// step in between can be in 8 bits.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "thaw/convert.h"
#include "thaw/infer/infer.h"
#include "thaw/ops/target/target.h"
#include "thaw/quant/int8/weight_operand.h"
#include "thaw/quant/weights/stored_weight.h"
#include "thaw/rewrite/pass.h"

namespace thaw::quantizing::int8 {

// How a node is to be converted; null: it stays as it is.
using Wanted = std::function<const Int8Options*(const ir::Node&)>;

// A tensor that goes through QuantizeLinear and DequantizeLinear.
struct QuantizedTensor {
  ir::Value* value = nullptr;
  ir::Value* scale_of = nullptr;  // the tensor whose scale and zero point it has; itself, as a rule
  const Int8Options* options = nullptr;
  // All that read it do so behind the pair; else only `readers`: what makes it computes in float32 anyway.
  bool for_all = false;
  std::vector<ir::Use> readers;
};

struct ChosenNode {
  WeightedNode weighted;
  const Int8Options* options = nullptr;
  bool weights_alone = false;  // as what its graph computes was not measured
};

// A product of two tensors that are both computed.
struct ActivationProduct {
  ir::Node* node = nullptr;
  const Int8Options* options = nullptr;
};

struct Lookup {
  ir::Node* node = nullptr;
  StoredWeight table;
  const Int8Options* options = nullptr;
};

struct LeftNode {
  const ir::Node* node = nullptr;
  std::string why;
};

struct Chosen {
  std::vector<ChosenNode> nodes;
  std::vector<ActivationProduct> products;
  std::vector<Lookup> lookups;           // of rows in tables of constants
  std::vector<ir::Node*> passing;        // nodes that only pass quantized tensors on
  std::vector<QuantizedTensor> tensors;  // in the order in which they are made
  std::vector<LeftNode> left;
};

// Of graphs inside nodes, those whose values can be measured.
using MeasuredGraphs = std::function<std::set<const ir::Graph*>(const std::set<const ir::Graph*>&)>;

// Of the nodes of all graphs. Nodes that read and make quantized tensors already are passed by.
Chosen choose(ir::Model& model, const infer::Result& facts, const Wanted& wanted, const MeasuredGraphs& measured_of);

// The nodes with weights alone, in all graphs: those of a graph before those inside its nodes.
std::vector<ChosenNode> choose_weighted(ir::Model& model, const infer::Result& facts, const Wanted& wanted,
                                        std::vector<LeftNode>& left);

std::vector<Lookup> choose_lookups(ir::Model& model, const Wanted& wanted);

// Takes those out that the target does not look up in codes: their tables stay as they are.
void leave_unsupported(std::vector<Lookup>& lookups, const ir::Model& model, const infer::Result& facts,
                       const ops::Target& target, std::vector<LeftNode>& left);

// Adds to what was made, or, where there is a reason, to what was left.
void note(const ir::Node& node, const std::string& why, rewrite::Changes& changes);

}  // namespace thaw::quantizing::int8
