#include "thaw/ops/rule/value_range.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw::ops {

using dim::Dim;

namespace {

constexpr size_t kMaxEnds = 8;                      // expressions that one end may be the lowest of
constexpr int64_t kMaxConstant = int64_t{1} << 22;  // elements of a constant that is read

Dim scalar(Context& ctx, int i) {
  const Elements* list = ctx.elements(i);
  return list && list->size() == 1 ? list->front().as_dim() : Dim();
}

// Where operands broadcast, the lowest of one meets the lowest of the other for certain only if each pair of their elements meets:
// no axis is longer than 1 in both.
bool meet_in_pairs(const Fact& a, const Fact& b) {
  if (!a.has_rank() || !b.has_rank()) return false;
  for (int k = 1; k <= std::min(a.rank(), b.rank()); ++k)
    if (!a.dim(a.rank() - k).is_constant(1) && !b.dim(b.rank() - k).is_constant(1)) return false;
  return true;
}

struct Pair {
  ValueRange a, b;
  bool is_reached = false;
};

std::optional<Pair> operands(Context& ctx) {
  const auto a = ctx.range(0), b = ctx.range(1);
  if (!a || !b || !ir::is_integer(ctx.output(0).dtype)) return std::nullopt;
  return Pair{*a, *b, a->is_reached && b->is_reached && meet_in_pairs(ctx.input(0), ctx.input(1))};
}

Dim lesser(Dim a, Dim b) { return a.is_unknown() || b.is_unknown() ? Dim() : dim::min(a, b); }
Dim greater(Dim a, Dim b) { return a.is_unknown() || b.is_unknown() ? Dim() : dim::max(a, b); }

// Of two ends one of which may not be known.
Dim of_known(Dim a, Dim b, Dim (*of)(Dim, Dim)) { return a.is_unknown() ? b : b.is_unknown() ? a : of(a, b); }

// The ranges of all data operands together; nullopt where one has none.
std::optional<ValueRange> range_of_data(Context& ctx, bool& is_each_there) {
  const Operator* op = registry().find(ctx.node());
  std::optional<ValueRange> all;
  is_each_there = true;
  for (int i = 0; op && i < ctx.num_inputs(); ++i) {
    if (!ctx.has_input(i) || op->operands[i] != Role::kData) continue;
    const auto range = ctx.range(i);
    if (!range) return std::nullopt;
    is_each_there = is_each_there && at_least(ctx.input(i).num_elements(), 1);
    const bool is_first = !all;
    all = is_first ? *range : hull(*all, *range);
    if (!is_first) all->is_reached = all->is_reached && range->is_reached;
  }
  return all;
}

void set_moved(Context& ctx, bool is_kept) {
  bool is_each_there = false;
  auto range = range_of_data(ctx, is_each_there);
  if (!range) return;
  range->is_reached = range->is_reached && is_kept && (is_each_there || ctx.num_inputs() == 1);
  for (int o = 0; o < ctx.num_outputs(); ++o) ctx.set_range(o, *range);
}

}  // namespace

std::optional<Numbers> numbers_of(const Elements& elements, size_t most) {
  Numbers found;
  for (const Element& e : elements) {
    const Dim d = e.as_dim();
    if (d.is_unknown()) return std::nullopt;
    if (const auto v = d.constant()) {
      found.lowest = std::min(found.lowest.value_or(*v), *v);
      found.highest = std::max(found.highest.value_or(*v), *v);
    } else if (std::ranges::none_of(found.expressions, [&](Dim other) { return dim::same(other, d); })) {
      if (found.expressions.size() == most) return std::nullopt;
      found.expressions.push_back(d);
    }
  }
  return found;
}

std::optional<ValueRange> range_of_elements(const Elements& elements) {
  const auto numbers = numbers_of(elements, kMaxEnds);
  if (!numbers || elements.empty()) return std::nullopt;
  const auto& [ends, lowest, highest] = *numbers;
  ValueRange range{ends.empty() ? Dim() : ends.front(), ends.empty() ? Dim() : ends.front(), true};
  if (lowest) range = ends.empty() ? ValueRange{*lowest, *highest, true} : hull(range, {*lowest, *highest, true});
  for (const Dim d : ends) range = hull(range, {d, d, true});
  range.is_reached = true;
  return range;
}

