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
    for (TermId& id : operands) id = arithmetic.times(of.factor, id);
  return operands;
}

// A number out of what another one limits; nullopt where there is none, or float64 does not hold what the two are over each other.
std::optional<TermId> Algebra::scaled_extremum(std::string_view op, TermId x, double limit) {
  const ir::DataType type = terms[x].dtype;
  if (!is_real(type) || !std::isfinite(limit) || !is_known(terms[x].shape)) return std::nullopt;
  const Scaled parts = arithmetic.factored(x);
  const double inner = limit / parts.factor;
  if (parts.factor == 1 || parts.factor == 0 || !std::isfinite(parts.factor) || !std::isfinite(inner) ||
      (inner == 0) != (limit == 0) || !is_known(terms[parts.term].shape) ||
      !is_same(*terms[parts.term].shape, *terms[x].shape))
    return std::nullopt;
  const std::array both{parts.term, arithmetic.number(inner, type)};
  return arithmetic.times(parts.factor, extremum(parts.factor > 0 ? op : opposite(op), both));
}

// The larger of a number and what is limited from above, by no less.
std::optional<TermId> Algebra::ordered_limits(TermId x, double low) {
  const Term limited = terms[x];
  if (!limited.is("Min") || limited.arguments.size() != 2 || !is_real(limited.dtype)) return std::nullopt;
  const auto high = arithmetic.number_of(limited.arguments[1]);
  if (!high || !(low <= *high)) return std::nullopt;
  const std::array below{limited.arguments[0], arithmetic.number(low, limited.dtype)};
  const std::array above{extremum("Max", below), limited.arguments[1]};
  return extremum("Min", above);
}

TermId Algebra::extremum(std::string_view op, std::span<const TermId> operands) {
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
    if (const auto scaled = scaled_extremum(op, flat[0], *number)) return *scaled;
    if (const auto ordered = op == "Max" ? ordered_limits(flat[0], *number) : std::nullopt) return *ordered;
    if (const auto limited = op == "Max" && is_real(type) ? limited_length(flat[0], *number) : std::nullopt)
      return *limited;
  }
  if (number) flat.push_back(arithmetic.number(*number, type));
  if (flat.size() == 1) return flat[0];
  std::optional<Shape> shape = Shape{};
  for (const TermId id : flat)
    shape = shape && terms[id].shape ? broadcast_shapes(*shape, *terms[id].shape) : std::nullopt;
  return terms.apply(std::string(op), flat, type, shape);
}

}  // namespace thaw::proving
