#include "thaw/rewrite/dim_emitter.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"

namespace thaw::rewrite {

using dim::Dim;
using ir::Value;

DimEmitter::DimEmitter(Emitter& emitter, ir::Model& model,
                       const std::unordered_map<const Value*, ops::Shape>& input_shapes, int64_t opset)
    : emitter_(emitter), at_(emitter.at_top()) {
  if (emitter.opset() < opset)
    throw Error(ErrorCode::kUnsupported,
                {fmt::format("opset {} has no integer {}", emitter.opset(),
                             emitter.opset() < kOpsetOfSome ? "Mod" : "Min and Max"),
                 model.path.string(), fmt::format("opset {} or later to compute sizes in the graph", opset),
                 "raise the model's opset first"});
  // In the order of the inputs, so that the same model is always written the same way.
  for (Value* input : model.graph->inputs()) {
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

namespace {

bool takes_min_or_max(Dim d) {
  if (!d.is_symbolic()) return false;
  const auto takes = [](const dim::Factor& factor) {
    const dim::Atom& atom = *factor.atom;
    return atom.kind == dim::AtomKind::kMin || atom.kind == dim::AtomKind::kMax ||
           std::ranges::any_of(atom.operands, takes_min_or_max);
  };
  return std::ranges::any_of(d.expr()->terms,
                             [&](const dim::Term& term) { return std::ranges::any_of(term.monomial->factors, takes); });
}

}  // namespace

bool DimEmitter::can_emit(Dim d) const {
  if (d.is_constant()) return true;
  if (!d.is_symbolic()) return false;
  if (emitter_.opset() < kOpsetOfAll && takes_min_or_max(d)) return false;
  auto ids = dim::symbols_of(d);
  return std::all_of(ids.begin(), ids.end(), [&](int id) { return origins_.contains(id); });
}

Value* DimEmitter::read_symbol(int id) {
  const Origin& origin = origins_.at(id);
  if (origin.is_value) {
    Value*& flat = flat_[origin.input];
    if (!flat) {
      flat = at_.reshape(origin.input, constant(-1));
      if (origin.input->type.elem_type != ir::DataType::kInt64) flat = at_.cast(flat, ir::DataType::kInt64);
    }
    return at_.emit("Gather", {flat, constant(origin.index)});
  }
  Value*& shape = shapes_[origin.input];
  if (!shape) shape = at_.shape(origin.input);
  return at_.emit("Gather", {shape, constant(origin.index)});
}

Value* DimEmitter::emit_floor(Dim numerator, Dim denominator) {
  Value *a = emit(numerator), *b = emit(denominator);
  auto low = dim::range_of(numerator).lower, least = dim::range_of(denominator).lower;
  bool plain = low && *low >= 0 && least && *least >= 1;
  if (!plain) a = at_.sub(a, at_.emit("Mod", {a, b}));
  return at_.div(a, b);
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
      out = at_.emit(atom.kind == dim::AtomKind::kMin ? "Min" : "Max", std::move(operands));
      break;
    }
    case dim::AtomKind::kBroadcast:
      out = emit(atom.operands[0]);
      for (size_t i = 1; i < atom.operands.size(); ++i) {
        Value* is_one = at_.emit("Equal", {out, constant(1)});
        out = at_.emit("Where", {is_one, emit(atom.operands[i]), out});
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
    for (int k = 0; k < factor.power; ++k) product = product ? at_.mul(product, atom) : atom;
  }
  return emitted_[&monomial] = product;
}

Value* DimEmitter::emit(Dim d) {
  if (auto value = d.constant()) return constant(*value);
  if (d.is_unknown())
    throw Error(ErrorCode::kOutOfBudget,
                {.what = "a size that is to be computed is not known",
                 .where = "sizes as nodes",
                 .expected = "an expression of the inputs' sizes, within the limits of how large one may be",
                 .next = "give --max-visits if you trust the file"});
  const dim::Expr& e = *d.expr();
  if (auto it = emitted_.find(&e); it != emitted_.end()) return it->second;
  Value* total = nullptr;
  for (const dim::Term& term : e.terms) {
    Value* product = emit_product(*term.monomial);
    // A coefficient of -1 becomes a subtraction where there is something to subtract from.
    if (term.coef == -1 && total) {
      total = at_.sub(total, product);
      continue;
    }
    if (term.coef != 1) product = at_.mul(product, constant(term.coef));
    total = total ? at_.add(total, product) : product;
  }
  if (e.constant != 0) total = at_.add(total, constant(e.constant));
  order_.push_back(d);
  return emitted_[&e] = total;
}

Value* DimEmitter::emit_shape(const ops::Shape& dims) {
  if (std::ranges::all_of(dims, [](Dim d) { return d.is_constant(); })) {
    std::vector<int64_t> values;
    for (const Dim d : dims) values.push_back(*d.constant());
    return at_.list(values);
  }
  std::vector<Value*> parts;
  for (const Dim d : dims) parts.push_back(emit(d));
  return at_.concat(std::move(parts), 0);
}

}  // namespace thaw::rewrite