std::optional<ValueRange> range_of_constant(const ir::Tensor& tensor) {
  int64_t count = 1;
  for (const int64_t d : tensor.dims) {
    if (d < 1 || d > kMaxConstant / count) return std::nullopt;
    count *= d;
  }
  try {
    const std::vector<int64_t> values = tensor.to_int64();
    if (values.empty()) return std::nullopt;
    const auto [low, high] = std::ranges::minmax(values);
    return ValueRange{low, high, true};
  } catch (const Error&) {
    return std::nullopt;  // its data cannot be read: whoever needs them says so
  }
}

ValueRange hull(const ValueRange& a, const ValueRange& b) {
  return {lesser(a.lowest, b.lowest), greater(a.highest, b.highest), a.is_reached && b.is_reached};
}

void range_moved(Context& ctx) { set_moved(ctx, false); }
void range_kept(Context& ctx) { set_moved(ctx, true); }

void range_reduced(Context& ctx) {
  if (at_least(ctx.input(0).num_elements(), 1)) set_moved(ctx, false);
}

void range_of_sum(Context& ctx) {
  if (const auto p = operands(ctx))
    ctx.set_range(0, {p->a.lowest + p->b.lowest, p->a.highest + p->b.highest, p->is_reached});
}

namespace {

std::optional<int64_t> number_in(const ir::Value& value) {
  const ir::Tensor* tensor = value.fixed_constant();
  const auto range = tensor ? range_of_constant(*tensor) : std::nullopt;
  return range && dim::same(range->lowest, range->highest) ? range->lowest.constant() : std::nullopt;
}

// k where the node is a - (a / k) * k.
const ir::Value* divisor_of_remainder(const ir::Node& node) {
  const auto made_by = [](const ir::Value* value, std::string_view op) -> const ir::Node* {
    const ir::Node* by = value ? value->producer() : nullptr;
    return by && by->domain().empty() && by->op_type() == op && by->input(0) && by->input(1) ? by : nullptr;
  };
  const ir::Node* product = made_by(node.input(1), "Mul");
  for (const int at : {0, 1}) {
    const ir::Node* quotient = product ? made_by(product->input(at), "Div") : nullptr;
    if (!quotient || quotient->input(0) != node.input(0)) continue;
    const ir::Value *k = quotient->input(1), *factor = product->input(1 - at);
    if (k == factor || (number_in(*k) && number_in(*k) == number_in(*factor))) return k;
  }
  return nullptr;
}

}  // namespace

void range_of_difference(Context& ctx) {
  if (const ir::Value* k = divisor_of_remainder(ctx.node()); k && ir::is_integer(ctx.output(0).dtype)) {
    if (const auto a = ctx.range(0); a && at_least(a->lowest, 0)) {
      const auto divisor = number_in(*k);
      const Dim most = divisor && *divisor > 0 ? Dim(*divisor - 1) : Dim();
      return ctx.set_range(0, {Dim(int64_t{0}), of_known(a->highest, most, dim::min), false});
    }
  }
  if (const auto p = operands(ctx))
    ctx.set_range(0, {p->a.lowest - p->b.highest, p->a.highest - p->b.lowest, p->is_reached});
}

void range_of_product(Context& ctx) {
  const auto p = operands(ctx);
  if (!p) return;
  // What is not negative grows with either factor; a constant factor keeps the order or turns it round.
  if (at_least(p->a.lowest, 0) && at_least(p->b.lowest, 0))
    return ctx.set_range(0, {p->a.lowest * p->b.lowest, p->a.highest * p->b.highest, p->is_reached});
  for (const auto& [some, factor] : {std::pair{p->a, p->b}, std::pair{p->b, p->a}}) {
    if (factor.lowest.is_unknown() || !dim::same(factor.lowest, factor.highest)) continue;
    const Dim low = some.lowest * factor.lowest, high = some.highest * factor.lowest;
    if (at_least(factor.lowest, 0)) return ctx.set_range(0, {low, high, p->is_reached});
    if (at_most(factor.lowest, 0)) return ctx.set_range(0, {high, low, p->is_reached});
  }
}

