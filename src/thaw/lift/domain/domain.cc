#include "thaw/lift/domain/domain.h"

#include <algorithm>
#include <numeric>

namespace thaw::lifting {
namespace {

using dim::Dim;

int64_t remainder_of(int64_t value, int64_t modulus) { return ((value % modulus) + modulus) % modulus; }

}  // namespace

void add_congruence(Domain& domain, Dim size, int64_t modulus, int64_t value) {
  if (modulus <= 1) return;
  for (Congruence& known : domain.congruences) {
    if (!dim::same(known.size, size)) continue;
    // Both hold in the traces, so that some remainder by both together is as each says.
    const int64_t wanted = remainder_of(value, modulus), both = std::lcm(known.modulus, modulus);
    int64_t remainder = known.remainder;
    while (remainder < both && remainder % modulus != wanted) remainder += known.modulus;
    known.modulus = both;
    known.remainder = remainder;
    return;
  }
  domain.congruences.push_back({size, modulus, remainder_of(value, modulus)});
}

void add_whole_sizes(Domain& domain, std::span<const WholeSize> sizes) {
  for (const auto& [size, divisor] : sizes)
    if (divisor > 1 && !dim::mod(size, divisor).is_constant(0)) add_congruence(domain, size, divisor, 0);
}

void add_limits(Domain& domain, std::span<const Limit> limits) {
  for (const Limit& limit : limits) {
    const bool is_known =
        limit.size.is_known() && limit.most.is_known() && (limit.size.is_symbolic() || limit.most.is_symbolic());
    const bool is_there = std::ranges::any_of(domain.limits, [&](const Limit& other) {
      return dim::same(other.size, limit.size) && dim::same(other.most, limit.most);
    });
    if (is_known && !is_there) domain.limits.push_back(limit);
  }
  // Two that bound each other are one.
  for (size_t i = 0; i < domain.limits.size(); ++i) {
    const Limit one = domain.limits[i];
    const auto is_other_way = [&](const Limit& other) {
      return dim::same(other.size, one.most) && dim::same(other.most, one.size);
    };
    if (!one.size.is_symbolic() || std::erase_if(domain.limits, is_other_way) == 0) continue;
    std::erase_if(domain.limits,
                  [&](const Limit& each) { return dim::same(each.size, one.size) && dim::same(each.most, one.most); });
    domain.undecided.push_back({one.size, one.most, ""});
    i = static_cast<size_t>(-1);
  }
}

void add_undecided(Domain& domain, Undecided undecided) {
  const auto is_it = [&](const Undecided& known) {
    return dim::same(known.chosen, undecided.chosen) && dim::same(known.other, undecided.other);
  };
  if (std::ranges::none_of(domain.undecided, is_it)) domain.undecided.push_back(std::move(undecided));
}

bool Domain::has(const dim::Assignment& at) const {
  const auto is_congruent = [&](const Congruence& c) {
    const auto value = dim::evaluate(c.size, at);
    return !value || remainder_of(*value, c.modulus) == c.remainder;
  };
  const auto is_multiple = [&](const std::pair<Dim, Dim>& pair) {
    const auto size = dim::evaluate(pair.first, at), of = dim::evaluate(pair.second, at);
    return !size || !of || *of == 0 || *size % *of == 0;
  };
  const auto is_within = [&](const Limit& limit) {
    const auto size = dim::evaluate(limit.size, at), most = dim::evaluate(limit.most, at);
    return !size || !most || *size <= *most;
  };
  const auto is_fixed = [&](const Variable* v) {
    const auto value = dim::evaluate(v->symbol, at);
    return !value || *value == v->at.front();
  };
  const auto are_equal = [&](Dim one, Dim other) {
    const auto a = dim::evaluate(one, at), b = dim::evaluate(other, at);
    return !a || !b || *a == *b;
  };
  const auto is_agreed = [&](const Undecided& u) { return are_equal(u.chosen, u.other); };
  const auto is_followed = [&](const std::pair<Dim, Dim>& pair) { return are_equal(pair.first, pair.second); };
  return std::ranges::all_of(congruences, is_congruent) && std::ranges::all_of(multiples, is_multiple) &&
         std::ranges::all_of(limits, is_within) && std::ranges::all_of(fixed, is_fixed) &&
         std::ranges::all_of(followed, is_followed) && std::ranges::all_of(undecided, is_agreed);
}

}  // namespace thaw::lifting
