#include "thaw/prove/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "thaw/dim/expr/scope.h"

namespace thaw::proving {

using ir::DataType;

namespace {

constexpr size_t kMostAddends = 16;  // of a sum that becomes part of another: chains of sums take linear time

bool is_integer(double x) { return x == std::floor(x); }

// Whether float64 holds what came of numbers that are not 0: past its range all would be one number.
bool is_held(double made) { return std::isfinite(made) && made != 0; }

// Calls f(i, offset of a, offset of b) for each element of what two constants broadcast to.
template <typename F>
bool for_broadcast(const std::vector<int64_t>& a, const std::vector<int64_t>& b, std::vector<int64_t>& result, F f) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> steps_a(rank, 0), steps_b(rank, 0);
  result.assign(rank, 1);
  const auto fill = [&](const std::vector<int64_t>& dims, std::vector<int64_t>& steps) {
    int64_t stride = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      const size_t k = rank - dims.size() + i;
      if (dims[i] != 1) {
        if (result[k] != 1 && result[k] != dims[i]) return false;
        result[k] = dims[i];
        steps[k] = stride;
      }
      stride *= dims[i];
    }
    return true;
  };
  if (!fill(a, steps_a) || !fill(b, steps_b)) return false;
  int64_t count = 1;
  for (const int64_t d : result) {
    if (d <= 0 || count > Constants::kMostElements / d) return false;
    count *= d;
  }
  std::vector<int64_t> index(rank, 0);
  int64_t at_a = 0, at_b = 0;
  for (int64_t i = 0; i < count; ++i) {
    f(static_cast<size_t>(at_a), static_cast<size_t>(at_b));
    for (size_t k = rank; k-- > 0;) {
      at_a += steps_a[k];
      at_b += steps_b[k];
      if (++index[k] < result[k]) break;
      at_a -= steps_a[k] * result[k];
      at_b -= steps_b[k] * result[k];
      index[k] = 0;
    }
  }
  return true;
}

double magnitude_at(const Numbers& n, size_t i) {
  return n.magnitude.empty() ? std::fabs(n.values[i]) : n.magnitude[i];
}

std::optional<Numbers> multiplied(const Numbers& a, const Numbers& b) {
  Numbers made;
  made.roundings = a.roundings + b.roundings + 1;
  const bool ok = for_broadcast(a.dims, b.dims, made.dims, [&](size_t i, size_t k) {
    made.values.push_back(a.values[i] * b.values[k]);
    made.magnitude.push_back(magnitude_at(a, i) * magnitude_at(b, k));
  });
  if (!ok || !std::ranges::all_of(made.magnitude, [](double v) { return std::isfinite(v); })) return std::nullopt;
  return made;
}

std::optional<Numbers> summed(const Numbers& a, const Numbers& b) {
  Numbers made;
  made.roundings = std::max(a.roundings, b.roundings) + 1;
  const bool ok = for_broadcast(a.dims, b.dims, made.dims, [&](size_t i, size_t k) {
    made.values.push_back(a.values[i] + b.values[k]);
    made.magnitude.push_back(magnitude_at(a, i) + magnitude_at(b, k));
  });
  if (!ok || !std::ranges::all_of(made.magnitude, [](double v) { return std::isfinite(v); })) return std::nullopt;
  return made;
}

// Where a sum lies under the power, the error of its numbers is relative to what was added up: only where little was lost.
std::optional<Numbers> raised(Numbers n, double exponent) {
  if (exponent == 1) return n;
  const bool is_sum = !n.magnitude.empty();
  if (is_sum && is_integer(exponent) && exponent > 0) {
    for (size_t i = 0; i < n.values.size(); ++i) {
      n.values[i] = std::pow(n.values[i], exponent);
      n.magnitude[i] = std::pow(n.magnitude[i], exponent);
      if (!std::isfinite(n.magnitude[i])) return std::nullopt;
    }
    n.roundings = static_cast<int>(std::ceil(exponent)) * (n.roundings + 1);
    return n;
  }
  constexpr double kMostLost = 64;
  double lost = is_sum ? 4 : 1;  // by how much what was added up is larger than what came of it
  for (size_t i = 0; i < n.values.size(); ++i) {
    if (is_sum) lost = std::max(lost, n.magnitude[i] / std::fabs(n.values[i]));
    if (!(lost <= kMostLost)) return std::nullopt;
    const double value = std::pow(n.values[i], exponent);
    if (!std::isfinite(value)) return std::nullopt;
    n.values[i] = value;
  }
  n.roundings = static_cast<int>(std::ceil(std::fabs(exponent) * lost * n.roundings)) + 2;
  n.magnitude.clear();
  return n;
}