// Of what is not negative, by what is at least 1.
void range_of_quotient(Context& ctx) {
  const auto p = operands(ctx);
  if (!p || !at_least(p->a.lowest, 0) || !at_least(p->b.lowest, 1)) return;
  ctx.set_range(0,
                {dim::floor_div(p->a.lowest, p->b.highest), dim::floor_div(p->a.highest, p->b.lowest), p->is_reached});
}

// The remainder has the sign of the divisor, or with fmod that of the dividend.
void range_of_modulo(Context& ctx) {
  const auto p = operands(ctx);
  if (!p || !at_least(p->b.lowest, 1) || p->b.highest.is_unknown()) return;
  const bool is_not_negative = at_least(p->a.lowest, 0);
  if (ctx.attr_int("fmod", 0) != 0 && !is_not_negative) return;
  const Dim most = p->b.highest - 1;
  ctx.set_range(
      0, {Dim(int64_t{0}), is_not_negative && p->a.highest.is_known() ? dim::min(p->a.highest, most) : most, false});
}

void range_negated(Context& ctx) {
  const auto a = ctx.range(0);
  if (a && ir::is_integer(ctx.output(0).dtype)) ctx.set_range(0, {-a->highest, -a->lowest, a->is_reached});
}

void range_of_sizes(Context& ctx) {
  const auto a = ctx.range(0);
  if (!a) return;
  if (at_least(a->lowest, 0)) return ctx.set_range(0, *a);
  ctx.set_range(0, {Dim(int64_t{0}), greater(a->highest, -a->lowest), false});
}

namespace {

// Whatever the lesser (greater) of two is, it is at most (at least) each of them: that end is known by one operand alone.
void set_extreme(Context& ctx, bool is_lesser) {
  if (!ir::is_integer(ctx.output(0).dtype)) return;
  ValueRange all;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const ValueRange range = ctx.range(i).value_or(ValueRange());
    if (i == 0) {
      all = range;
    } else if (is_lesser) {
      all = {lesser(all.lowest, range.lowest), of_known(all.highest, range.highest, dim::min)};
    } else {
      all = {of_known(all.lowest, range.lowest, dim::max), greater(all.highest, range.highest)};
    }
  }
  all.is_reached = false;
  ctx.set_range(0, all);
}

}  // namespace

void range_of_lesser(Context& ctx) { set_extreme(ctx, true); }
void range_of_greater(Context& ctx) { set_extreme(ctx, false); }

void range_clipped(Context& ctx) {
  const auto given = ctx.range(0);
  if (!ir::is_integer(ctx.output(0).dtype)) return;
  ValueRange range = given ? *given : ValueRange{};
  // Bounds are operands since opset 11; ONNX has Clip of integers since 12.
  const Dim low = ctx.has_input(1) ? scalar(ctx, 1) : Dim(), high = ctx.has_input(2) ? scalar(ctx, 2) : Dim();
  if ((ctx.has_input(1) && low.is_unknown()) || (ctx.has_input(2) && high.is_unknown())) return;
  if (low.is_known()) {
    range.lowest = range.lowest.is_unknown() ? low : dim::max(range.lowest, low);
    if (range.highest.is_known()) range.highest = dim::max(range.highest, low);
  }
  if (high.is_known()) {
    range.highest = range.highest.is_unknown() ? high : dim::min(range.highest, high);
    if (range.lowest.is_known()) range.lowest = dim::min(range.lowest, high);
  }
  // What lies between bounds need not meet them.
  range.is_reached = false;
  ctx.set_range(0, range);
}

void range_cast(Context& ctx) {
  const ir::DataType from = ctx.input(0).dtype, to = ctx.output(0).dtype;
  if (!ir::is_integer(to)) return;
  if (from == ir::DataType::kBool) return ctx.set_range(0, {Dim(int64_t{0}), Dim(1), false});
  const auto range = ctx.range(0);
  if (!range || !ir::is_integer(from) || from == ir::DataType::kUint64) return;
  if (to == ir::DataType::kInt64) return ctx.set_range(0, *range);
  // What int32 cannot hold wraps; no size is as large.
  const auto fits = [](Dim end) {
    const auto v = end.constant();
    return !v || (*v >= INT32_MIN && *v <= INT32_MAX);
  };
  if (to == ir::DataType::kInt32 && fits(range->lowest) && fits(range->highest)) ctx.set_range(0, *range);
}

}  // namespace thaw::ops
