// What is computed of each element.
#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "thaw/prove/evaluated.h"

namespace thaw::proving {

using ir::DataType;

namespace {

constexpr double kFunctionRoundings = 4;  // of a function in floating-point
constexpr double kMostMoved = 0x1p-6;     // by which the operand of a function may be off

KnownNumber truth(bool value) { return {value ? 1 : 0, 0, 0}; }

// What a function that never falls gives, where rounding does not decide it, or decides no more than the type tells apart.
KnownNumber by_steps(DataType type, KnownNumber x, double (*step)(double)) {
  constexpr double kRoundings = 16;
  if (x.is_open() || std::isinf(x.real)) return x;
  const double low = step(x.real - x.error), at = step(x.real), high = step(x.real + x.error);
  if (low == high) return holds_number(type, low) ? KnownNumber{0, low, 0} : kOpenNumber;
  const double error = std::max(at - low, high - at);
  return error <= kRoundings * rounding_of(type) * std::fabs(at) ? rounded(type, at, error) : kOpenNumber;
}

double sign_of(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

KnownNumber negated(DataType type, KnownNumber x) {
  if (x.is_open()) return x;
  if (is_real(type)) return {0, -x.real, x.error};
  return x.whole == INT64_MIN ? kOpenNumber : whole_number(type, -x.whole);
}

KnownNumber square_root(DataType type, KnownNumber x) {
  if (x.is_open() || x.real - x.error < 0 || std::isinf(x.real)) return kOpenNumber;
  const double root = std::sqrt(x.real);
  if (x.is_exact() && std::fma(root, root, -x.real) == 0 && holds_number(type, root)) return {0, root, 0};
  if (root == 0) return rounded(type, 0, std::sqrt(x.error));
  return rounded(type, root, x.error / (root + std::sqrt(x.real - x.error)));
}

KnownNumber function_of(DataType type, KnownNumber x, const FunctionOfOne& function) {
  if (x.is_open() || std::isinf(x.real)) return kOpenNumber;
  const double value = function.value(x.real), slope = std::fabs(function.slope(x.real));
  const bool is_logarithm = function.op == "Log";
  if (!(x.error <= (is_logarithm ? x.real / 4 : kMostMoved))) return kOpenNumber;
  // Where every implementation meets the number itself.
  const bool is_exact = x.is_exact() && x.real == (is_logarithm ? 1 : 0) && (value == 0 || value == 1);
  if (is_exact) return {0, value, 0};
  const double moved =
      2 * slope * x.error + x.error * x.error + kFunctionRoundings * rounding_of(type) * slope * std::fabs(x.real);
  return rounded(type, value, moved, kFunctionRoundings);
}

KnownNumber raised(DataType type, KnownNumber base, KnownNumber exponent, bool is_whole_exponent) {
  if (base.is_open() || exponent.is_open()) return kOpenNumber;
  const double by = is_whole_exponent ? static_cast<double>(exponent.whole) : exponent.real;
  const bool is_whole = exponent.is_exact() && by == std::nearbyint(by);
  if (!is_real(type)) {
    if (!is_whole || by < 0 || by > 64) return kOpenNumber;
    KnownNumber made{1, 0, 0};
    for (int i = 0; i < static_cast<int>(by); ++i) made = held_by_double(multiplied(type, made, base));
    return made;
  }
  if (is_whole && by >= 0 && by <= 4) {
    KnownNumber made{0, 1, 0};
    for (int i = 0; i < static_cast<int>(by); ++i) made = multiplied(type, made, base);
    return made.is_exact() || made.is_open() ? made : rounded(type, made.real, made.error, 2);
  }
  if (by == 0.5 && exponent.is_exact()) {
    const KnownNumber root = square_root(type, base);
    return root.is_exact() || root.is_open() ? root : rounded(type, root.real, root.error, kFunctionRoundings);
  }
  // Relative to the result: |by| times that of the base, and what moves the exponent times the logarithm.
  const double size = std::fabs(base.real);
  if (!(base.error <= size / 64) || size == 0 || (base.real < 0 && !is_whole)) return kOpenNumber;
  const double value = std::pow(base.real, by);
  const double relative = std::fabs(by) * base.error / (size - base.error) +
                          (std::fabs(std::log(size)) + base.error / (size - base.error)) * exponent.error;
  if (!(relative <= kMostMoved)) return kOpenNumber;
  // The logarithm of the base is rounded, too.
  const double by_logarithm = rounding_of(type) * std::fabs(by * std::log(size));
  return rounded(type, value, 2 * (relative + by_logarithm) * std::fabs(value), kFunctionRoundings);
}

KnownNumber remainder(DataType type, KnownNumber a, KnownNumber b, bool is_of_c) {
  if (a.is_open() || b.is_open()) return kOpenNumber;
  if (is_real(type)) {
    if (!is_of_c || !a.is_exact() || !b.is_exact() || b.real == 0 || std::isinf(a.real)) return kOpenNumber;
    return {0, std::fmod(a.real, b.real), 0};
  }
  if (is_of_c && (held_by_double(a).is_open() || held_by_double(b).is_open())) return kOpenNumber;
  if (b.whole == 0 || b.whole == -1) return b.whole == 0 ? kOpenNumber : whole_number(type, 0);
  int64_t left = a.whole % b.whole;
  if (!is_of_c && left != 0 && (left < 0) != (b.whole < 0)) left += b.whole;
  return whole_number(type, left);
}

enum class Order : uint8_t { kLess, kEqual, kGreater, kOpen };

Order order_of(DataType type, KnownNumber a, KnownNumber b) {
  if (a.is_open() || b.is_open()) return Order::kOpen;
  if (!is_real(type)) return a.whole < b.whole ? Order::kLess : a.whole == b.whole ? Order::kEqual : Order::kGreater;
  if (a.is_exact() && b.is_exact())
    return a.real < b.real ? Order::kLess : a.real == b.real ? Order::kEqual : Order::kGreater;
  if (a.real + a.error < b.real - b.error) return Order::kLess;
  if (a.real - a.error > b.real + b.error) return Order::kGreater;
  return Order::kOpen;
}

KnownNumber compared(std::string_view op, DataType type, KnownNumber a, KnownNumber b) {
  const Order order = order_of(type, a, b);
  if (order == Order::kOpen) return kOpenNumber;
  if (op == "Equal") return truth(order == Order::kEqual);
  if (op == "Less") return truth(order == Order::kLess);
  if (op == "Greater") return truth(order == Order::kGreater);
  if (op == "LessOrEqual") return truth(order != Order::kGreater);
  return truth(order != Order::kLess);
}

KnownNumber logical(std::string_view op, KnownNumber a, KnownNumber b) {
  const auto settles = [&](KnownNumber one) { return !one.is_open() && (one.whole != 0) == (op == "Or"); };
  if (op != "Xor" && (settles(a) || settles(b))) return truth(op == "Or");
  if (a.is_open() || b.is_open()) return kOpenNumber;
  return truth(op == "Xor" ? (a.whole != 0) != (b.whole != 0) : op == "And");
}

KnownNumber bitwise(std::string_view op, DataType type, KnownNumber a, KnownNumber b) {
  if (a.is_open() || b.is_open()) return kOpenNumber;
  return whole_number(type, op == "BitwiseAnd"  ? a.whole & b.whole
                            : op == "BitwiseOr" ? a.whole | b.whole
                                                : a.whole ^ b.whole);
}

KnownNumber cast(DataType from, DataType to, KnownNumber x) {
  if (x.is_open()) return x;
  if (is_real(from) && is_real(to)) {
    if (x.is_exact() && (std::isinf(x.real) || holds_number(to, x.real))) return x;
    return from == to ? x : rounded(to, x.real, x.error);
  }
  if (is_real(from) && to == DataType::kBool) {
    if (x.is_exact()) return truth(x.real != 0);
    return std::fabs(x.real) > x.error ? truth(true) : kOpenNumber;
  }
  if (is_real(from)) {
    const KnownNumber cut = by_steps(DataType::kDouble, x, [](double v) { return std::trunc(v); });
    if (!cut.is_exact() || !(std::fabs(cut.real) < 0x1p62)) return kOpenNumber;
    return whole_number(to, static_cast<int64_t>(cut.real));
  }
  if (!is_real(to)) return to == DataType::kBool ? truth(x.whole != 0) : whole_number(to, x.whole);
  const auto value = static_cast<double>(x.whole);
  const bool is_exact = std::fabs(value) <= 0x1p53 && holds_number(to, value);
  return is_exact ? KnownNumber{0, value, 0} : rounded(to, value, 0);
}

class Each {
 public:
  explicit Each(const NodeOfConstants& of) : of_(of), type_(of.operands[0]->type) {}

  using Unary = std::function<KnownNumber(KnownNumber)>;
  using Binary = std::function<KnownNumber(KnownNumber, KnownNumber)>;

  std::vector<KnownTensor> unary(DataType type, const Unary& f) const {
    if (of_.operands.size() != 1) return {};
    KnownTensor made{type, of_.operands[0]->dims, {}};
    for (const KnownNumber& x : of_.operands[0]->elements) made.elements.push_back(f(x));
    return {std::move(made)};
  }

  // Of operands of one type, from the first on.
  std::vector<KnownTensor> folded(DataType type, const Binary& f) const {
    if (of_.opset < 7 || !are_alike(0)) return {};
    KnownTensor made = *of_.operands[0];
    for (size_t i = 1; i < of_.operands.size(); ++i) {
      auto next = binary(type, made, *of_.operands[i], f);
      if (!next) return {};
      made = std::move(*next);
    }
    return {std::move(made)};
  }
  std::vector<KnownTensor> of_two(DataType type, const Binary& f) const {
    return of_.operands.size() == 2 ? folded(type, f) : std::vector<KnownTensor>();
  }

  std::vector<KnownTensor> power() const {
    if (of_.opset < 7 || of_.operands.size() != 2 || !of_.operands[1]) return {};
    const DataType by = of_.operands[1]->type;
    auto made = binary(type_, *of_.operands[0], *of_.operands[1],
                       [&](KnownNumber a, KnownNumber b) { return raised(type_, a, b, !is_real(by)); });
    return made ? std::vector{std::move(*made)} : std::vector<KnownTensor>();
  }

  std::vector<KnownTensor> casted() const {
    const auto to = static_cast<DataType>(of_.node.attribute_int("to", 0));
    if ((!is_real(to) && !is_truth_or_integer(to)) || of_.node.attribute("round_mode")) return {};
    return unary(to, [&](KnownNumber x) { return cast(type_, to, x); });
  }

  std::vector<KnownTensor> chosen() const {
    if (of_.opset < 9 || of_.operands.size() != 3 || !are_alike(1) || type_ != DataType::kBool) return {};
    const auto dims = broadcast_dims(of_.operands);
    if (!dims) return {};
    std::vector<std::vector<int64_t>> at;
    for (const KnownTensor* one : of_.operands) at.push_back(broadcast_offsets(one->dims, *dims));
    KnownTensor made{of_.operands[1]->type, *dims, {}};
    for (size_t i = 0; i < at[0].size(); ++i) {
      const auto element = [&](size_t k) { return of_.operands[k]->elements[static_cast<size_t>(at[k][i])]; };
      const KnownNumber condition = element(0);
      made.elements.push_back(condition.is_open() ? kOpenNumber : element(condition.whole != 0 ? 1 : 2));
    }
    return {std::move(made)};
  }

  std::vector<KnownTensor> clipped() const {
    if (of_.opset < 11 || !of_.has(0)) return {};
    KnownTensor made = *of_.operands[0];
    for (const size_t i : {1, 2}) {
      if (!of_.has(i)) continue;
      if (of_.operands[i]->type != type_ || of_.operands[i]->elements.size() != 1) return {};
      for (KnownNumber& one : made.elements) one = extremum(type_, one, of_.operands[i]->elements[0], i == 1);
    }
    return {std::move(made)};
  }

  DataType type() const { return type_; }
  const NodeOfConstants& of() const { return of_; }

 private:
  bool are_alike(size_t first) const {
    return std::ranges::all_of(of_.operands, [](const KnownTensor* one) { return one != nullptr; }) &&
           std::all_of(of_.operands.begin() + static_cast<ptrdiff_t>(first), of_.operands.end(),
                       [&](const KnownTensor* one) { return one->type == of_.operands[first]->type; });
  }

  static std::optional<KnownTensor> binary(DataType type, const KnownTensor& a, const KnownTensor& b, const Binary& f) {
    const std::array<const KnownTensor*, 2> both{&a, &b};
    const auto dims = broadcast_dims(both);
    if (!dims) return std::nullopt;
    const auto at_a = broadcast_offsets(a.dims, *dims), at_b = broadcast_offsets(b.dims, *dims);
    KnownTensor made{type, *dims, {}};
    for (size_t i = 0; i < at_a.size(); ++i)
      made.elements.push_back(f(a.elements[static_cast<size_t>(at_a[i])], b.elements[static_cast<size_t>(at_b[i])]));
    return made;
  }

  const NodeOfConstants& of_;
  const DataType type_;
};

using EachOperator = std::vector<KnownTensor> (*)(const Each&);

std::vector<KnownTensor> by_comparison(const Each& n) {
  return n.of_two(DataType::kBool,
                  [&](KnownNumber a, KnownNumber b) { return compared(n.of().node.op_type(), n.type(), a, b); });
}
std::vector<KnownTensor> by_logic(const Each& n) {
  if (n.type() != DataType::kBool) return {};
  return n.of_two(DataType::kBool, [&](KnownNumber a, KnownNumber b) { return logical(n.of().node.op_type(), a, b); });
}
std::vector<KnownTensor> by_bits(const Each& n) {
  if (!ir::is_integer(n.type())) return {};
  return n.of_two(n.type(),
                  [&](KnownNumber a, KnownNumber b) { return bitwise(n.of().node.op_type(), n.type(), a, b); });
}
std::vector<KnownTensor> by_extremum(const Each& n, bool is_largest) {
  return n.folded(n.type(), [&](KnownNumber a, KnownNumber b) { return extremum(n.type(), a, b, is_largest); });
}
std::vector<KnownTensor> stepped(const Each& n, double (*step)(double)) {
  if (!is_real(n.type())) return {};
  return n.unary(n.type(), [&](KnownNumber x) { return by_steps(n.type(), x, step); });
}

const std::unordered_map<std::string_view, EachOperator>& each_operators() {
  static const std::unordered_map<std::string_view, EachOperator> all = {
      {"Add", [](const Each& n) { return n.of_two(n.type(), [&](auto a, auto b) { return added(n.type(), a, b); }); }},
      {"Sub",
       [](const Each& n) {
         return n.of_two(n.type(), [&](auto a, auto b) {
           // Of unsigned integers the negative is none.
           if (is_real(n.type())) return added(n.type(), a, negated(n.type(), b));
           int64_t difference = 0;
           if (a.is_open() || b.is_open() || __builtin_sub_overflow(a.whole, b.whole, &difference)) return kOpenNumber;
           return whole_number(n.type(), difference);
         });
       }},
      {"Mul",
       [](const Each& n) { return n.of_two(n.type(), [&](auto a, auto b) { return multiplied(n.type(), a, b); }); }},
      {"Div",
       [](const Each& n) { return n.of_two(n.type(), [&](auto a, auto b) { return divided(n.type(), a, b); }); }},
      {"Mod",
       [](const Each& n) {
         const bool is_of_c = n.of().node.attribute_int("fmod", 0) != 0;
         return n.of_two(n.type(), [&](auto a, auto b) { return remainder(n.type(), a, b, is_of_c); });
       }},
      {"Pow", [](const Each& n) { return n.power(); }},
      {"Max", [](const Each& n) { return by_extremum(n, true); }},
      {"Min", [](const Each& n) { return by_extremum(n, false); }},
      {"Clip", [](const Each& n) { return n.clipped(); }},
      {"Relu",
       [](const Each& n) { return n.unary(n.type(), [&](auto x) { return extremum(n.type(), x, {0, 0, 0}, true); }); }},
      {"Neg", [](const Each& n) { return n.unary(n.type(), [&](auto x) { return negated(n.type(), x); }); }},
      {"Abs",
       [](const Each& n) {
         return n.unary(n.type(), [&](auto x) {
           if (is_real(n.type())) return KnownNumber{0, std::fabs(x.real), x.error};
           return x.whole < 0 ? negated(n.type(), x) : x;
         });
       }},
      {"Sign",
       [](const Each& n) {
         return n.unary(n.type(), [&](auto x) {
           if (!is_real(n.type())) return KnownNumber{x.whole > 0 ? 1 : x.whole < 0 ? -1 : 0, 0, x.error};
           return std::isinf(x.real) ? KnownNumber{0, sign_of(x.real), x.error} : by_steps(n.type(), x, sign_of);
         });
       }},
      {"Floor", [](const Each& n) { return stepped(n, [](double v) { return std::floor(v); }); }},
      {"Ceil", [](const Each& n) { return stepped(n, [](double v) { return std::ceil(v); }); }},
      {"Round", [](const Each& n) { return stepped(n, [](double v) { return std::nearbyint(v); }); }},
      {"Sqrt",
       [](const Each& n) {
         return !is_real(n.type()) ? std::vector<KnownTensor>()
                                   : n.unary(n.type(), [&](auto x) { return square_root(n.type(), x); });
       }},
      {"Reciprocal",
       [](const Each& n) {
         return !is_real(n.type()) ? std::vector<KnownTensor>()
                                   : n.unary(n.type(), [&](auto x) { return divided(n.type(), {0, 1, 0}, x); });
       }},
      {"Equal", by_comparison},
      {"Less", by_comparison},
      {"Greater", by_comparison},
      {"LessOrEqual", by_comparison},
      {"GreaterOrEqual", by_comparison},
      {"And", by_logic},
      {"Or", by_logic},
      {"Xor", by_logic},
      {"Not",
       [](const Each& n) {
         return n.unary(DataType::kBool, [](auto x) { return x.is_open() ? x : truth(x.whole == 0); });
       }},
      {"IsNaN",
       [](const Each& n) { return n.unary(DataType::kBool, [](auto x) { return x.is_open() ? x : truth(false); }); }},
      {"BitwiseAnd", by_bits},
      {"BitwiseOr", by_bits},
      {"BitwiseXor", by_bits},
      {"Cast", [](const Each& n) { return n.casted(); }},
      {"Where", [](const Each& n) { return n.chosen(); }},
      {"Identity", [](const Each& n) { return n.unary(n.type(), [](auto x) { return x; }); }},
  };
  return all;
}

}  // namespace

std::vector<KnownTensor> evaluated_each(const NodeOfConstants& of) {
  const Each each(of);
  if (const auto found = each_operators().find(of.node.op_type()); found != each_operators().end())
    return found->second(each);
  const FunctionOfOne* function = is_real(each.type()) ? function_of_one(of.node.op_type()) : nullptr;
  if (!function) return {};
  return each.unary(each.type(), [&](KnownNumber x) { return function_of(each.type(), x, *function); });
}

}  // namespace thaw::proving
