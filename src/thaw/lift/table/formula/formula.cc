#include "thaw/lift/table/formula/formula.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "thaw/core/saturated.h"

namespace thaw::lifting {
namespace {

// A table has no number at the end of the integers: what is past it fits nothing.
int64_t over(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? saturated_difference(0, a) : a / b;
}

Size combined(const Size& a, const Size& b, dim::Dim dim, auto function) {
  Size out{dim, {}};
  for (size_t k = 0; k < a.at.size(); ++k) out.at.push_back(function(a.at[k], b.at[k]));
  return out;
}

Formula make(FormulaNode node) {
  for (const Formula& operand : node.operands) {
    node.axes |= operand.node().axes;
    node.whole |= operand.node().whole;
  }
  return Formula(std::make_shared<const FormulaNode>(std::move(node)));
}

bool is_number(const Formula& f, double value) {
  const FormulaNode& node = f.node();
  return node.op == FormulaOp::kNumbers && node.kind == Kind::kInteger && node.numbers.size() == 1 &&
         node.numbers[0] == value;
}

bool is_zero(const Formula& f) {
  const FormulaNode& node = f.node();
  return node.op == FormulaOp::kNumbers && node.numbers.size() == 1 && node.numbers[0] == 0;
}

// Numbers and sizes are computed as sizes, so that the model computes them once.
Formula binary(FormulaOp op, const Formula& a, const Formula& b) {
  const FormulaNode &x = a.node(), &y = b.node();
  const bool is_real = x.kind == Kind::kReal || y.kind == Kind::kReal;
  if (is_real && (x.kind != Kind::kReal || y.kind != Kind::kReal)) return binary(op, as_real(a), as_real(b));
  if (is_number(b, 1) && (op == FormulaOp::kMul || op == FormulaOp::kDiv)) return a;
  if (is_number(a, 1) && op == FormulaOp::kMul) return b;
  if (is_number(b, 1) && op == FormulaOp::kMod) return Formula(0);
  if (is_zero(b) && (op == FormulaOp::kAdd || op == FormulaOp::kSub)) return a;
  if (is_zero(a) && op == FormulaOp::kAdd) return b;
  if ((is_number(a, 0) || is_number(b, 0)) && op == FormulaOp::kMul) return Formula(0);
  if (op == FormulaOp::kAnd || op == FormulaOp::kOr) {
    // One that is known decides, or leaves the other.
    for (const auto& [known, other] : {std::pair(a, b), std::pair(b, a)}) {
      const FormulaNode& node = known.node();
      if (node.op != FormulaOp::kNumbers || node.numbers.size() != 1) continue;
      return (node.numbers[0] != 0) == (op == FormulaOp::kAnd) ? other : known;
    }
  }
  const bool sizes = x.op == FormulaOp::kSize && y.op == FormulaOp::kSize;
  const bool mixed = x.op == FormulaOp::kSize && y.op == FormulaOp::kNumbers && y.numbers.size() == 1 && !is_real;
  if (sizes || mixed) {
    const Size other = sizes ? y.size : constant_size(static_cast<int64_t>(y.numbers[0]), x.size.at.size());
    if (op == FormulaOp::kAdd) return x.size + other;
    if (op == FormulaOp::kSub) return x.size - other;
    if (op == FormulaOp::kMul) return x.size * other;
    if (op == FormulaOp::kDiv) return x.size / other;
  }
  const bool truth = op == FormulaOp::kEqual || op == FormulaOp::kLess || op == FormulaOp::kAnd || op == FormulaOp::kOr;
  return make({.op = op, .kind = truth ? Kind::kTruth : is_real ? Kind::kReal : Kind::kInteger, .operands = {a, b}});
}

Formula unary(FormulaOp op, Kind kind, const Formula& a) { return make({.op = op, .kind = kind, .operands = {a}}); }

}  // namespace

Size operator+(const Size& a, const Size& b) { return combined(a, b, a.dim + b.dim, saturated_sum); }
Size operator-(const Size& a, const Size& b) { return combined(a, b, a.dim - b.dim, saturated_difference); }
Size operator*(const Size& a, const Size& b) { return combined(a, b, a.dim * b.dim, saturated_product); }
Size operator/(const Size& a, const Size& b) { return combined(a, b, dim::floor_div(a.dim, b.dim), over); }
Size ceil_div(const Size& a, const Size& b) {
  return combined(a, b, dim::ceil_div(a.dim, b.dim),
                  [](int64_t x, int64_t y) { return over(saturated_difference(saturated_sum(x, y), 1), y); });
}
Size larger_of(const Size& a, const Size& b) {
  return combined(a, b, dim::max(a.dim, b.dim), [](int64_t x, int64_t y) { return std::max(x, y); });
}
Size smaller_of(const Size& a, const Size& b) {
  return combined(a, b, dim::min(a.dim, b.dim), [](int64_t x, int64_t y) { return std::min(x, y); });
}
Size constant_size(int64_t value, size_t traces) { return {dim::Dim(value), std::vector<int64_t>(traces, value)}; }

Formula::Formula(const Size& size)
    : Formula(size.dim.is_constant() ? Formula(*size.dim.constant())
                                     : make({.op = FormulaOp::kSize, .kind = Kind::kInteger, .size = size})) {}
Formula::Formula(int64_t value)
    : Formula(make({.op = FormulaOp::kNumbers, .kind = Kind::kInteger, .numbers = {static_cast<double>(value)}})) {}
Kind Formula::kind() const { return node_->kind; }
bool Formula::varies_along(int axis) const { return (node_->axes >> axis & 1U) != 0; }

Formula position(int axis) {
  return make({.op = FormulaOp::kPosition, .kind = Kind::kInteger, .axis = axis, .axes = 1U << axis});
}
Formula real_number(double value) { return make({.op = FormulaOp::kNumbers, .kind = Kind::kReal, .numbers = {value}}); }
Formula numbers(std::vector<double> values, Kind kind, int axis) {
  const bool alike = std::all_of(values.begin(), values.end(), [&](double v) { return v == values.front(); });
  if (alike) values.resize(1);
  return make({.op = FormulaOp::kNumbers,
               .kind = kind,
               .axis = axis,
               .numbers = std::move(values),
               .axes = alike ? 0 : 1U << axis});
}

Formula operator+(const Formula& a, const Formula& b) { return binary(FormulaOp::kAdd, a, b); }
Formula operator-(const Formula& a, const Formula& b) { return binary(FormulaOp::kSub, a, b); }
Formula operator*(const Formula& a, const Formula& b) { return binary(FormulaOp::kMul, a, b); }
Formula operator/(const Formula& a, const Formula& b) { return binary(FormulaOp::kDiv, a, b); }
Formula operator%(const Formula& a, const Formula& b) { return binary(FormulaOp::kMod, a, b); }
Formula smaller(const Formula& a, const Formula& b) { return binary(FormulaOp::kMin, a, b); }
Formula larger(const Formula& a, const Formula& b) { return binary(FormulaOp::kMax, a, b); }
Formula equal(const Formula& a, const Formula& b) { return binary(FormulaOp::kEqual, a, b); }
Formula less(const Formula& a, const Formula& b) { return binary(FormulaOp::kLess, a, b); }
Formula both(const Formula& a, const Formula& b) { return binary(FormulaOp::kAnd, a, b); }
Formula either(const Formula& a, const Formula& b) { return binary(FormulaOp::kOr, a, b); }
Formula negation(const Formula& a) {
  if (a.node().op == FormulaOp::kNot) return a.node().operands[0];
  return unary(FormulaOp::kNot, Kind::kTruth, a);
}
Formula choose(const Formula& condition, const Formula& yes, const Formula& no) {
  if (yes.kind() != no.kind()) return choose(condition, as_real(yes), as_real(no));
  // Not every runtime chooses between truths.
  if (yes.kind() == Kind::kTruth) return either(both(condition, yes), both(negation(condition), no));
  return make({.op = FormulaOp::kWhere, .kind = yes.kind(), .operands = {condition, yes, no}});
}
Formula absolute(const Formula& a) { return unary(FormulaOp::kAbs, a.kind(), a); }
Formula cosine(const Formula& a) { return unary(FormulaOp::kCos, Kind::kReal, as_real(a)); }
Formula sine(const Formula& a) { return unary(FormulaOp::kSin, Kind::kReal, as_real(a)); }
Formula logarithm(const Formula& a) { return unary(FormulaOp::kLog, Kind::kReal, as_real(a)); }
Formula square_root(const Formula& a) { return unary(FormulaOp::kSqrt, Kind::kReal, as_real(a)); }
Formula as_real(const Formula& a) {
  if (a.kind() == Kind::kReal) return a;
  if (const FormulaNode& node = a.node(); node.op == FormulaOp::kNumbers)
    return numbers(node.numbers, Kind::kReal, node.axis);
  return unary(FormulaOp::kReal, Kind::kReal, a);
}
Formula as_integer(const Formula& a) {
  return a.kind() == Kind::kInteger ? a : unary(FormulaOp::kInteger, Kind::kInteger, a);
}
Formula whole_part(const Formula& a) { return unary(FormulaOp::kWhole, Kind::kInteger, a); }
Formula in_single(const Formula& a) { return unary(FormulaOp::kSingle, Kind::kReal, as_real(a)); }
Formula sum_before(const Formula& a) {
  return make({.op = FormulaOp::kRunningSum, .kind = a.kind(), .operands = {a}, .whole = true});
}
Formula look_up_rows(std::vector<double> table, int64_t width, Kind kind, const Formula& index,
                     std::vector<Limit> limits, int columns) {
  return make({.op = FormulaOp::kLookup,
               .kind = kind,
               .operands = {index},
               .axis = columns,
               .numbers = std::move(table),
               .width = width,
               .limits = std::move(limits),
               .axes = width == 1 ? 0U : 1U << columns});
}
Formula read_made(std::shared_ptr<const MadeTable> table, int64_t width, Kind kind, std::vector<Formula> at,
                  int columns) {
  return make({.op = FormulaOp::kMade,
               .kind = kind,
               .operands = std::move(at),
               .axis = columns,
               .width = width,
               .made = std::move(table),
               .axes = width == 1 ? 0U : 1U << columns});
}
Formula within(const Formula& formula, std::vector<Limit> limits) {
  if (limits.empty()) return formula;
  FormulaNode node = formula.node();
  std::ranges::move(limits, std::back_inserter(node.limits));
  return Formula(std::make_shared<const FormulaNode>(std::move(node)));
}

Formula computed_with(const Formula& formula, NumberOfSizes number) {
  FormulaNode node = formula.node();
  node.computed.push_back(std::move(number));
  return Formula(std::make_shared<const FormulaNode>(std::move(node)));
}

namespace {

class Substitution {
 public:
  Substitution(std::span<const Formula> positions, int columns) : positions_(positions), columns_(columns) {}

  std::optional<Formula> of(const Formula& formula) {
    const FormulaNode& node = formula.node();
    if (node.axes == 0) return formula;
    if (const auto made = known_.find(&node); made != known_.end()) return made->second;
    if (node.op == FormulaOp::kPosition) return positions_[static_cast<size_t>(node.axis)];
    if (node.whole) return std::nullopt;
    FormulaNode other = node;
    other.axes = 0;
    if (node.op == FormulaOp::kNumbers || node.width > 1) {
      other.axis = columns_;
      other.axes = 1U << columns_;
    }
    for (Formula& operand : other.operands) {
      const auto changed = of(operand);
      if (!changed) return std::nullopt;
      operand = *changed;
    }
    return known_[&node] = make(std::move(other));
  }

 private:
  std::span<const Formula> positions_;
  int columns_;
  std::map<const FormulaNode*, Formula> known_;
};

}  // namespace

std::optional<Formula> substitute(const Formula& formula, std::span<const Formula> positions, int columns) {
  return Substitution(positions, columns).of(formula);
}

}  // namespace thaw::lifting
