// Casts, limits, signs and conditions that follow each other.
#include <algorithm>
#include <cmath>

#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

using ir::DataType;

int float_digits(DataType type) {  // of the significand, that which is not written included
  switch (type) {
    case DataType::kBfloat16:
      return 8;
    case DataType::kFloat16:
      return 11;
    case DataType::kFloat:
      return 24;
    case DataType::kDouble:
      return 53;
    default:
      return 0;
  }
}

struct IntegerBits {
  int value = 0;  // bits of magnitude
  bool is_signed = false;
};

std::optional<IntegerBits> integer_bits(DataType type) {
  switch (type) {
    case DataType::kBool:
      return IntegerBits{1, false};
    case DataType::kUint8:
      return IntegerBits{8, false};
    case DataType::kInt8:
      return IntegerBits{7, true};
    case DataType::kUint16:
      return IntegerBits{16, false};
    case DataType::kInt16:
      return IntegerBits{15, true};
    case DataType::kUint32:
      return IntegerBits{32, false};
    case DataType::kInt32:
      return IntegerBits{31, true};
    case DataType::kUint64:
      return IntegerBits{64, false};
    case DataType::kInt64:
      return IntegerBits{63, true};
    default:
      return std::nullopt;
  }
}

// Whether every number of `from` is one of `to`.
bool holds_all(DataType to, DataType from) {
  if (to == DataType::kBool) return from == DataType::kBool;
  if (const auto bits = integer_bits(from)) {
    if (const auto wide = integer_bits(to)) return wide->value >= bits->value && (wide->is_signed || !bits->is_signed);
    return float_digits(to) >= bits->value && to != DataType::kFloat16;  // 65,504 is its largest
  }
  if (float_digits(from) == 0 || float_digits(to) == 0) return false;
  return to == DataType::kDouble || (to == DataType::kFloat && from != DataType::kDouble);
}

// Cast to a type that holds every number of what it is made of, and on from there.
ir::Value* cast_at_once(const Site& s) {
  const ir::Node* inner = s.made_by(0, "Cast");
  if (!inner || !inner->input(0)) return nullptr;
  const DataType from = s.fact(inner->input(0)).dtype, between = s.in(0).dtype, to = s.out().dtype;
  if (from == DataType::kUndefined || to == DataType::kUndefined || !holds_all(between, from)) return nullptr;
  return from == to ? inner->input(0) : s.at().cast(inner->input(0), to);
}

ir::Value* undone(const Site& s) {
  const ir::Node* inner = s.made_by(0, s.node().op_type());
  return inner ? inner->input(0) : nullptr;
}

ir::Value* once(const Site& s) { return s.made_by(0, s.node().op_type()) ? s.input(0) : nullptr; }

// Where(Not(c), a, b)
ir::Value* other_way_round(const Site& s) {
  const ir::Node* negation = s.made_by(0, "Not");
  return negation ? s.at().emit("Where", {negation->input(0), s.input(2), s.input(1)}) : nullptr;
}

// The limits of a Clip as constants; infinite where there is none.
struct Limits {
  double low = -INFINITY, high = INFINITY;
};

std::optional<Limits> limits_of(const Site& s, const ir::Node& clip) {
  Limits limits;
  if (s.opset() < 11) {
    limits.low = clip.attribute_float("min", -INFINITY);
    limits.high = clip.attribute_float("max", INFINITY);
    return limits;
  }
  for (const int i : {1, 2}) {
    if (!clip.input(i)) continue;
    const auto number = s.number(clip.input(i));
    if (!number) return std::nullopt;
    (i == 1 ? limits.low : limits.high) = *number;
  }
  return limits;
}

ir::Value* clip(const Site& s, ir::Value* x, Limits limits) {
  const DataType type = s.out().dtype;
  if (!ir::is_floating(type) || limits.low > limits.high || s.opset() < 11) return nullptr;
  const auto limit = [&](double number) { return std::isinf(number) ? nullptr : s.at().scalar(number, type); };
  return s.at().emit("Clip", {x, limit(limits.low), limit(limits.high)});
}

// Clip(Clip(x)), Clip(Relu(x)), Relu(Clip(x))
ir::Value* one_clip(const Site& s) {
  const auto of = [&](const ir::Node& node) {
    return node.op_type() == "Relu" ? std::optional(Limits{0, INFINITY}) : limits_of(s, node);
  };
  const ir::Node* inner = s.made_by(0, "Clip");
  if (!inner) inner = s.node().op_type() == "Clip" ? s.made_by(0, "Relu") : nullptr;
  if (!inner || !s.is_only_reader_of(s.input(0))) return nullptr;
  const auto first = of(*inner), second = of(s.node());
  if (!first || !second || first->low > first->high) return nullptr;
  const auto within = [&](double number) { return std::clamp(number, second->low, second->high); };
  if (second->low > second->high) return nullptr;
  return clip(s, inner->input(0), {within(first->low), within(first->high)});
}

