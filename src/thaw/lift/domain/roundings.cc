#include "thaw/lift/domain/roundings.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "thaw/lift/solve/floors.h"
#include "thaw/lift/unseen/unseen_sizes.h"

namespace thaw::lifting {
namespace {

using dim::Dim;
using Floors = std::set<const dim::Atom*, ByMaking>;

void collect_floors(Dim size, Floors& out) {
  for_each_floor(size, [&](const dim::Atom& floor) { out.insert(&floor); });
}

Floors floors_of(std::span<const Dim> sizes) {
  Floors floors;
  for (const Dim size : sizes) collect_floors(size, floors);
  return floors;
}

class Roundings {
 public:
  // all: what is computed; told: what the graph itself rounds.
  Roundings(std::span<const Variable> variables, const Floors& all, const Floors& told)
      : variables_(variables), all_(all), told_(told) {}

  // What these floors depend on.
  Domain depended_on(const Floors& floors) const {
    Domain domain;
    for (const dim::Atom* floor : floors)
      if (!told_.contains(floor)) add(domain, floor->operands[0], floor->operands[1]);
    return domain;
  }

  // Of those that leave nothing over in any trace.
  Domain whole_by(const Floors& floors) const {
    Floors whole;
    for (const dim::Atom* floor : floors) {
      const auto divisor = floor->operands[1].constant();
      const std::vector<int64_t> above = in_traces(floor->operands[0], variables_);
      if (divisor && *divisor != 0 && !above.empty() && common_divisor(above) % *divisor == 0) whole.insert(floor);
    }
    return depended_on(whole);
  }

 private:
  void add(Domain& domain, Dim numerator, Dim denominator) const {
    const std::vector<int64_t> above = in_traces(numerator, variables_);
    if (above.empty()) return;
    const auto divisor = denominator.constant();
    if (!divisor) {
      const std::vector<int64_t> below = in_traces(denominator, variables_);
      bool is_whole = !below.empty();
      for (size_t k = 0; k < below.size() && is_whole; ++k) is_whole = below[k] != 0 && above[k] % below[k] == 0;
      if (is_whole) add_multiple(domain, numerator, denominator);
      return;
    }
    if (is_told(above, *divisor) || is_told_of_another(numerator, *divisor)) return;
    const auto held = std::ranges::find_if(variables_, [&](const Variable& v) { return holds(numerator, v); });
    if (held == variables_.end()) return;
    // Of one size its own remainder is plainer; what several make together may be whole where none of them is.
    const int64_t modulus = std::gcd(common_step(held->at), *divisor);
    if (held->varies() && modulus > 1 && dim::symbols_of(numerator).size() == 1)
      add_congruence(domain, held->symbol, modulus, held->at.front());
    else
      add_congruence(domain, numerator, *divisor, above.front());
  }

  // A part left over in one of them says how it is rounded; the same part in all of several says it of that part alone.
  static bool is_told(const std::vector<int64_t>& above, int64_t divisor) {
    return common_divisor(above) % divisor != 0 && (above.size() < 3 || common_step(above) % divisor != 0);
  }

  // Whether another size of the same input is computed alike, and the traces tell how that is rounded: height and width are cut
  // into the same windows.
  bool is_told_of_another(Dim numerator, int64_t divisor) const {
    for (const Variable& own : variables_) {
      if (!holds(numerator, own)) continue;
      for (const Variable& other : variables_) {
        if (&other == &own || other.input != own.input || other.kind != own.kind || !other.varies()) continue;
        const Dim alike = dim::substitute(numerator, std::unordered_map<int, Dim>{{id_of(own), other.symbol}});
        const std::vector<int64_t> above = in_traces(alike, variables_);
        if (above.empty() || !is_told(above, divisor)) continue;
        const Dim quotient = dim::floor_div(alike, divisor);
        const Floors floors = floors_of({&quotient, 1});
        if (!floors.empty() && std::ranges::all_of(floors, [&](const dim::Atom* f) { return all_.contains(f); }))
          return true;
      }
    }
    return false;
  }

  static bool holds(Dim size, const Variable& v) { return std::ranges::count(dim::symbols_of(size), id_of(v)) > 0; }

