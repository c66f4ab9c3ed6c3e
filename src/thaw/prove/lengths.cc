// Vectors that are divided by their length, and what limits the length from below.
//
// LpNormalization leaves a vector of zeros as it is. Exporters write that by a limit of 10^-6 and less, below which no length is
// taken: 0 over the limit is 0.
#include <algorithm>
#include <array>
#include <cmath>

#include "thaw/prove/laws.h"

namespace thaw::proving {

namespace {

constexpr double kMostLimit = 1e-6;

// What is added up, wherever it stands.
const Term& added_up(const Terms& terms, TermId x) {
  while (terms[x].is("ReduceSum") || terms[x].is("Reshape") || terms[x].is("Transpose")) x = terms[x].arguments[0];
  return terms[x];
}

// Whether no element can be less than 0: squares, and sums of squares or absolute values.
bool is_sum_of_sizes(const Algebra& algebra, TermId x) {
  const Term& term = added_up(algebra.terms, x);
  if (term.is("node Abs")) return true;
  if (term.kind != Term::Kind::kProduct) return false;
  for (size_t i = 0; i < term.arguments.size(); ++i) {
    if (std::fmod(term.numbers[i], 2) == 0) continue;
    const auto numbers = algebra.constants.numbers(term.arguments[i]);  // squares of numbers
    if (!numbers || !std::ranges::all_of(numbers->values, [](double value) { return value >= 0; })) return false;
  }
  return true;
}

}  // namespace

// The larger of a length and a small number above 0, or of their squares. One that differs from that which another length had in its place
// is the same but for vectors shorter than both.
std::optional<TermId> Algebra::limited_length(TermId length, double limit) {
  const Term& of = terms[length];
  const bool is_root = of.kind == Term::Kind::kProduct && of.arguments.size() == 1 && of.numbers[0] == 0.5;
  const TermId sum = is_root ? of.arguments[0] : length;
  if (!(limit > 0) || !is_sum_of_sizes(*this, sum)) return std::nullopt;
  // A sum of absolute values is a length itself, one of squares that of a length.
  const bool is_length = is_root || added_up(terms, sum).is("node Abs");
  const double most = is_length ? kMostLimit : kMostLimit * kMostLimit;
  if (limit > most * (1 + 1e-6)) return std::nullopt;
  const TermId limited = limited_sum(sum, is_root ? limit * limit : limit);
  return is_root ? arithmetic.power(limited, 0.5) : limited;
}

TermId Algebra::limited_sum(TermId sum, std::optional<double> limit) {
  const TermId made = terms.apply("Limited", {sum}, terms[sum].dtype, terms[sum].shape);
  const auto [known, is_new] = limits_.try_emplace(made, limit);
  return terms.assuming(!is_new && known->second != limit ? kLengthsCount : 0, made);
}

// x over the root of the sum of its squares, or over the sum of its absolute values.
std::optional<TermId> lp_normalization(Algebra& algebra, const NodeToRead& read) {
  const TermId x = read.operands[0];
  const Terms& terms = algebra.terms;
  const int64_t p = read.integer("p", 2);
  if (!is_real(terms[x].dtype) || !is_known(terms[x].shape) || (p != 1 && p != 2)) return std::nullopt;
  const auto rank = static_cast<int64_t>(terms[x].shape->size());
  int64_t axis = read.integer("axis", -1);
  if (axis < -rank || axis >= rank) return std::nullopt;
  if (axis < 0) axis += rank;
  const TermId sizes = p == 2 ? algebra.power(x, 2) : algebra.of_each("Abs", x);
  const std::array axes{axis};
  bool is_understood = true;
  const auto length =
      algebra.elementwise({algebra.reduce("ReduceSum", sizes, axes)}, [&](const std::vector<TermId>& o) {
        const Scaled parts = algebra.arithmetic.split(o[0]);
        is_understood = is_understood && parts.factor > 0 && is_sum_of_sizes(algebra, parts.term);
        if (!is_understood) return o[0];
        return algebra.arithmetic.times(parts.factor, algebra.limited_sum(parts.term, std::nullopt));
      });
  if (!length || !is_understood) return std::nullopt;
  const auto root = algebra.power(*length, p == 2 ? 0.5 : 1);
  return algebra.elementwise({x, root}, [&](const std::vector<TermId>& o) {
    return algebra.arithmetic.product({{o[0], 1}, {o[1], -1}}, terms[o[0]].dtype);
  });
}

}  // namespace thaw::proving
