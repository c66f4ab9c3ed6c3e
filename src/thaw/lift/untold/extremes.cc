#include "thaw/lift/untold/extremes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "thaw/lift/solve/floors.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

using dim::Dim;

// Where one is the longer of both, or the shorter, in all traces: adds that it is.
void add_extreme(Domain& domain, Dim one, Dim other, std::span<const Variable> variables) {
  const std::vector<int64_t> at = in_traces(one, variables);
  if (at.empty() || at == in_traces(other, variables)) return;
  for (const Dim extreme : {dim::max(one, other), dim::min(one, other)})
    if (at == in_traces(extreme, variables)) add_undecided(domain, {one, extreme, ""});
}

}  // namespace

void add_extremes(Domain& domain, std::span<const NumberOfSizes> numbers_of_sizes,
                  std::span<const Variable> variables) {
  for (const NumberOfSizes& number : numbers_of_sizes) {
    for (const Variable& own : variables)
      for (const Variable& other : variables) {
        if (!are_sides(own, other)) continue;
        const std::unordered_map<int, Dim> turned{{id_of(own), other.symbol}, {id_of(other), own.symbol}};
        const auto is_turned = [&](const NumberOfSizes& each) {
          return each.form == number.form && std::ranges::equal(each.sizes, number.sizes, [&](Dim a, Dim b) {
                   return dim::same(a, dim::substitute(b, turned));
                 });
        };
        if (std::ranges::any_of(numbers_of_sizes, is_turned)) continue;
        for (const Dim size : number.sizes)
          if (dim::symbols_of(size) == std::vector<int>{id_of(own)})
            add_extreme(domain, size, dim::substitute(size, turned), variables);
      }
  }
}

void add_extremes(Domain& domain, std::span<const Dim> guessed, std::span<const Dim> known,
                  std::span<const Variable> variables) {
  std::unordered_set<const dim::Expr*> there;
  for (const Dim size : known)
    if (size.is_symbolic()) there.insert(size.expr());
  std::unordered_set<const dim::Atom*> rounded;
  for (const Dim size : known) for_each_floor(size, [&](const dim::Atom& floor) { rounded.insert(&floor); });
  const auto is_there = [&](Dim size) { return size.is_symbolic() && there.contains(size.expr()); };
  const auto is_guessed_of = [&](const Variable& v) {
    return std::ranges::any_of(
        guessed, [&](Dim size) { return is_there(size) && std::ranges::count(dim::symbols_of(size), id_of(v)) > 0; });
  };
  const auto is_rounded_so = [&](Dim size) {
    bool any = false, all = true;
    for_each_floor(size, [&](const dim::Atom& floor) {
      any = true;
      all = all && rounded.contains(&floor);
    });
    return any && all;
  };
  // What follows from a part of a side, as an overlap does, is no size that the other side may have instead.
  const auto is_part = [](Dim size) {
    if (size.expr()->terms.size() != 1) return false;
    const dim::Atom* atom = dim::single_atom(*size.expr()->terms.front().monomial);
    return atom && atom->kind == dim::AtomKind::kFloor && size.expr()->terms.front().coef > 0;
  };
  for (const Dim size : guessed) {
    const std::vector<int> symbols = is_there(size) && is_part(size) ? dim::symbols_of(size) : std::vector<int>();
    for (const Variable& own : variables) {
      if (symbols != std::vector<int>{id_of(own)}) continue;
      for (const Variable& other : variables) {
        if (!are_sides(own, other) || is_guessed_of(other)) continue;
        const Dim turned = dim::substitute(size, std::unordered_map<int, Dim>{{id_of(own), other.symbol}});
        if (turned.is_symbolic() && !is_there(turned) && !is_rounded_so(turned))
          add_extreme(domain, size, turned, variables);
      }
    }
  }
}

}  // namespace thaw::lifting