  static void add_multiple(Domain& domain, Dim size, Dim of) {
    const auto is_it = [&](const auto& known) { return dim::same(known.first, size) && dim::same(known.second, of); };
    if (std::ranges::none_of(domain.multiples, is_it)) domain.multiples.emplace_back(size, of);
  }

  std::span<const Variable> variables_;
  const Floors& all_;
  const Floors& told_;
};

// Those that differ, are no batch, and follow from no others.
std::vector<const Variable*> axes_of_their_own(std::span<const Variable> variables) {
  const std::vector<Dim> follows = followed_sizes(variables);
  std::vector<const Variable*> axes;
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = variables[i];
    if (v.kind == Variable::Kind::kDim && v.varies() && !v.is_batch && !follows[i].is_known()) axes.push_back(&v);
  }
  return axes;
}

}  // namespace

bool is_rounded_as(Dim size, std::span<const Dim> guessed, const ToldRoundings& told,
                   std::span<const Variable> variables) {
  Domain shared;
  add_roundings(shared, {&size, 1}, guessed, told, variables);
  return !shared.is_everything();
}

void ToldRoundings::add(Dim size) { collect_floors(size, floors); }

void add_roundings(Domain& domain, std::span<const Dim> sizes, std::span<const Dim> guessed, const ToldRoundings& told,
                   std::span<const Variable> variables) {
  const Floors in_sizes = floors_of(sizes), in_guesses = floors_of(guessed);
  Floors all = in_sizes;
  all.insert(in_guesses.begin(), in_guesses.end());
  all.insert(told.floors.begin(), told.floors.end());
  const Roundings roundings(variables, all, told.floors);
  const Domain needed = roundings.depended_on(in_sizes), open = roundings.depended_on(in_guesses);
  for (const Congruence& c : needed.congruences) {
    const bool is_open = std::ranges::any_of(open.congruences, [&](const Congruence& guess) {
      return dim::same(guess.size, c.size) && std::gcd(guess.modulus, c.modulus) > 1;
    });
    if (is_open) add_congruence(domain, c.size, c.modulus, c.remainder);
  }
  for (const auto& each : needed.multiples) {
    const auto is_it = [&](const auto& guess) {
      return dim::same(guess.first, each.first) && dim::same(guess.second, each.second);
    };
    if (std::ranges::any_of(open.multiples, is_it)) domain.multiples.push_back(each);
  }
}

void add_whole_divisions(Domain& domain, const ToldRoundings& told, std::span<const Variable> variables) {
  const Domain whole = Roundings(variables, told.floors, {}).whole_by(told.floors);
  for (const Congruence& c : whole.congruences) add_congruence(domain, c.size, c.modulus, c.remainder);
}

void add_rounded_numbers(Domain& domain, std::span<const NumberOfSizes> numbers_of_sizes,
                         std::span<const Variable> variables) {
  const std::vector<const Variable*> axes = axes_of_their_own(variables);
  // divisor: what divides a size made of the symbols; 0 for any.
  const auto add = [&](const std::vector<int>& symbols, int64_t divisor) {
    for (const Variable* v : axes) {
      const int64_t shared = common_divisor(v->at);
      const bool is_of_it = std::ranges::count(symbols, id_of(*v)) > 0;
      if (is_of_it && std::gcd(shared, divisor) > 1) add_congruence(domain, v->symbol, shared, v->at.front());
    }
  };
  for (const NumberOfSizes& number : numbers_of_sizes) {
    for (const Dim size : number.sizes) {
      if (number.is_scaled) add(dim::symbols_of(size), 0);
      for_each_floor(size, [&](const dim::Atom& floor) {
        if (const auto divisor = floor.operands[1].constant()) add(dim::symbols_of(floor.operands[0]), *divisor);
      });
    }
  }
}

void widen_to_common_divisors(Domain& domain, const ToldRoundings& told, std::span<const Variable> variables) {
  const Domain rounded = Roundings(variables, told.floors, {}).depended_on(told.floors);
  for (const Variable* v : axes_of_their_own(variables)) {
    const std::vector<int> own{id_of(*v)};
    const auto is_of_it = [&](const Congruence& c) { return dim::symbols_of(c.size) == own; };
    if (std::ranges::any_of(domain.congruences, is_of_it) || std::ranges::any_of(rounded.congruences, is_of_it))
      add_congruence(domain, v->symbol, common_divisor(v->at), v->at.front());
  }
}

}  // namespace thaw::lifting
