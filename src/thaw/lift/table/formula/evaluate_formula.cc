// Formulas in a trace: entries at chosen positions, axis by axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "thaw/lift/table/formula/formula.h"

namespace thaw::lifting {
namespace {

constexpr double kNoEntry = std::numeric_limits<double>::quiet_NaN();  // equal to no entry

int64_t count_of(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Steps through an operand while all positions of `dims` are gone through in order.
std::vector<int64_t> strides_in(const std::vector<int64_t>& operand, const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 0);
  int64_t stride = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (operand[axis] != 1) strides[axis] = stride;
    stride *= operand[axis];
  }
  return strides;
}

template <typename Function>
Numbers broadcast(const Numbers& a, const Numbers& b, Function function) {
  Numbers out;
  out.dims.resize(a.dims.size());
  for (size_t axis = 0; axis < out.dims.size(); ++axis)
    out.dims[axis] = a.dims[axis] == 1 ? b.dims[axis] : a.dims[axis];
  const auto count = static_cast<size_t>(count_of(out.dims));
  out.entries.resize(count);
  if (count == 0) return out;
  if (b.entries.size() == 1 && a.entries.size() == count) {
    for (size_t i = 0; i < count; ++i) out.entries[i] = function(a.entries[i], b.entries[0]);
    return out;
  }
  if (a.dims == b.dims) {
    for (size_t i = 0; i < count; ++i) out.entries[i] = function(a.entries[i], b.entries[i]);
    return out;
  }
  const auto sa = strides_in(a.dims, out.dims), sb = strides_in(b.dims, out.dims);
  const size_t last = out.dims.size() - 1;
  std::vector<int64_t> at(out.dims.size(), 0);
  int64_t ia = 0, ib = 0;
  for (size_t i = 0; i < count;) {
    for (int64_t j = 0; j < out.dims[last]; ++j, ++i)
      out.entries[i] = function(a.entries[static_cast<size_t>(ia + j * sa[last])],
                                b.entries[static_cast<size_t>(ib + j * sb[last])]);
    for (size_t axis = last; axis-- > 0;) {
      ia += sa[axis];
      ib += sb[axis];
      if (++at[axis] < out.dims[axis]) break;
      ia -= sa[axis] * out.dims[axis];
      ib -= sb[axis] * out.dims[axis];
      at[axis] = 0;
    }
  }
  return out;
}

// Its entries along all axes that the other varies along.
Numbers as_large_as(const Numbers& other, const Numbers& a) {
  return broadcast(a, other, [](double entry, double) { return entry; });
}

double rest_of(double a, double b) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (b == 0) return kNoEntry;
  const bool are_whole = std::abs(a) < kExact && std::abs(b) < kExact && a == std::trunc(a) && b == std::trunc(b);
  // Many times as fast.
  return are_whole ? static_cast<double>(static_cast<int64_t>(a) % static_cast<int64_t>(b)) : std::fmod(a, b);
}

template <typename Function>
Numbers each(Numbers a, Function function) {
  for (double& entry : a.entries) entry = function(entry);
  return a;
}

class Evaluation {
 public:
  explicit Evaluation(const Points& points) : points_(points) {}

  const Numbers& of(const Formula& formula) {
    const FormulaNode* node = &formula.node();
    if (const auto known = known_.find(node); known != known_.end()) return known->second;
    Numbers made = compute(*node);
    if (points_.in_single && node->kind == Kind::kReal)
      for (double& entry : made.entries) entry = static_cast<double>(static_cast<float>(entry));
    return known_.emplace(node, std::move(made)).first->second;
  }

 private:
  Numbers scalar(double value) const { return {std::vector<int64_t>(points_.positions.size(), 1), {value}}; }

  Numbers along(int axis, std::vector<double> entries) const {
    Numbers out{std::vector<int64_t>(points_.positions.size(), 1), std::move(entries)};
    out.dims[static_cast<size_t>(axis)] = static_cast<int64_t>(out.entries.size());
    return out;
  }

