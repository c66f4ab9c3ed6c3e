// Formulas as nodes at the top of a graph.
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/lift/table/formula/formula.h"

namespace thaw::lifting {
namespace {

// What ONNX calls those that are one of its operators.
std::string_view operator_of(FormulaOp op) {
  using enum FormulaOp;
  static const std::map<FormulaOp, std::string_view> kOperators = {
      {kAdd, "Add"},     {kSub, "Sub"},   {kMul, "Mul"}, {kDiv, "Div"}, {kMin, "Min"},  {kMax, "Max"},
      {kEqual, "Equal"}, {kLess, "Less"}, {kAnd, "And"}, {kOr, "Or"},   {kNot, "Not"},  {kWhere, "Where"},
      {kAbs, "Abs"},     {kCos, "Cos"},   {kSin, "Sin"}, {kLog, "Log"}, {kSqrt, "Sqrt"}};
  return kOperators.at(op);
}

class Emission {
 public:
  // real: the type in which reals are computed.
  Emission(std::span<const dim::Dim> axes, TableEmitter& emitter, ir::DataType real = ir::DataType::kFloat)
      : axes_(axes), e_(emitter), real_(real) {}

  ir::Value* of(const Formula& formula) {
    const FormulaNode* node = &formula.node();
    if (const auto known = known_.find(node); known != known_.end()) return known->second;
    ir::Value* made = make(*node);
    for (const Limit& limit : node->limits) e_.note(limit);
    for (const NumberOfSizes& number : node->computed) e_.note(number);
    known_.emplace(node, made);
    return made;
  }

 private:
  // [n] to the axis that it goes along: [n, 1, …].
  ir::Value* along(ir::Value* list, int axis) {
    std::vector<int64_t> dims(axes_.size() - static_cast<size_t>(axis), 1);
    dims[0] = -1;
    return dims.size() == 1 ? list : e_.emit("Reshape", {list, e_.list(dims)});
  }

  ir::Value* constant(const FormulaNode& node) {
    const size_t rank = node.numbers.size() == 1 ? 1 : axes_.size() - static_cast<size_t>(node.axis);
    std::vector<int64_t> dims(rank, 1);
    dims[0] = static_cast<int64_t>(node.numbers.size());
    if (node.kind == Kind::kReal) return real_constant(dims, node.numbers);
    const std::vector<int64_t> whole(node.numbers.begin(), node.numbers.end());
    ir::Value* list = rank == 1 ? e_.list(whole) : along(e_.list(whole), node.axis);
    return node.kind == Kind::kTruth ? e_.cast(list, ir::DataType::kBool) : list;
  }

  ir::Value* real_constant(const std::vector<int64_t>& dims, const std::vector<double>& numbers) {
    if (real_ == ir::DataType::kFloat) return e_.floats(dims, {numbers.begin(), numbers.end()});
    const auto bytes = std::as_bytes(std::span(numbers));
    return e_.sizes().emitter().constant(ir::Tensor::from_bytes({}, real_, dims, {bytes.begin(), bytes.end()}));
  }

  ir::Value* look_up(const FormulaNode& node) {
    std::vector<int64_t> dims{static_cast<int64_t>(node.numbers.size()) / node.width};
    if (node.width > 1) dims.push_back(node.width);
    ir::Value *table = nullptr, *index = of(node.operands[0]);
    if (node.kind == Kind::kReal) {
      table = e_.floats(dims, {node.numbers.begin(), node.numbers.end()});
    } else {
      table = e_.list({node.numbers.begin(), node.numbers.end()});
      if (node.width > 1) table = e_.emit("Reshape", {table, e_.list(dims)});
      if (node.kind == Kind::kTruth) table = e_.cast(table, ir::DataType::kBool);
    }
    return rows_at(table, index, node.width);
  }

  // Of a wide table, [n, 1] becomes [n, width].
  ir::Value* rows_at(ir::Value* table, ir::Value* index, int64_t width) {
    if (width > 1 && axes_.size() == 2) index = e_.emit("Reshape", {index, e_.list({-1})});
    if (width > 1 && axes_.size() > 2) index = e_.emit("Squeeze", {index, e_.list({-1})});
    return e_.emit("Gather", {table, index});
  }

  // Whether a table is read as it lies.
  bool is_every_place(const FormulaNode& node) const {
    if (node.operands.size() + 1 != axes_.size()) return false;
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const FormulaNode& at = node.operands[i].node();
      if (at.op != FormulaOp::kPosition || static_cast<size_t>(at.axis) != i) return false;
      if (!dim::same(axes_[i], node.made->sizes[i].dim)) return false;
    }
    return true;
  }

  ir::Value* read(const FormulaNode& node) {
    ir::Value*& table = tables_[node.made.get()];
    if (!table) table = node.made->emit(e_);
    if (is_every_place(node)) {
      std::vector<ir::Value*> sizes;
      for (const Size& size : node.made->sizes) sizes.push_back(e_.size(size.dim));
      sizes.push_back(e_.list({node.width}));
      return e_.emit("Reshape", {table, e_.concat(sizes, 0)});
    }
    Formula index(0);
    for (size_t i = 0; i < node.operands.size(); ++i) index = index * Formula(node.made->sizes[i]) + node.operands[i];
    ir::Value* rows = e_.emit("Reshape", {table, node.width > 1 ? e_.list({-1, node.width}) : e_.list({-1})});
    kept_.push_back(index);
    return rows_at(rows, of(index), node.width);
  }

  ir::Value* make(const FormulaNode& node) {
    std::vector<ir::Value*> operands;
    if (node.op != FormulaOp::kLookup && node.op != FormulaOp::kMade)
      for (const Formula& operand : node.operands) operands.push_back(of(operand));
    switch (node.op) {
      case FormulaOp::kPosition:
        return along(e_.arange(axes_[static_cast<size_t>(node.axis)]), node.axis);
      case FormulaOp::kSize:
        return e_.size(node.size.dim);
      case FormulaOp::kNumbers:
        return constant(node);
      case FormulaOp::kMod:
        return e_.remainder(operands[0], operands[1]);
      case FormulaOp::kReal:
        return e_.cast(operands[0], real_);
      case FormulaOp::kInteger:
      case FormulaOp::kWhole:
        return e_.cast(operands[0], ir::DataType::kInt64);
      case FormulaOp::kSingle:
        return operands[0];
      case FormulaOp::kRunningSum:
        return e_.emit("CumSum", {operands[0], e_.integer(0)}, {{"exclusive", int64_t{1}}});
      case FormulaOp::kLookup:
        return look_up(node);
      case FormulaOp::kMade:
        return read(node);
      default:
        return e_.emit(operator_of(node.op), operands);
    }
  }

  std::span<const dim::Dim> axes_;
  TableEmitter& e_;
  ir::DataType real_;
  std::unordered_map<const FormulaNode*, ir::Value*> known_;
  std::unordered_map<const MadeTable*, ir::Value*> tables_;
  std::vector<Formula> kept_;  // what `known_` has the nodes of
};

}  // namespace

ir::Value* emit_formula(const Formula& formula, std::span<const dim::Dim> axes, TableEmitter& emitter) {
  return Emission(axes, emitter).of(formula);
}

ir::Value* emit_number(const Formula& formula, ir::DataType type, bool is_scaled, size_t among, TableEmitter& emitter) {
  const dim::Dim axes[] = {dim::Dim(1)};
  emitter.note({fmt::format("{} among {}", form_of(formula), among), sizes_in(formula), is_scaled});
  return Emission(axes, emitter, type).of(formula);
}

}  // namespace thaw::lifting
