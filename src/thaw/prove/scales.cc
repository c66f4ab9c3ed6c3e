// A number out of what it was multiplied into: weights of norms, addends of a sum, parts of a Concat.
//
// Which number that is follows from one weight: its first large element is 1 afterwards. Which weight, from what it is multiplied with,
// so that two models choose alike whose weights differ.
#include <algorithm>
#include <cmath>
#include <vector>

#include "thaw/prove/laws.h"

namespace thaw::proving {

namespace {

constexpr size_t kMostArguments = 16;

// What a term is computed of that is neither a number nor a weight, below views and arithmetic; sorted, the first few.
void add_cores(const Algebra& algebra, TermId x, int depth, std::vector<TermId>& cores) {
  const Term& term = algebra.terms[x];
  if (algebra.constants.is_constant(x) || term.is("One") || cores.size() > kMostArguments) return;
  const bool is_inner = term.kind == Term::Kind::kSum || term.kind == Term::Kind::kProduct || term.is("Reshape") ||
                        term.is("Transpose") || term.is("Expand") || term.is("Slice") || term.is("Concat");
  if (!is_inner || depth == 0) {
    cores.push_back(x);
    return;
  }
  for (const TermId argument : term.arguments) add_cores(algebra, argument, depth - 1, cores);
}

std::vector<TermId> cores_of(const Algebra& algebra, TermId x) {
  constexpr int kMostDepth = 6;
  std::vector<TermId> cores;
  add_cores(algebra, x, kMostDepth, cores);
  std::ranges::sort(cores);
  return cores;
}

// The addend that says which number goes out: of what was made first. nullopt where all are numbers and constants.
std::optional<size_t> lead_of(const Algebra& algebra, const Term& sum) {
  std::optional<size_t> lead;
  std::vector<TermId> least;
  for (size_t i = 0; i < sum.arguments.size(); ++i) {
    std::vector<TermId> cores = cores_of(algebra, sum.arguments[i]);
    if (cores.empty() || sum.numbers[i] == 0 || (lead && !(cores < least))) continue;
    lead = i;
    least = std::move(cores);
  }
  return lead;
}

bool may_go_out(double factor) {
  return factor != 0 && factor != 1 && std::isfinite(factor) && std::isfinite(1 / factor);
}

}  // namespace

Scaled Algebra::without_scale(TermId x, size_t& left) {
  const Term term = terms[x];
  const Scaled unchanged{1, x};
  if (constants.is_constant(x)) return arithmetic.weight(x);
  if (!is_known(term.shape) || !is_real(term.dtype) || term.arguments.size() > left) return unchanged;
  left -= term.arguments.size();
  if (term.is("Reshape") || term.is("Transpose") || term.is("Expand")) {
    const Scaled inner = without_scale(term.arguments[0], left);
    if (!may_go_out(inner.factor) || !is_known(terms[inner.term].shape)) return unchanged;
    return {inner.factor, term.is("Transpose") ? views.transpose(inner.term, term.ints)
                          : term.is("Reshape") ? views.reshape(inner.term, *term.shape)
                                               : views.expand(inner.term, *term.shape)};
  }
  if (term.is("Concat")) {
    const auto parts = views.parts(x);
    if (!parts) return unchanged;
    double factor = 1;
    std::vector<TermId> all;
    for (const TermId part : term.arguments) {
      const Scaled one = without_scale(part, left);
      if (all.empty()) factor = one.factor;
      if (!may_go_out(factor) || !std::isfinite(one.factor / factor)) return unchanged;
      all.push_back(times(one.factor / factor, one.term));
    }
    if (!std::ranges::all_of(all, [&](TermId part) { return is_known(terms[part].shape); })) return unchanged;
    const TermId made = views.concat(all, parts->axis);
    return is_known(terms[made].shape) && is_same(*terms[made].shape, *term.shape) ? Scaled{factor, made} : unchanged;
  }
  if (term.kind != Term::Kind::kProduct && term.kind != Term::Kind::kSum) return unchanged;
  double factor = 1;
  Term scaled = term;
  if (term.kind == Term::Kind::kProduct) {
    for (size_t i = 0; i < term.arguments.size(); ++i) {
      if (term.numbers[i] != 1) continue;
      const Scaled one = without_scale(term.arguments[i], left);
      factor *= one.factor;
      scaled.arguments[i] = one.term;
    }
  } else {
    const auto lead = lead_of(*this, term);
    if (!lead) return unchanged;
    for (size_t i = 0; i < term.arguments.size(); ++i) {
      if (constants.is_constant(term.arguments[i])) continue;
      const Scaled one = without_scale(term.arguments[i], left);
      scaled.numbers[i] *= one.factor;
      scaled.arguments[i] = one.term;
    }
    factor = scaled.numbers[*lead];
    for (double& number : scaled.numbers) number /= factor;
  }
  if (!may_go_out(factor) || !std::ranges::all_of(scaled.numbers, [](double n) { return std::isfinite(n); }))
    return unchanged;
  // In the layout of what it is made of, as that of what was multiplied may be another.
  const auto made = elementwise(scaled.arguments, [&](const std::vector<TermId>& o) { return combined(scaled, o); });
  return made ? Scaled{factor, *made} : unchanged;
}

}  // namespace thaw::proving
