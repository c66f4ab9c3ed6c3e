#include "thaw/lift/domain.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/expr/expr.h"
#include "thaw/dim/text/text.h"
#include "thaw/lift/contradictions.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/steady_sizes.h"
#include "thaw/lift/table/table_sizes.h"
#include "thaw/lift/unseen_sizes.h"

namespace thaw::lifting {
namespace {

using dim::Dim;
using Floors = std::set<const dim::Atom*, ByMaking>;

int64_t remainder_of(int64_t value, int64_t modulus) { return ((value % modulus) + modulus) % modulus; }

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

std::vector<EqualSides> equal_sides(const std::vector<Trace>& traces, std::span<const Variable> variables) {
  std::vector<EqualSides> equal;
  for (const ir::Value* input : traces.front().model->graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    const std::vector<Dim> dims = input_dims(*input, traces, variables);
    const std::vector<ir::DeclaredDim>& declared = *input->type.shape;
    for (size_t other = 0; other < dims.size(); ++other) {
      if (!dims[other].is_symbolic() || !declared[other].value) continue;  // a name says that they are the same
      for (size_t axis = 0; axis < other; ++axis)
        if (declared[axis].value && dim::same(dims[axis], dims[other])) {
          equal.push_back({input, axis, other, dims[axis]});
          break;
        }
    }
  }
  return equal;
}

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

void add_periods(Domain& domain, std::span<const std::pair<Dim, int64_t>> repeated,
                 std::span<const Variable> variables) {
  for (const auto& [size, period] : repeated) {
    const std::vector<int64_t> at = in_traces(size, variables);
    if (at.size() != 2 || common_step(at) % period != 0 || dim::mod(size, period).is_constant()) continue;
    add_congruence(domain, size, period, at.front());
  }
}

void add_undecided(Domain& domain, Undecided undecided) {
  const auto is_it = [&](const Undecided& known) {
    return dim::same(known.chosen, undecided.chosen) && dim::same(known.other, undecided.other);
  };
  if (std::ranges::none_of(domain.undecided, is_it)) domain.undecided.push_back(std::move(undecided));
}

namespace {

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
  const Floors rounded = floors_of(known);
  const auto is_there = [&](Dim size) { return size.is_symbolic() && there.contains(size.expr()); };
  const auto is_guessed_of = [&](const Variable& v) {
    return std::ranges::any_of(
        guessed, [&](Dim size) { return is_there(size) && std::ranges::count(dim::symbols_of(size), id_of(v)) > 0; });
  };
  const auto is_rounded_so = [&](Dim size) {
    const Floors own = floors_of({&size, 1});
    return !own.empty() && std::ranges::all_of(own, [&](const dim::Atom* floor) { return rounded.contains(floor); });
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

void widen_to_common_divisors(Domain& domain, const ToldRoundings& told, std::span<const Variable> variables) {
  const Domain rounded = Roundings(variables, told.floors, {}).depended_on(told.floors);
  for (const Variable* v : axes_of_their_own(variables)) {
    const std::vector<int> own{id_of(*v)};
    const auto is_of_it = [&](const Congruence& c) { return dim::symbols_of(c.size) == own; };
    if (std::ranges::any_of(domain.congruences, is_of_it) || std::ranges::any_of(rounded.congruences, is_of_it))
      add_congruence(domain, v->symbol, common_divisor(v->at), v->at.front());
  }
}

void add_contradicted(Domain& domain, const ir::Model& lifted, std::span<const Variable> variables,
                      const std::vector<std::vector<int64_t>>& broken_at) {
  for (size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = variables[i];
    const int64_t unit = common_divisor(v.at);
    if (!v.varies() || v.kind == Variable::Kind::kMarked || unit < 2) continue;
    const auto known =
        std::ranges::find_if(domain.congruences, [&](const Congruence& c) { return dim::same(c.size, v.symbol); });
    const int64_t first = known == domain.congruences.end() ? 1 : known->modulus;
    if (first % unit == 0) continue;
    for (int64_t modulus = first; modulus <= unit; ++modulus) {
      if (unit % modulus != 0 || modulus % first != 0) continue;
      auto sizes = sizes_between(variables, i, modulus);
      if (sizes.empty()) break;
      std::ranges::copy_if(broken_at, std::back_inserter(sizes),
                           [&](const std::vector<int64_t>& each) { return each[i] % modulus == 0; });
      if (!runs_at(lifted, variables, sizes)) continue;
      add_congruence(domain, v.symbol, modulus, v.at.front());
      break;
    }
  }
}

void add_equal_sides(Domain& domain, std::span<const EqualSides> equal, std::span<const Dim> of) {
  std::vector<Dim> sizes(of.begin(), of.end());
  for (const Congruence& c : domain.congruences) sizes.push_back(c.size);
  for (const auto& [size, divisor] : domain.multiples) sizes.insert(sizes.end(), {size, divisor});
  for (const Limit& limit : domain.limits) sizes.insert(sizes.end(), {limit.size, limit.most});
  for (const Undecided& each : domain.undecided) sizes.insert(sizes.end(), {each.chosen, each.other});
  for (const auto& [size, other] : domain.followed) sizes.insert(sizes.end(), {size, other});
  for (const EqualSides& sides : equal) {
    const auto is_it = [&](const EqualSides& known) {
      return known.input == sides.input && known.axis == sides.axis && known.other == sides.other;
    };
    const int id = dim::scope_of(sides.symbol)->symbol_id(sides.symbol);
    const auto reads = [&](Dim size) {
      return size.is_symbolic() && std::ranges::count(dim::symbols_of(size), id) > 0;
    };
    if (std::ranges::none_of(domain.squares, is_it) && std::ranges::any_of(sizes, reads))
      domain.squares.push_back(sides);
  }
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