Numbers of_one(double value) { return {{}, {value}, {}, 1}; }

bool is_before(const Power& a, const Power& b) { return a.term != b.term ? a.term < b.term : a.exponent < b.exponent; }

// Of no arguments yet.
Term begin(Term::Kind kind, DataType type) {
  Term term;
  term.kind = kind;
  term.dtype = type;
  term.shape = ops::Shape{};
  return term;
}

}  // namespace

Scaled Arithmetic::split(TermId x) const {
  const Term& term = terms_[x];
  if (term.kind == Term::Kind::kSum && term.arguments.size() == 1) return {term.numbers[0], term.arguments[0]};
  return {1, x};
}

std::optional<size_t> Arithmetic::lead_of(const Term& sum) const {
  for (size_t i = 0; i < sum.arguments.size(); ++i) {
    if (is_one(sum.arguments[i]) || constants_.is_constant(sum.arguments[i])) continue;
    const double lead = sum.numbers[i];
    const bool divides = std::ranges::all_of(sum.numbers, [&](double n) { return n == 0 || is_held(n / lead); });
    return lead != 0 && lead != 1 && divides ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

Scaled Arithmetic::factored(TermId x) {
  const Term term = terms_[x];
  if (term.kind != Term::Kind::kSum) return {1, x};
  if (term.arguments.size() == 1) return split(x);
  const auto lead = lead_of(term);
  if (!lead) return {1, x};
  const double factor = term.numbers[*lead];
  std::vector<Scaled> rest;
  for (size_t i = 0; i < term.arguments.size(); ++i)
    rest.push_back({i == *lead ? 1 : term.numbers[i] / factor, term.arguments[i]});
  return {factor, sum(rest, term.dtype)};
}

// A size as a number of a type that holds all sizes. Over itself it is 1, and no number where it is 0.
bool Arithmetic::is_size(TermId x) const {
  const Term& cast = terms_[x];
  if (!cast.is("Cast") || cast.dtype == DataType::kFloat16 || terms_[cast.arguments[0]].kind != Term::Kind::kSizes)
    return false;
  const std::vector<dim::Dim>& dims = terms_[cast.arguments[0]].dims;
  const auto lower = dims.size() == 1 ? dim::range_of(dims[0]).lower : std::nullopt;
  return lower && *lower >= 0;
}

std::optional<double> Arithmetic::number_of(TermId x) const {
  while (terms_[x].is("Expand")) x = terms_[x].arguments[0];
  const Scaled parts = split(x);
  if (!is_one(parts.term)) return std::nullopt;
  return parts.factor;
}

TermId Arithmetic::constant(Numbers numbers, DataType type) {
  const bool is_uniform =
      !numbers.values.empty() && std::ranges::all_of(numbers.values, [&](double v) { return v == numbers.values[0]; });
  if (is_uniform)
    return views_.conform(number(numbers.values[0], type), ops::Shape(numbers.dims.begin(), numbers.dims.end()));
  return constants_.computed(type, std::move(numbers));
}

std::optional<Numbers> Arithmetic::combined(std::span<const Power> factors, double factor) const {
  std::optional<Numbers> made;
  if (factor != 1) made = of_one(factor);
  for (const Power& one : factors) {
    auto read = constants_.numbers(one.term);
    if (!read) return std::nullopt;
    auto next = raised(std::move(*read), one.exponent);
    if (!next) return std::nullopt;
    made = made ? multiplied(*made, *next) : std::move(next);
    if (!made) return std::nullopt;
  }
  return made;
}

std::optional<Numbers> Arithmetic::added(std::span<const Scaled> addends) const {
  std::optional<Numbers> made;
  for (const Scaled& one : addends) {
    std::optional<Numbers> next = is_one(one.term) ? of_one(one.factor) : constants_.numbers(one.term);
    if (!next) return std::nullopt;
    if (!is_one(one.term) && one.factor != 1) next = multiplied(*next, of_one(one.factor));
    if (!next) return std::nullopt;
    made = made ? summed(*made, *next) : std::move(next);
    if (!made) return std::nullopt;
  }
  return made;
}

void Arithmetic::append(Term& term, TermId argument, double number) const {
  term.arguments.push_back(argument);
  term.numbers.push_back(number);
  const auto& shape = terms_[argument].shape;
  term.shape = term.shape && shape ? broadcast_shapes(*term.shape, *shape) : std::nullopt;
}

// A number times a product with a constant tensor: it goes into the tensor, as in product().
Scaled Arithmetic::folded(Scaled addend, DataType type) {
  const Term term = terms_[addend.term];
  if (addend.factor == 1 || addend.factor == 0 || term.kind != Term::Kind::kProduct) return addend;
  std::vector<Power> factors;
  bool has_constant = false;
  for (size_t i = 0; i < term.arguments.size(); ++i) {
    factors.push_back({term.arguments[i], term.numbers[i]});
    has_constant = has_constant || (constants_.is_constant(term.arguments[i]) && term.numbers[i] == 1);
  }
  if (!has_constant) return addend;
  const TermId made = product(factors, type, addend.factor);
  return terms_[made].kind == Term::Kind::kProduct ? Scaled{1, made} : addend;
}

TermId Arithmetic::sum(const std::vector<Scaled>& addends, DataType type) {
  if (!is_real(type)) return sum_of_integers(addends, type);
  std::vector<Scaled> flat;
  for (const Scaled& one : addends) {
    const TermId bare = views_.unexpanded(one.term);
    const Term& term = terms_[bare];
    const bool fits = term.kind == Term::Kind::kSum && term.arguments.size() <= kMostAddends &&
                      std::ranges::all_of(
                          term.numbers, [&](double n) { return n == 0 || one.factor == 0 || is_held(one.factor * n); });
    if (fits) {
      for (size_t i = 0; i < term.arguments.size(); ++i)
        flat.push_back({one.factor * term.numbers[i], term.arguments[i]});
    } else {
      flat.push_back({one.factor, bare});
    }
  }
  for (Scaled& one : flat) one = folded(one, type);
  std::ranges::stable_sort(flat, {}, &Scaled::term);
  std::vector<Scaled> merged, constants;
  for (const Scaled& one : flat) {
    std::vector<Scaled>& to = constants_.is_constant(one.term) || is_one(one.term) ? constants : merged;
    if (!to.empty() && to.back().term == one.term && std::isfinite(to.back().factor + one.factor)) {
      to.back().factor += one.factor;
    } else {
      to.push_back(one);
    }
  }
  std::erase_if(constants, [&](const Scaled& one) { return is_one(one.term) && one.factor == 0; });
  // Constants become one, of the number 1 or of a tensor.
  const bool is_plain = constants.size() == 1 && (is_one(constants[0].term) || constants[0].factor == 1);
  if (!constants.empty() && !is_plain) {
    if (auto numbers = added(constants)) {
      TermId made = views_.unexpanded(constant(std::move(*numbers), type));
      constants = {split(made)};
    }
  }
  for (Scaled& one : merged) one = folded(one, type);
  merged.insert(merged.end(), constants.begin(), constants.end());
  if (merged.empty()) merged.push_back({0, constants_.one(type)});
  return written(std::move(merged), type);
}

TermId Arithmetic::written(std::vector<Scaled> addends, DataType type) {
  std::ranges::stable_sort(addends, {}, &Scaled::term);
  const bool is_one = addends.size() == 1 && addends[0].factor == 1;
  for (Scaled& one : addends) one.factor = constants_.number(one.factor, type);
  if (addends.size() == 1 && addends[0].factor == 1) {
    if (!is_one) constants_.take(addends[0].term);
    return addends[0].term;
  }
  Term term = begin(Term::Kind::kSum, type);
  for (const Scaled& one : addends) append(term, one.term, one.factor);
  return terms_.add(std::move(term));
}

// Takes a factor apart: numbers to `number`, the rest to `factors`.
void Arithmetic::add_factor(Power factor, double& number, std::vector<Power>& factors, DataType type) {
  const double exponent = factor.exponent;
  const TermId bare = views_.unexpanded(factor.term);
  const Term& term = terms_[bare];
  const auto take_number = [&](double value) {  // false where its power is no real number
    const double raised = std::pow(value, exponent);
    if (!is_held(raised) || value == 0 || (value < 0 && !is_integer(exponent))) return false;
    if (number != 0 && !is_held(number * raised)) return false;
    number *= raised;
    return true;
  };
  if (is_one(bare)) return;
  if (term.kind == Term::Kind::kSum) {
    const auto lead = term.arguments.size() == 1 ? 0 : lead_of(term);
    if (lead && take_number(term.numbers[*lead])) {
      const Scaled parts = factored(bare);
      if (term.arguments.size() == 1) {
        add_factor({parts.term, exponent}, number, factors, type);
      } else {
        factors.push_back({parts.term, exponent});
      }
    } else {
      factors.push_back({bare, exponent});
    }
    return;
  }
  if (term.kind == Term::Kind::kProduct) {
    const bool inner_integers = std::ranges::all_of(term.numbers, is_integer);
    const bool may = exponent == 1 || exponent == -1 || (is_integer(exponent) && inner_integers);
    if (may) {
      for (size_t i = 0; i < term.arguments.size(); ++i)
        factors.push_back({term.arguments[i], term.numbers[i] * exponent});
      return;
    }
  }
  factors.push_back({bare, exponent});
}

Scaled Arithmetic::weight(TermId x) {
  if (weights_ == Weights::kAsRead || !constants_.is_constant(x)) return {1, x};
  auto numbers = constants_.numbers(x);
  if (!numbers || numbers->values.empty()) return {1, x};
  double largest = 0;
  for (const double value : numbers->values) largest = std::max(largest, std::fabs(value));
  const auto at = std::ranges::find_if(numbers->values, [&](double value) { return std::fabs(value) >= largest / 2; }) -
                  numbers->values.begin();
  const double factor = numbers->values[static_cast<size_t>(at)];
  // Where more was added up than is left, its rounding is no number's.
  if (factor == 0 || factor == 1 || magnitude_at(*numbers, static_cast<size_t>(at)) > 4 * std::fabs(factor))
    return {1, x};
  // What was written down below all numbers of full digits is as far off as one of them.
  const double least = terms_[x].tensor ? least_normal_of(terms_[x].dtype) : 0;
  const auto is_below = [&](double value) { return value != 0 && std::fabs(value) < least; };
  if (numbers->magnitude.empty() && std::ranges::any_of(numbers->values, is_below))
    for (const double value : numbers->values) numbers->magnitude.push_back(is_below(value) ? least : std::fabs(value));
  for (double& value : numbers->values) value /= factor;
  for (double& value : numbers->magnitude) value /= std::fabs(factor);
  if (!std::ranges::all_of(numbers->values, [](double value) { return std::isfinite(value); })) return {1, x};
  numbers->roundings = 5 * numbers->roundings + 1;  // its own, and those of what it is divided by, which may be a sum
  return {factor, constants_.computed(terms_[x].dtype, std::move(*numbers))};
}

// A convolution or a product with a constant weight, of which each channel is multiplied by a number: the weight is. Behind a Reshape too.
std::optional<Scaled> Arithmetic::with_scaled_weight(TermId of, TermId scale, DataType type) {
  const Term view = terms_[of];
  Term term = view.is("Reshape") ? terms_[view.arguments[0]] : view;
  const bool is_turned = term.is("ConvTranspose") && term.ints[0] == 1;  // [inputs, outputs, …]
  if ((!term.is("Conv") && !term.is("MatMul") && !is_turned) || !constants_.is_constant(term.arguments[1]))
    return std::nullopt;
  const auto dims = constant_dims(terms_[scale].shape), weight = constant_dims(terms_[term.arguments[1]].shape);
  if (!dims || !weight || !is_known(view.shape) || !is_known(term.shape)) return std::nullopt;
  // The one axis along which the numbers differ.
  const auto channel = std::ranges::find_if(*dims, [](int64_t d) { return d != 1; });
  if (channel == dims->end() || std::any_of(channel + 1, dims->end(), [](int64_t d) { return d != 1; }))
    return std::nullopt;
  const int64_t at = static_cast<int64_t>(view.shape->size()) - (dims->end() - channel);
  const auto axis = at < 0 ? std::nullopt : view.is("Reshape") ? views_.axis_before(of, at) : std::optional(at);
  const bool is_last = term.is("MatMul");
  const size_t wanted = is_last ? term.shape->size() - 1 : 1;
  if (!axis || static_cast<size_t>(*axis) != wanted || (is_last && weight->size() != 2)) return std::nullopt;
  const size_t outputs = is_last || is_turned ? 1 : 0;  // the axis of the weight
  if (*channel != (*weight)[outputs]) return std::nullopt;
  std::vector<int64_t> along(weight->size(), 1);
  along[outputs] = *channel;
  const TermId by_row = views_.reshape(scale, ops::Shape(along.begin(), along.end()));
  const std::array both{Power{term.arguments[1], 1}, Power{by_row, 1}};
  auto numbers = combined(both, 1);
  if (!numbers || numbers->dims != *weight) return std::nullopt;
  const Scaled parts = this->weight(constants_.computed(type, std::move(*numbers)));
  term.arguments[1] = parts.term;
  const TermId made = terms_.add(std::move(term));
  return Scaled{parts.factor, view.is("Reshape") ? views_.reshape(made, *view.shape) : made};
}

// A term times a sum of numbers and powers of the same term, multiplied out; nullopt of all else.
std::optional<std::vector<Scaled>> Arithmetic::polynomial(std::span<const Power> factors, double number) {
  if (factors.size() != 2 || number == 0) return std::nullopt;
  for (const size_t which : {0, 1}) {
    const Power &one = factors[which], &other = factors[1 - which];
    const Term of = terms_[other.term];
    if (one.exponent != 1 || other.exponent != 1 || of.kind != Term::Kind::kSum || of.arguments.size() > kMostAddends)
      continue;
    std::vector<Scaled> addends;
    for (size_t i = 0; i < of.arguments.size(); ++i) {
      const Term& power = terms_[of.arguments[i]];
      const bool is_power = power.kind == Term::Kind::kProduct && power.arguments.size() == 1 &&
                            power.arguments[0] == one.term && power.numbers[0] > 0 && is_integer(power.numbers[0]);
      if (!is_power && of.arguments[i] != one.term && !is_one(of.arguments[i])) break;
      if (!is_held(number * of.numbers[i])) break;
      const double exponent = is_power ? power.numbers[0] + 1 : is_one(of.arguments[i]) ? 1 : 2;
      addends.push_back({number * of.numbers[i], product({{one.term, exponent}}, terms_[one.term].dtype)});
    }
    if (addends.size() == of.arguments.size()) return addends;
  }
  return std::nullopt;
}

TermId Arithmetic::product(const std::vector<Power>& given, DataType type, double number) {
  std::vector<Power> flat;
  for (const Power& one : given) add_factor(one, number, flat, type);
  std::ranges::stable_sort(flat, is_before);
  std::vector<Power> factors, constants;
  for (const Power& one : flat) {
    std::vector<Power>& to = constants_.is_constant(one.term) ? constants : factors;
    const bool may_merge = !to.empty() && to.back().term == one.term && is_integer(one.exponent) &&
                           is_integer(to.back().exponent) &&
                           ((one.exponent > 0) == (to.back().exponent > 0) || is_size(one.term));
    if (may_merge) {
      to.back().exponent += one.exponent;
      if (to.back().exponent == 0) to.pop_back();
    } else {
      to.push_back(one);
    }
  }
  if (number == 0) {  // 0 times infinity is no 0
    factors.insert(factors.end(), constants.begin(), constants.end());
    constants.clear();
  }
  std::optional<TermId> tensor;
  const bool is_plain = constants.size() == 1 && constants[0].exponent == 1 && number == 1;
  if (is_plain) {
    tensor = constants[0].term;
  } else if (!constants.empty()) {
    if (auto numbers = combined(constants, number)) {
      number = 1;
      const TermId made = views_.unexpanded(constant(std::move(*numbers), type));
      const Scaled parts = split(made);
      if (is_one(parts.term)) {
        number = parts.factor;
      } else {
        tensor = made;
      }
    } else {
      factors.insert(factors.end(), constants.begin(), constants.end());
    }
  }
  if (tensor && factors.size() == 1 && factors[0].exponent == 1)
    if (const auto weighted = with_scaled_weight(factors[0].term, *tensor, type))
      return scaled({number * weighted->factor, weighted->term}, type);
  // Each addend of a sum is multiplied.
  if (tensor && factors.size() == 1 && factors[0].exponent == 1) {
    const Term sum_of = terms_[factors[0].term];
    if (sum_of.kind == Term::Kind::kSum && sum_of.arguments.size() <= kMostAddends) {
      std::vector<Scaled> addends;
      for (size_t i = 0; i < sum_of.arguments.size(); ++i)
        addends.push_back({number, product({{*tensor, 1}, {sum_of.arguments[i], 1}}, type, sum_of.numbers[i])});
      return sum(addends, type);
    }
  }
  if (!tensor)
    if (const auto addends = polynomial(factors, number)) return sum(*addends, type);
  if (tensor) factors.push_back({*tensor, 1});
  if (factors.empty()) return scaled({number, constants_.one(type)}, type);
  if (factors.size() == 1 && factors[0].exponent == 1) return scaled({number, factors[0].term}, type);
  std::ranges::stable_sort(factors, is_before);
  Term term = begin(Term::Kind::kProduct, type);
  for (const Power& one : factors) append(term, one.term, one.exponent);
  // The number is left where constants make none together, as what lies under a root of less than 0: it goes into none of them.
  return written({{number, terms_.add(std::move(term))}}, type);
}

}  // namespace thaw::proving