  Numbers compute(const FormulaNode& node) {
    const auto operand = [&](size_t i) -> const Numbers& { return of(node.operands[i]); };
    const auto with = [&](auto function) {
      const Numbers &a = operand(0), &b = operand(1);
      return broadcast(a, b, function);
    };
    const bool real = node.kind == Kind::kReal;
    switch (node.op) {
      case FormulaOp::kPosition:
        return along(node.axis, points_.positions[static_cast<size_t>(node.axis)]);
      case FormulaOp::kSize:
        return scalar(static_cast<double>(node.size.at[points_.trace]));
      case FormulaOp::kNumbers: {
        if (node.numbers.size() == 1) return scalar(node.numbers[0]);
        std::vector<double> chosen;
        for (const double at : points_.positions[static_cast<size_t>(node.axis)])
          chosen.push_back(at < static_cast<double>(node.numbers.size()) ? node.numbers[static_cast<size_t>(at)]
                                                                         : kNoEntry);
        return along(node.axis, std::move(chosen));
      }
      case FormulaOp::kAdd:
        return with(std::plus<>());
      case FormulaOp::kSub:
        return with(std::minus<>());
      case FormulaOp::kMul:
        return with(std::multiplies<>());
      case FormulaOp::kDiv:
        if (real) return with([](double a, double b) { return a / b; });
        return with([](double a, double b) { return b == 0 ? kNoEntry : std::floor(a / b); });
      case FormulaOp::kMod:
        return with(rest_of);
      case FormulaOp::kMin:
        return with([](double a, double b) { return std::min(a, b); });
      case FormulaOp::kMax:
        return with([](double a, double b) { return std::max(a, b); });
      case FormulaOp::kEqual:
        return with([](double a, double b) { return a == b ? 1.0 : 0.0; });
      case FormulaOp::kLess:
        return with([](double a, double b) { return a < b ? 1.0 : 0.0; });
      case FormulaOp::kAnd:
        return with([](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; });
      case FormulaOp::kOr:
        return with([](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; });
      case FormulaOp::kNot:
        return each(operand(0), [](double a) { return a == 0 ? 1.0 : 0.0; });
      case FormulaOp::kWhere: {
        const Numbers &condition = operand(0), &yes = operand(1), &no = operand(2);
        const Numbers taken = broadcast(condition, yes, [](double c, double y) { return c != 0 ? y : kNoEntry; });
        const Numbers left = broadcast(condition, no, [](double c, double n) { return c != 0 ? kNoEntry : n; });
        return broadcast(taken, left, [](double y, double n) { return std::isnan(y) ? n : y; });
      }
      case FormulaOp::kAbs:
        return each(operand(0), [](double a) { return std::abs(a); });
      case FormulaOp::kCos:
        return each(operand(0), [](double a) { return std::cos(a); });
      case FormulaOp::kSin:
        return each(operand(0), [](double a) { return std::sin(a); });
      case FormulaOp::kLog:
        return each(operand(0), [](double a) { return std::log(a); });
      case FormulaOp::kSqrt:
        return each(operand(0), [](double a) { return std::sqrt(a); });
      case FormulaOp::kWhole:
        return each(operand(0), [](double a) { return a < 0 ? kNoEntry : std::floor(a); });
      case FormulaOp::kSingle:
        return each(operand(0), [](double a) { return static_cast<double>(static_cast<float>(a)); });
      case FormulaOp::kReal:
      case FormulaOp::kInteger:
        return operand(0);
      case FormulaOp::kRunningSum: {
        Numbers sums = operand(0);
        const int64_t rows = sums.dims[0], width = rows == 0 ? 0 : static_cast<int64_t>(sums.entries.size()) / rows;
        for (int64_t j = 0; j < width; ++j) {
          double sum = 0;
          for (int64_t i = 0; i < rows; ++i)
            sum += std::exchange(sums.entries[static_cast<size_t>(i * width + j)], sum);
        }
        return sums;
      }
      case FormulaOp::kLookup:
        return rows_of(node.numbers, node.width, operand(0));
      case FormulaOp::kMade:
        return read(node);
    }
    return scalar(kNoEntry);
  }

  // A table with several axes, at a place along each.
  Numbers read(const FormulaNode& node) {
    Numbers rows = scalar(0);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      const auto size = static_cast<double>(node.made->sizes[i].at[points_.trace]);
      rows = broadcast(rows, of(node.operands[i]),
                       [&](double row, double at) { return at >= 0 && at < size ? row * size + at : kNoEntry; });
    }
    return rows_of(node.made->entries[points_.trace], node.width, rows);
  }

  // Rows of a table, and the columns of each.
  Numbers rows_of(const std::vector<double>& table, int64_t width, const Numbers& rows) const {
    Numbers out{rows.dims, {}};
    std::vector<double> columns{0};
    if (width > 1) {
      columns = points_.positions.back();
      out.dims.back() = static_cast<int64_t>(columns.size());
    }
    for (const double row : rows.entries) {
      for (const double column : columns) {
        const double place = row * static_cast<double>(width) + column;
        const bool inside = place >= 0 && place < static_cast<double>(table.size());  // false of no entry
        out.entries.push_back(inside ? table[static_cast<size_t>(place)] : kNoEntry);
      }
    }
    return out;
  }

  const Points& points_;
  std::unordered_map<const FormulaNode*, Numbers> known_;
};

