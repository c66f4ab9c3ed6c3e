// Masks of scores by what they hide.
//
// A score below all others by so much that its weight is 0 is hidden, whether the number is added to it or stands in its place. Rows
// that are hidden as a whole tell finite numbers, which leave all weights alike, from minus infinity, which leaves NaN.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "thaw/ir/data/floats.h"
#include "thaw/prove/laws.h"

namespace thaw::proving {

namespace {

constexpr double kHides = -1e20;  // or less: a score that is added to it is lost to rounding

enum class Hides : uint8_t { kNothing, kByFinite, kByInfinite };

// What a number does that is the same for all elements.
Hides hides(const Algebra& algebra, TermId number) {
  if (const auto value = algebra.arithmetic.number_of(number))
    return *value <= kHides ? Hides::kByFinite : Hides::kNothing;
  const Terms& terms = algebra.terms;
  while (terms[number].is("Expand") || terms[number].is("Reshape")) number = terms[number].arguments[0];
  const Term& term = terms[number];
  if (term.kind != Term::Kind::kConstant || !term.tensor || term.tensor->num_elements() != 1) return Hides::kNothing;
  const double value = term.tensor->to_double().front();
  return std::isinf(value) && value < 0 ? Hides::kByInfinite : Hides::kNothing;
}

// What is hidden of which scores; kNoTerm: of none, the mask alone.
struct Mask {
  Hides how = Hides::kNothing;
  bool where_false = false;
  TermId condition = kNoTerm, scores = kNoTerm;
};

Mask chosen(const Algebra& algebra, TermId x) {
  const Term& where = algebra.terms[x];
  if (!where.is("node Where") || where.arguments.size() != 3) return {};
  for (const bool where_false : {false, true}) {
    const TermId number = where.arguments[where_false ? 2 : 1], other = where.arguments[where_false ? 1 : 2];
    const Hides how = hides(algebra, number);
    if (how != Hides::kNothing && hides(algebra, other) == Hides::kNothing)
      return {how, where_false, where.arguments[0], other};
  }
  return {};
}

// Where a mask that is added hides, behind its views; nullopt where it is none, or adds other numbers too.
std::optional<TermId> condition_of(Algebra& algebra, TermId mask, Hides& how) {
  bool is_mask = true;
  const auto made = algebra.elementwise({mask}, [&](const std::vector<TermId>& o) {
    const Mask found = chosen(algebra, o[0]);
    is_mask = is_mask && found.how != Hides::kNothing && algebra.arithmetic.number_of(found.scores) == 0;
    if (!is_mask) return o[0];
    how = found.how;
    return found.where_false ? algebra.negation(found.condition) : found.condition;
  });
  return is_mask ? made : std::nullopt;
}

// Whether scores are masked already, as far as they are seen to be.
bool has_mask(const Algebra& algebra, TermId scores) {
  const Terms& terms = algebra.terms;
  while (terms[scores].is("Reshape") || terms[scores].is("Transpose") || terms[scores].is("Expand"))
    scores = terms[scores].arguments[0];
  const Term& of = terms[scores];
  if (of.is("Hide") || chosen(algebra, scores).how != Hides::kNothing) return true;
  return of.kind == Term::Kind::kSum &&
         std::ranges::any_of(of.arguments, [&](TermId one) { return has_mask(algebra, one); });
}

// Whether every row has a score that is left: that of the first key, or of the one where the query stands.
bool leaves_one(const Terms& terms, TermId condition) {
  // 0, 1, … along the last axis, or along the one before; how many, if so.
  const auto count_of = [&](TermId id, bool is_key) -> std::optional<dim::Dim> {
    const auto& shape = terms[id].shape;
    if (!is_known(shape) || shape->size() != (is_key ? 1 : 2) || (!is_key && !is_one(shape->back())))
      return std::nullopt;
    const Term& range = terms[terms[id].is("Reshape") ? terms[id].arguments[0] : id];
    if (!range.is("node Range")) return std::nullopt;
    const auto first = uniform(terms, range.arguments[0]), step = uniform(terms, range.arguments[2]);
    if (!first || !first->is_constant(0) || !step || !step->is_constant(1)) return std::nullopt;
    return shape->front();
  };
  const std::vector<TermId> all = terms[condition].is("Or") ? terms[condition].arguments : std::vector{condition};
  for (const TermId one : all) {
    if (!terms[one].is("AtMostZero")) return false;
    const Term& sum = terms[terms[one].arguments[0]];
    if (sum.kind != Term::Kind::kSum || sum.arguments.size() != 3) return false;
    std::optional<dim::Dim> keys, queries, apart;
    bool hides_later = false;
    for (size_t i = 0; i < 3; ++i) {
      const TermId argument = sum.arguments[i];
      if (const auto number = uniform(terms, argument)) {
        apart = *number * dim::Dim(static_cast<int64_t>(sum.numbers[i]));
      } else if (const auto key = count_of(argument, true); key && std::abs(sum.numbers[i]) == 1) {
        keys = key;
        hides_later = sum.numbers[i] < 0;
      } else if (const auto query = count_of(argument, false); query && std::abs(sum.numbers[i]) == 1) {
        queries = query;
      }
    }
    const bool fits = keys && queries && apart && apart->is_constant() && *apart->constant() >= 1 &&
                      std::ranges::count(sum.numbers, -1) == 1;
    if (!fits || (!(hides_later && all.size() == 1) && !dim::same(*keys, *queries))) return false;
  }
  return true;
}

std::optional<TermId> hide(Algebra& algebra, TermId condition, TermId scores, Hides how) {
  // Of a row that two masks of finite numbers hide, what both hide counts less than what one does.
  if (how == Hides::kByFinite && has_mask(algebra, scores)) return std::nullopt;
  return algebra.elementwise({condition, scores}, [&](const std::vector<TermId>& o) {
    const auto &of = algebra.terms[o[0]].shape, &by = algebra.terms[o[1]].shape;
    const TermId made = algebra.terms.apply("Hide", {o[0], o[1]}, algebra.terms[scores].dtype,
                                            of && by ? broadcast_shapes(*of, *by) : std::nullopt,
                                            leaves_one(algebra.terms, o[0]) ? "some"
                                            : how == Hides::kByInfinite     ? "infinite"
                                                                            : "finite");
    return algebra.terms.assuming(how == Hides::kByFinite ? kMasksHide : 0, made);
  });
}

}  // namespace

std::optional<TermId> hidden_where(Algebra& algebra, TermId condition, TermId scores) {
  return hide(algebra, condition, scores, Hides::kByInfinite);
}

std::optional<TermId> hidden(Algebra& algebra, TermId scores) {
  if (!is_real(algebra.terms[scores].dtype)) return std::nullopt;
  const Term of = algebra.terms[scores];
  if (const Mask found = chosen(algebra, scores); found.how != Hides::kNothing) {
    const TermId condition = found.where_false ? algebra.negation(found.condition) : found.condition;
    return hide(algebra, condition, found.scores, found.how);
  }
  if (of.kind != Term::Kind::kSum) return std::nullopt;
  std::vector<TermId> conditions;
  std::vector<Scaled> rest;
  Hides how = Hides::kNothing;
  for (size_t i = 0; i < of.arguments.size(); ++i) {
    Hides now = Hides::kNothing;
    const auto condition = of.numbers[i] == 1 ? condition_of(algebra, of.arguments[i], now) : std::nullopt;
    if (!condition) {
      rest.push_back({of.numbers[i], of.arguments[i]});
      continue;
    }
    if (!conditions.empty() && (now == Hides::kByFinite || how == Hides::kByFinite)) return std::nullopt;
    how = now;
    conditions.push_back(*condition);
  }
  if (conditions.empty() || rest.empty()) return std::nullopt;
  TermId condition = conditions[0];
  for (size_t i = 1; i < conditions.size(); ++i) {
    const auto both = algebra.elementwise({condition, conditions[i]},
                                          [&](const std::vector<TermId>& o) { return algebra.logical("Or", o); });
    if (!both) return std::nullopt;
    condition = *both;
  }
  return hide(algebra, condition, algebra.arithmetic.sum(rest, of.dtype), how);
}

}  // namespace thaw::proving
