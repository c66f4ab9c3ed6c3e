// The larger or the smaller of several tensors, element by element.
//
// max(f x, n) is f max(x, n / f) where f is above 0, and f min(x, n / f) where it is below. So a number goes out of what another one limits,
// and a ramp is one term however it is scaled: HardSigmoid, and a Clip that is divided.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/prove/laws.h"

namespace thaw::proving {

using ops::Shape;

namespace {

constexpr size_t kMostInner = 8;  // arguments of an extremum that becomes part of another
constexpr int kMostDepth = 8;     // of extrema in each other that a number is multiplied into

std::string_view opposite(std::string_view op) { return op == "Max" ? "Min" : "Max"; }

}  // namespace

// What `factor` times an extremum is the extremum of, where that is one of `op`; empty where it is not.
std::vector<TermId> Algebra::scaled_operands(std::string_view op, Scaled of) {
  const Term inner = terms[of.term];
  if (of.factor == 0 || !std::isfinite(of.factor) || inner.arguments.size() > kMostInner ||
      !inner.is(of.factor > 0 ? op : opposite(op)))
    return {};
  std::vector<TermId> operands = inner.arguments;
  if (of.factor != 1)
    for (TermId& id : operands) id = scaled_inside(of.factor, id, kMostDepth, true);
  return operands;
}

// A number times a term, multiplied into the operands of an extremum.
TermId Algebra::scaled_inside(double factor, TermId x, int depth, bool goes_out) {
  const Scaled parts = arithmetic.split(x);
  const Term of = terms[parts.term];
  const double whole = factor * parts.factor;
  if ((!of.is("Max") && !of.is("Min")) || of.arguments.size() > kMostInner || depth == 0 || whole == 0 ||
      !std::isfinite(whole))
    return arithmetic.times(factor, x);
  std::vector<TermId> operands;
  for (const TermId id : of.arguments) operands.push_back(scaled_inside(whole, id, depth - 1, goes_out));
  return extremum(whole > 0 ? of.op : opposite(of.op), operands, goes_out);
}

// A number out of what another one limits; nullopt where there is none, or float64 does not hold what the two are over each other. It is that
// which is in front already, so that what is limited begins with 1. Where weights have numbers of their own, these would pile up from layer to
// layer: there it is the upper limit of what 0 limits from below, which becomes 1.
std::optional<TermId> Algebra::scaled_extremum(std::string_view op, TermId x, double limit) {
  const ir::DataType type = terms[x].dtype;
  if (!is_real(type) || !std::isfinite(limit) || !is_known(terms[x].shape)) return std::nullopt;
  const auto limited = [&](TermId inner, double by, std::string_view how, bool goes_out) {
    const std::array both{inner, arithmetic.number(by, type)};
    return extremum(how, both, goes_out);
  };
  const auto is_held = [](double made) { return made != 0 && std::isfinite(made); };
  if (arithmetic.scales_weights()) {
    const Term ramp = terms[x];
    const double size = std::fabs(limit);
    const bool is_ramp = (ramp.is("Max") || ramp.is("Min")) && ramp.arguments.size() == 2 &&
                         arithmetic.number_of(ramp.arguments[1]) == 0;
    if (!is_ramp || size == 1 || !is_held(size) || !is_held(1 / size)) return std::nullopt;
    const TermId inner = scaled_inside(1 / size, x, kMostDepth, false);
    const bool is_inside = is_known(terms[inner].shape) && is_same(*terms[inner].shape, *terms[x].shape);
    return is_inside ? std::optional(arithmetic.times(size, limited(inner, limit / size, op, false))) : std::nullopt;
  }
  const Scaled parts = arithmetic.factored(x);
  const double inner = limit / parts.factor;
  if (parts.factor == 1 || !is_held(parts.factor) || (limit != 0 && !is_held(inner)) ||
      !is_known(terms[parts.term].shape) || !is_same(*terms[parts.term].shape, *terms[x].shape))
    return std::nullopt;
  return arithmetic.times(parts.factor, limited(parts.term, inner, parts.factor > 0 ? op : opposite(op), true));
}

// The larger of a number and what is limited from above, by no less.
std::optional<TermId> Algebra::ordered_limits(TermId x, double low, bool goes_out) {
  const Term limited = terms[x];
  if (!limited.is("Min") || limited.arguments.size() != 2 || !is_real(limited.dtype)) return std::nullopt;
  const auto high = arithmetic.number_of(limited.arguments[1]);
  if (!high || !(low <= *high)) return std::nullopt;
  const std::array below{limited.arguments[0], arithmetic.number(low, limited.dtype)};
  const std::array above{extremum("Max", below, goes_out), limited.arguments[1]};
  return extremum("Min", above, goes_out);
}

TermId Algebra::extremum(std::string_view op, std::span<const TermId> operands, bool goes_out) {
  const ir::DataType type = terms[operands[0]].dtype;
  std::optional<double> number;
  std::vector<TermId> flat;
  const auto take = [&](TermId id) {
    if (const auto value = arithmetic.number_of(id)) {
      number = !number ? *value : op == "Max" ? std::max(*number, *value) : std::min(*number, *value);
    } else {
      flat.push_back(id);
    }
  };
  const auto is_number = [&](TermId id) { return arithmetic.number_of(id).has_value(); };
  const bool is_of_several = operands.size() - static_cast<size_t>(std::ranges::count_if(operands, is_number)) > 1;
  for (const TermId id : operands) {
    // A number that is in front of one extremum goes out of the whole afterwards.
    const Scaled parts = is_of_several ? arithmetic.split(id) : Scaled{1, id};
    const std::vector<TermId> inner = scaled_operands(op, parts);
    for (const TermId one : inner.empty() ? std::vector{id} : inner) take(one);
  }
  std::ranges::sort(flat);
  flat.erase(std::ranges::unique(flat).begin(), flat.end());
  if (auto numbers = flat.size() == 1 && number ? constants.numbers(flat[0]) : std::nullopt) {
    // What is limited lies no farther apart than before.
    if (numbers->magnitude.empty())
      for (const double value : numbers->values) numbers->magnitude.push_back(std::fabs(value));
    for (double& value : numbers->values) value = op == "Max" ? std::max(value, *number) : std::min(value, *number);
    return constants.computed(type, std::move(*numbers));
  }
  if (flat.size() == 1 && number) {
    const Scaled parts = arithmetic.split(flat[0]);
    if (op == "Max" && is_real(type) && parts.factor > 0)
      if (const auto limited = limited_length(parts.term, *number / parts.factor))
        return arithmetic.times(parts.factor, *limited);
    if (const auto scaled = goes_out ? scaled_extremum(op, flat[0], *number) : std::nullopt) return *scaled;
    if (const auto ordered = op == "Max" ? ordered_limits(flat[0], *number, goes_out) : std::nullopt) return *ordered;
  }
  if (number) flat.push_back(arithmetic.number(*number, type));
  if (flat.size() == 1) return flat[0];
  std::optional<Shape> shape = Shape{};
  for (const TermId id : flat)
    shape = shape && terms[id].shape ? broadcast_shapes(*shape, *terms[id].shape) : std::nullopt;
  return terms.apply(std::string(op), flat, type, shape);
}

}  // namespace thaw::proving