// Min(Max(x, low), high), Min(Relu(x), high) and Max(Min(x, high), low) of one limit each
ir::Value* limits_as_clip(const Site& s) {
  const bool outer_is_min = s.node().op_type() == "Min";
  if (s.node().inputs().size() != 2) return nullptr;
  for (const int side : {0, 1}) {
    const auto outer = s.number(s.input(1 - side));
    const ir::Node* inner = s.made_by(side, outer_is_min ? "Max" : "Min");
    const ir::Node* relu = outer && outer_is_min ? s.made_by(side, "Relu") : nullptr;
    if (relu && s.is_only_reader_of(s.input(side)) && s.keeps_shape_of(side))
      return clip(s, relu->input(0), {0, *outer});
    if (!outer || !inner || inner->inputs().size() != 2 || !s.is_only_reader_of(s.input(side))) continue;
    for (const int at : {0, 1}) {
      const auto number = s.number(inner->input(1 - at));
      ir::Value* x = inner->input(at);
      if (!number || !have_same_shape(s.fact(x), s.out()) || s.fact(x).dtype != s.out().dtype) continue;
      return clip(s, x, outer_is_min ? Limits{*number, *outer} : Limits{*outer, *number});
    }
  }
  return nullptr;
}

// x * -1 and x / -1
ir::Value* negated(const Site& s) {
  for (const int side : {1, 0}) {
    const bool divides = s.node().op_type() == "Div";
    if (divides && side == 0) break;
    if (s.number(s.input(side)) == -1.0 && s.keeps_shape_of(1 - side) && ir::is_floating(s.out().dtype))
      return s.at().emit("Neg", {s.input(1 - side)});
  }
  return nullptr;
}

// (x + a) + b and (x * a) * b of integers, which wrap around alike in any order; floats would round otherwise.
ir::Value* one_number(const Site& s) {
  const DataType type = s.out().dtype;
  if (type != DataType::kInt64 && type != DataType::kInt32) return nullptr;
  for (const int side : {0, 1}) {
    const ir::Node* inner = s.made_by(side, s.node().op_type());
    const auto second = s.integers(1 - side, "");
    if (!inner || !second || second->size() != 1 || !s.is_only_reader_of(s.input(side))) continue;
    for (const int at : {0, 1}) {
      const auto first = s.integers(*inner, 1 - at, "");
      if (!first || first->size() != 1 || !have_same_shape(s.fact(inner->input(at)), s.out())) continue;
      const auto a = static_cast<uint64_t>(first->front()), b = static_cast<uint64_t>(second->front());
      const uint64_t both = s.node().op_type() == "Mul" ? a * b : a + b;
      const int64_t number = type == DataType::kInt32 ? static_cast<int32_t>(both) : static_cast<int64_t>(both);
      return s.at().emit(s.node().op_type(), {inner->input(at), s.at().cast(s.at().integer(number), type)});
    }
  }
  return nullptr;
}

// An Expand whose result is spread over what it is computed with anyway.
ir::Value* without_expand(const Site& s) {
  const auto inputs = s.node().inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Node* expand = s.made_by(static_cast<int>(i), "Expand");
    if (!expand) continue;
    const bool spread = std::ranges::any_of(inputs, [&](const ir::Value* other) {
      return other && other != inputs[i] && have_same_shape(s.fact(other), s.out());
    });
    if (!spread || s.fact(expand->input(0)).rank() < 0 || s.fact(expand->input(0)).rank() > s.out().rank()) continue;
    std::vector<ir::Value*> operands(inputs.begin(), inputs.end());
    operands[i] = expand->input(0);
    ops::Attributes attributes(s.node().attributes().begin(), s.node().attributes().end());
    return s.at().emit(s.node().op_type(), std::move(operands), std::move(attributes));
  }
  return nullptr;
}

const Simplification kMergedNumbers[] = {
    {"cast at once", {"Cast"}, cast_at_once},
    {"undo what is undone", {"Not", "Neg"}, undone},
    {"do once what is done twice", {"Relu", "Abs", "Floor", "Ceil", "Round", "Sign"}, once},
    {"turn a Where round", {"Where"}, other_way_round},
    {"a sign for a product", {"Mul", "Div"}, negated},
    {"one number for two", {"Add", "Mul"}, one_number},
    {"merge limits", {"Clip", "Relu"}, one_clip},
    {"limits as a Clip", {"Min", "Max"}, limits_as_clip},
    {"leave spreading to the operator",
     {"Add", "Sub", "Mul", "Div", "Where", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or",
      "Xor", "Min", "Max", "Pow"},
     without_expand},
};

}  // namespace

std::span<const Simplification> merged_numbers() { return kMergedNumbers; }

}  // namespace thaw::optimizing