// How far float32 may be from the entries: what each operand is off by, to the first order, and half a unit in the last place for each
// step (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 2.2).
class Rounding {
 public:
  explicit Rounding(const Points& points) : values_(points) {}

  const Numbers& of(const Formula& formula) {
    const FormulaNode* node = &formula.node();
    if (const auto known = known_.find(node); known != known_.end()) return known->second;
    return known_.emplace(node, compute(formula)).first->second;
  }

 private:
  static constexpr double kUnit = 0x1p-24;

  static Numbers product(const Numbers& a, const Numbers& b) { return broadcast(a, b, std::multiplies<>()); }
  static Numbers sum(const Numbers& a, const Numbers& b) { return broadcast(a, b, std::plus<>()); }
  static Numbers larger(const Numbers& a, const Numbers& b) {
    return broadcast(a, b, [](double x, double y) { return std::max(x, y); });
  }
  static Numbers magnitude(Numbers a) {
    return each(std::move(a), [](double x) { return std::abs(x); });
  }
  static Numbers units(Numbers a) {
    return each(std::move(a), [](double x) { return kUnit * std::abs(x); });
  }
  static Numbers none(const Numbers& like) {
    return each(like, [](double) { return 0.0; });
  }

  Numbers compute(const Formula& formula) {
    const FormulaNode& node = formula.node();
    const Numbers& result = values_.of(formula);
    if (node.kind != Kind::kReal) return none(result);
    const auto value = [&](size_t i) -> const Numbers& { return values_.of(node.operands[i]); };
    const auto off = [&](size_t i) -> const Numbers& { return of(node.operands[i]); };
    const auto and_rounded = [&](const Numbers& before) { return sum(before, units(result)); };
    switch (node.op) {
      case FormulaOp::kNumbers:
      case FormulaOp::kLookup:
      case FormulaOp::kMade:
        return units(result);
      case FormulaOp::kReal: {
        constexpr double kExact = 1 << 24;
        return each(result, [](double x) { return std::abs(x) <= kExact ? 0.0 : kUnit * std::abs(x); });
      }
      case FormulaOp::kAdd:
      case FormulaOp::kSub:
        return and_rounded(sum(off(0), off(1)));
      case FormulaOp::kMul:
        return and_rounded(sum(product(magnitude(value(0)), off(1)), product(magnitude(value(1)), off(0))));
      case FormulaOp::kDiv: {
        const Numbers above = sum(off(0), product(magnitude(result), off(1)));
        return and_rounded(
            broadcast(above, value(1), [](double a, double b) { return b == 0 ? 0.0 : a / std::abs(b); }));
      }
      case FormulaOp::kMin:
      case FormulaOp::kMax:
        return larger(off(0), off(1));
      case FormulaOp::kWhere:
        return as_large_as(result, larger(off(1), off(2)));
      case FormulaOp::kCos:
      case FormulaOp::kSin:
        return and_rounded(off(0));
      case FormulaOp::kLog:
        return and_rounded(
            broadcast(off(0), value(0), [](double a, double x) { return x == 0 ? 0.0 : a / std::abs(x); }));
      case FormulaOp::kAbs:
        return off(0);
      case FormulaOp::kSqrt:
        return and_rounded(
            broadcast(off(0), result, [](double a, double r) { return r == 0 ? std::sqrt(a) : a / (2 * r); }));
      case FormulaOp::kSingle:
        return and_rounded(off(0));
      default:
        return none(result);
    }
  }

  Evaluation values_;
  std::unordered_map<const FormulaNode*, Numbers> known_;
};

}  // namespace

Points all_places(std::span<const Size> axes, size_t trace) {
  Points points{.trace = trace, .positions = {}};
  for (const Size& size : axes) {
    auto& positions = points.positions.emplace_back(static_cast<size_t>(size.at[trace]));
    std::iota(positions.begin(), positions.end(), 0);
  }
  return points;
}

Numbers evaluate(const Formula& formula, const Points& points) { return Evaluation(points).of(formula); }

std::vector<double> spread(const Numbers& numbers, std::span<const int64_t> dims) {
  Numbers all{{dims.begin(), dims.end()}, {}};
  all.entries.resize(static_cast<size_t>(count_of(all.dims)));
  return as_large_as(all, numbers).entries;
}

Numbers rounding_of(const Formula& formula, const Points& points) { return Rounding(points).of(formula); }

}  // namespace thaw::lifting
