#include "thaw/pass/emit_dim.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/ir/graph/insert_node.h"

namespace thaw::pass {

using dim::Dim;
using ir::Value;

DimEmitter::DimEmitter(ir::Model& model, const std::unordered_map<const Value*, ops::Shape>& input_shapes)
    : graph_(*model.graph), before_(model.graph->nodes().front()) {
  if (model.opset("").value_or(0) < 12)
    throw Error({fmt::format("opset {} has no integer Min and Max", model.opset("").value_or(0)), model.path.string(),
                 "opset 12 or later to compute sizes in the graph", "raise the model's opset first"});
  // In the order of the inputs, so that the same model is always written the same way.
  for (Value* input : graph_.inputs()) {
    auto it = input_shapes.find(input);
    if (it == input_shapes.end()) continue;
    for (size_t axis = 0; axis < it->second.size(); ++axis) {
      Dim d = it->second[axis];
      if (!d.is_symbolic()) continue;
      int id = dim::scope_of(d)->symbol_id(d);
      if (id >= 0) origins_.emplace(id, Origin{input, static_cast<int64_t>(axis), false});
    }
  }
}

void DimEmitter::read_from(Dim symbol, Value* input, int64_t element) {
  origins_.insert_or_assign(dim::scope_of(symbol)->symbol_id(symbol), Origin{input, element, true});
}

bool DimEmitter::can_emit(Dim d) const {
  if (d.is_constant()) return true;
  if (!d.is_symbolic()) return false;
  auto ids = dim::symbols_of(d);
  return std::all_of(ids.begin(), ids.end(), [&](int id) { return origins_.contains(id); });
}

Value* DimEmitter::constant(int64_t value) {
  Value*& made = constants_[value];
  if (!made) {
    std::string name = graph_.unique_name(
        fmt::format("thaw_size_{}", value < 0 ? "minus_" + std::to_string(-value) : std::to_string(value)));
    made = graph_.add_initializer(ir::Tensor::from_int64(name, {1}, std::span(&value, 1)));
  }
  return made;
}

Value* DimEmitter::emit_node(std::string_view op, std::vector<Value*> inputs, std::string_view hint,
                             std::vector<ir::Attribute> attributes) {
  const std::string node_name = graph_.unique_name(fmt::format("Thaw{}_{}", op, num_nodes_));
  ++num_nodes_;
  return ir::insert_node(graph_, before_, op, std::move(inputs), std::move(attributes), fmt::format("thaw_{}", hint),
                         node_name);
}

Value* DimEmitter::read_symbol(int id) {
  const Origin& origin = origins_.at(id);
  if (origin.is_value) {
    Value*& flat = flat_[origin.input];
    if (!flat) {
      flat = emit_node("Reshape", {origin.input, constant(-1)}, "values");
      if (origin.input->type.elem_type != ir::DataType::kInt64) {
        flat = emit_node("Cast", {flat}, "wide", {{"to", static_cast<int64_t>(ir::DataType::kInt64)}});
      }
    }
    return emit_node("Gather", {flat, constant(origin.index)}, "value");
  }
  Value*& shape = shapes_[origin.input];
  if (!shape) shape = emit_node("Shape", {origin.input}, "shape");
  return emit_node("Gather", {shape, constant(origin.index)}, "size");
}

Value* DimEmitter::emit_floor(Dim numerator, Dim denominator) {
  Value *a = emit(numerator), *b = emit(denominator);
  auto low = dim::range_of(numerator).lower, least = dim::range_of(denominator).lower;
  bool plain = low && *low >= 0 && least && *least >= 1;
  if (!plain) a = emit_node("Sub", {a, emit_node("Mod", {a, b}, "rest")}, "whole");
  return emit_node("Div", {a, b}, "quotient");
}

Value* DimEmitter::emit_atom(const dim::Atom& atom) {
  if (auto it = emitted_.find(&atom); it != emitted_.end()) return it->second;
  Value* out = nullptr;
  switch (atom.kind) {
    case dim::AtomKind::kSymbol:
      out = read_symbol(atom.symbol);
      break;
    case dim::AtomKind::kFloor:
      out = emit_floor(atom.operands[0], atom.operands[1]);
      break;
    case dim::AtomKind::kMin:
    case dim::AtomKind::kMax: {
      std::vector<Value*> operands;
      for (Dim d : atom.operands) operands.push_back(emit(d));
      out = emit_node(atom.kind == dim::AtomKind::kMin ? "Min" : "Max", std::move(operands), "bound");
      break;
    }
    case dim::AtomKind::kBroadcast:
      out = emit(atom.operands[0]);
      for (size_t i = 1; i < atom.operands.size(); ++i) {
        Value* is_one = emit_node("Equal", {out, constant(1)}, "is_one");
        out = emit_node("Where", {is_one, emit(atom.operands[i]), out}, "broadcast");
      }
      break;
  }
  return emitted_[&atom] = out;
}

Value* DimEmitter::emit_product(const dim::Monomial& monomial) {
  if (auto it = emitted_.find(&monomial); it != emitted_.end()) return it->second;
  Value* product = nullptr;
  for (const dim::Factor& factor : monomial.factors) {
    Value* atom = emit_atom(*factor.atom);
    for (int k = 0; k < factor.power; ++k) product = product ? emit_node("Mul", {product, atom}, "product") : atom;
  }
  return emitted_[&monomial] = product;
}

Value* DimEmitter::emit(Dim d) {
  if (auto value = d.constant()) return constant(*value);
  const dim::Expr& e = *d.expr();
  if (auto it = emitted_.find(&e); it != emitted_.end()) return it->second;
  Value* total = nullptr;
  for (const dim::Term& term : e.terms) {
    Value* product = emit_product(*term.monomial);
    // A coefficient of -1 becomes a subtraction where there is something to subtract from.
    if (term.coef == -1 && total) {
      total = emit_node("Sub", {total, product}, "difference");
      continue;
    }
    if (term.coef != 1) product = emit_node("Mul", {product, constant(term.coef)}, "multiple");
    total = total ? emit_node("Add", {total, product}, "sum") : product;
  }
  if (e.constant != 0) total = emit_node("Add", {total, constant(e.constant)}, "sum");
  return emitted_[&e] = total;
}

Value* DimEmitter::emit_shape(const ops::Shape& dims, std::string_view name_hint) {
  bool constant_shape = std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.is_constant(); });
  if (constant_shape) {
    std::vector<int64_t> values;
    for (Dim d : dims) values.push_back(*d.constant());
    return graph_.add_initializer(
        ir::Tensor::from_int64(graph_.unique_name(name_hint), {static_cast<int64_t>(values.size())}, values));
  }
  std::vector<Value*> parts;
  for (Dim d : dims) parts.push_back(emit(d));
  if (parts.size() == 1) return parts[0];
  ++num_nodes_;
  return ir::insert_node(graph_, before_, "Concat", std::move(parts), {{"axis", int64_t{0}}}, name_hint,
                         graph_.unique_name("ThawConcat"));
}

}  // namespace thaw::pass
