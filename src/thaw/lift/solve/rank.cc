// What leaves room for chance, by what it takes to write it down as a term (term/enumerate.h).
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/solve/solve.h"

namespace thaw::lifting {

using dim::Dim;

const std::vector<int64_t>* Solver::values_of(Dim size) const {
  if (points_.empty()) {
    points_ = assignments_in_traces(variables_);
    std::ranges::move(assignments_at(variables_, unseen_), std::back_inserter(points_));
  }
  const auto [known, is_new] = values_.try_emplace(size.expr());
  if (is_new) {
    std::vector<int64_t> at;
    for (const dim::Assignment& point : points_)
      if (const auto value = dim::evaluate(size, point)) at.push_back(*value);
    if (at.size() == points_.size()) known->second = std::move(at);
  }
  return known->second ? &*known->second : nullptr;
}

namespace {

template <typename See>
void for_each_atom(Dim size, const See& see) {
  if (!size.is_symbolic()) return;
  for (const dim::Term& term : size.expr()->terms)
    for (const dim::Factor& factor : term.monomial->factors) {
      for (const Dim operand : factor.atom->operands) for_each_atom(operand, see);
      see(*factor.atom);
    }
}

}  // namespace

// Whether inference learned it behind what was guessed for these integers: that is found again in it.
bool Solver::follows_guess(Dim size, std::span<const int64_t> wanted, const Around& around) const {
  const auto guesses = guesses_.find({wanted.begin(), wanted.end()});
  const auto learned = learned_.find(size.expr());
  if (guesses == guesses_.end() || learned == learned_.end()) return false;
  return std::ranges::any_of(guesses->second, [&](const Guess& guess) {
    if (learned->second < guess.num_learned) return false;
    bool has_part = false;
    for_each_atom(guess.size, [&](const dim::Atom& part) {
      if (part.kind != dim::AtomKind::kSymbol)
        for_each_atom(size, [&](const dim::Atom& atom) { has_part = has_part || &atom == &part; });
    });
    const auto is_made = [&](const Variable& axis) { return dim::same(axis.symbol + guess.size, size); };
    return has_part || std::ranges::any_of(around.axes, is_made);
  });
}

// The sizes that a term may be of, at the traces' sizes and at the unseen ones.
std::vector<Atom> Solver::atoms_of(std::span<const int64_t> wanted, const Around& around) const {
  constexpr double kAxis = 1, kAround = 1.5, kVariable = 1.5, kBatch = 2.5, kTensor = 2.5, kValue = 0.5, kExtreme = 3;
  std::vector<Atom> atoms;
  const auto add = [&](Dim size, double bits, Atom::Cut cut, Atom::Role role = Atom::Role::kOther) {
    if (!size.is_symbolic()) return;
    if (const std::vector<int64_t>* at = values_of(size)) atoms.push_back({size, *at, bits, cut, role});
  };
  for (const Variable& axis : around.axes) add(axis.symbol, kAxis, Atom::Cut::kOnce, Atom::Role::kAround);
  for (const Variable& size : around.sizes) add(size.symbol, kAround, Atom::Cut::kOnce, Atom::Role::kAround);
  for (const Variable& v : variables_) {
    const bool is_dim = v.kind == Variable::Kind::kDim;
    add(v.symbol, (v.is_batch ? kBatch : kVariable) + (is_dim ? 0 : kValue),
        is_dim ? Atom::Cut::kTwice : Atom::Cut::kOnce, v.is_batch ? Atom::Role::kBatch : Atom::Role::kOther);
    if (v.is_batch || !v.varies()) continue;
    // The shorter and the longer of two sides of one input.
    for (const Variable& other : variables_) {
      if (&other <= &v || other.input != v.input || other.kind != v.kind || other.is_batch || !other.varies()) continue;
      for (const Dim extreme : {dim::min(v.symbol, other.symbol), dim::max(v.symbol, other.symbol)})
        add(extreme, kVariable + kExtreme, Atom::Cut::kOnce);
    }
  }
  if (tensors_)
    for (const auto& [at, size] : *tensors_) {
      const bool is_itself = std::ranges::equal(at, wanted) && guesses_.contains(at);
      if (!is_itself && !follows_guess(size.dim, wanted, around)) add(size.dim, kTensor, Atom::Cut::kNot);
    }
  return atoms;
}

namespace {

// Whether one follows from the other as a multiple and a number more, as any two do of two traces: then both say the same of how a size is
// cut.
bool follows(std::span<const int64_t> one, std::span<const int64_t> other) {
  const auto differs = [&](int64_t v) { return v != one.front(); };
  const auto last = static_cast<size_t>(std::ranges::find_if(one, differs) - one.begin());
  if (last == one.size()) return true;
  for (size_t k = 0; k < one.size(); ++k)
    if ((one[k] - one[0]) * (other[last] - other[0]) != (other[k] - other[0]) * (one[last] - one[0])) return false;
  return true;
}

}  // namespace

std::vector<int64_t> Solver::cuts_for(std::span<const int64_t> wanted) const {
  std::vector<int64_t> cuts;
  for (const auto& [cut, told_by] : cuts_)
    if (std::ranges::any_of(
            told_by, [&](const auto& other) { return other.size() == wanted.size() && !follows(wanted, other); }))
      cuts.push_back(cut);
  return cuts;
}

const std::vector<Term>& Solver::terms_of(std::span<const int64_t> wanted, const Around& around) const {
  constexpr size_t kMostTerms = 24, kMostKept = 64;
  TermKey key{{wanted.begin(), wanted.end()}, {around.windows, cuts_for(wanted)}, {}, around.meaning};
  for (const std::vector<Variable>* sizes : {&around.axes, &around.sizes})
    for (const Variable& size : *sizes) key.sizes.push_back(size.symbol.expr());
  const auto [known, is_new] = terms_.try_emplace(std::move(key));
  if (!is_new) return known->second;
  std::vector<Atom> atoms = atoms_of(wanted, around);
  AtomsKey of{{}, known->first.cuts, around.meaning};
  for (const Atom& atom : atoms) of.atoms.emplace_back(atom.size.expr(), atom.bits);
  if (terms_over_.size() == kMostKept) terms_over_.clear();
  auto over = terms_over_.find(of);
  if (over == terms_over_.end()) {
    Terms made(std::move(atoms), wanted.size(), forms_, of.cuts, of.meaning);
    over = terms_over_.emplace(std::move(of), std::move(made)).first;
  }
  known->second = over->second.find(wanted, kMostTerms);
  return known->second;
}

// Whether every part in it is one of the inputs' sizes that is exact in all traces.
bool Solver::is_exact(Dim size, size_t num_traces) const {
  bool exact = true;
  for_each_floor(size, [&](const dim::Atom& floor) {
    const Dim whole = floor.operands[0];
    const std::vector<int64_t>* at = values_of(whole);
    const auto divisor = floor.operands[1].constant();
    exact = exact && at && divisor && num_summands(whole) == 1 &&
            std::ranges::all_of(std::span(*at).first(num_traces), [&](int64_t v) { return v % *divisor == 0; });
  });
  return exact;
}

Solution Solver::solution_of(const Term& term, size_t num_traces) const {
  const bool is_part = !term.rounds && (term.makeup == Makeup::kOfOne || term.makeup == Makeup::kOfFactors);
  const bool is_plain = is_part && is_exact(term.size, num_traces);
  const Rule rule = is_plain ? Rule::kPart : term.is_told ? Rule::kAround : term.rounds ? Rule::kTerm : Rule::kLine;
  return {term.size, rule, rule == Rule::kAround ? 0 : term.bits, term.makeup, term.over_rest};
}

namespace {

bool first_leads(const std::vector<Term>& terms) { return terms.size() == 1 || terms[1].bits >= terms[0].bits + kLead; }

// Of what no node asks for: whether it says little more than the integers, and another form about as much.
bool is_met_by_chance(const Term& term, const std::vector<Term>& terms, std::span<const int64_t> wanted,
                      const Around& around) {
  const bool is_asked = !around.is_number && !around.counts;
  const bool leads = &term == &terms.front() && first_leads(terms);
  return !is_asked && term.makeup == Makeup::kWithNumber && term.rounds && !term.is_told && !leads &&
         term.bits > bits_of_list(wanted) - kSaved;
}

// Whether the integers tell it from chance.
bool is_no_chance(const Term& term, const std::vector<Term>& terms, std::span<const int64_t> wanted,
                  const Around& around) {
  constexpr double kMostOverTheList = 4, kMostOverSmallerList = 3, kMostOverRest = 8;
  if (term.over_rest > kMostOverRest) return false;
  const double over = term.bits - bits_of_list(wanted);
  const bool is_operand = !around.only_windows && !around.axes.empty() && !around.is_number;
  const bool leads = &term == &terms.front() && first_leads(terms);
  switch (term.makeup) {
    case Makeup::kOfOne:
      return over <= (is_operand ? kMostOverTheList : kMostOverSmallerList);
    case Makeup::kOfFactors:
      if (around.counts && term.rounds) return over <= -kSaved;
      [[fallthrough]];
    case Makeup::kWithNumber:
      return over <= (is_operand ? kMostOverTheList : term.rounds ? -kSavedWithNumber : 0);
    case Makeup::kOfSeveral:
      return term.rounds ? over <= -kSaved && leads : over <= 0;
  }
  return false;
}

}  // namespace

void Solver::add_terms(std::vector<Solution>& found, size_t most, std::span<const int64_t> wanted,
                       const Around& around) const {
  // In bits. Two values say half of what four do.
  constexpr double kLeadOfTwo = 9;
  constexpr size_t kFewest = 4;  // so that it is seen which one leads
  const std::vector<Term>& terms = terms_of(wanted, around);
  if (terms.empty()) return;
  if (sure_ && !terms.front().is_told) {
    // Which axis it is may be known later.
    const bool waits = !around.axes.empty() && !around.has_own_axes;
    if (waits || terms.front().rounds || !first_leads(terms) || terms.front().bits + kSaved > bits_of_list(wanted))
      return;
  }
  const auto is_it = [&](const Term& term) {
    const std::vector<int64_t>* at = found.empty() ? nullptr : values_of(found.front().dim);
    return at && term.at == *at;
  };
  const auto own = std::ranges::find_if(terms, is_it);
  const double first = own == terms.end() ? terms.front().bits : own->bits;
  const bool are_two = wanted.size() == 2;
  const auto add = [&](const Solution& each) {
    if (found.size() >= std::max(most, kFewest)) return;
    const bool is_known = std::ranges::any_of(found, [&](const Solution& s) { return dim::same(s.dim, each.dim); });
    if (!is_known) found.push_back(each);
  };
  std::vector<Solution> solutions;
  for (const Term& term : terms) solutions.push_back(solution_of(term, wanted.size()));
  // What divides a size in every trace is a part of it, however many more that is than something else.
  for (const Solution& each : solutions)
    if (each.rule == Rule::kPart) add(each);
  for (size_t i = 0; i < terms.size() && found.empty(); ++i) {
    if (!is_no_chance(terms[i], terms, wanted, around)) continue;
    if (is_met_by_chance(terms[i], terms, wanted, around)) return;
    add(solutions[i]);
  }
  if (found.empty()) return;
  for (const Solution& each : solutions)
    if (!are_two || each.bits < first + kLeadOfTwo) add(each);
}

namespace {

// Whether another side of the same input is computed as the one, or is rounded as it is, and what is known of that side says that it is
// not the other. A side that is rounded alike and has the other too may be computed as that. rounded: of all that was taken.
bool is_told_by_other_side(Dim one, Dim other, std::span<const Variable> variables, const auto& values_in_traces,
                           const std::map<std::vector<int64_t>, Rule>& solved,
                           const std::unordered_set<const dim::Atom*>& rounded) {
  const std::vector<int> symbols = dim::symbols_of(one);
  if (symbols.size() != 1) return false;
  const auto own = std::ranges::find(variables, symbols.front(), &id_of);
  if (own == variables.end()) return false;
  for (const Variable& side : variables) {
    if (&side == &*own || side.input != own->input || side.kind != own->kind || !side.varies()) continue;
    const auto at_side = [&](Dim size) {
      return dim::substitute(size,
                             std::unordered_map<int, Dim>{{symbols.front(), side.symbol}, {id_of(side), own->symbol}});
    };
    const Dim alike = at_side(one);
    const std::vector<int64_t> at = values_in_traces(alike);
    size_t floors = 0, known = 0;
    for_each_floor(alike, [&](const dim::Atom& floor) {
      ++floors;
      if (rounded.contains(&floor)) ++known;
    });
    const std::vector<int64_t> of_other = values_in_traces(at_side(other));
    const bool is_rounded_alike = floors > 0 && known == floors && !solved.contains(of_other);
    if ((is_rounded_alike || solved.contains(at)) && of_other != at) return true;
  }
  return false;
}

// A size with a part of it rounded at another plain share that gives the same in all traces: down, at the half or up.
std::vector<Dim> rounded_at_other_shares(Dim size, const auto& values_in_traces) {
  std::vector<Dim> others;
  for (const dim::Term& term : size.expr()->terms) {
    const dim::Atom* floor = dim::single_atom(*term.monomial);
    if (!floor || floor->kind != dim::AtomKind::kFloor) continue;
    const auto divisor = floor->operands[1].constant();
    const Dim whole = floor->operands[0];
    if (!divisor || *divisor < 2 || !whole.is_symbolic()) continue;
    const Dim own = dim::floor_div(whole, *divisor), part = whole - Dim(dim::constant_of(whole));
    const std::vector<int64_t> own_at = values_in_traces(own);
    for (const int64_t share : {int64_t{0}, *divisor / 2, *divisor - 1}) {
      const Dim other = dim::floor_div(part + Dim(share), *divisor);
      if (!own_at.empty() && values_in_traces(other) == own_at && !dim::same(own, other))
        others.push_back(size + Dim(term.coef) * (other - own));
    }
  }
  return others;
}

// Whether one is the other, or one or two more or less, at each point.
bool is_rounded_otherwise(std::span<const int64_t> one, std::span<const int64_t> other) {
  return std::ranges::equal(one, other, [](int64_t a, int64_t b) { return a - b <= 2 && b - a <= 2; });
}

}  // namespace

// Of what a table is counted by: what else measures as much in every trace, of other inputs' sides. Its own axes are nearest; how a side is
// rounded is asked of terms.
std::vector<Solution> Solver::other_sizes(std::span<const int64_t> wanted, const Taken& taken) const {
  std::vector<Solution> others;
  const auto is_it = [&](const Variable& axis) { return dim::same(axis.symbol, taken.size); };
  if (!taken.around.counts || std::ranges::any_of(taken.around.sizes, is_it)) return others;
  for (const Dim size : sizes_as_large(wanted))
    if (dim::symbols_of(size) != dim::symbols_of(taken.size)) others.push_back({size, Rule::kTensor});
  return others;
}

std::vector<Solution> Solver::others(std::span<const int64_t> wanted, const Taken& taken) const {
  // In bits: what is rounded at no plain share of a piece takes so many more. A side of an input is mostly itself, though it may be twice a
  // half that is rounded.
  constexpr double kOpen = 8, kOpenOfTables = 5, kOpenOfSides = 4;
  // Where the entries of a table change is an integer of the traces; what it is counted by is none.
  const bool is_end = taken.around.ends && taken.rule == Rule::kTerm;
  const bool is_operand = is_end || (!taken.around.only_windows && !taken.around.axes.empty());
  std::vector<Solution> others = other_sizes(wanted, taken);
  const bool is_asked = is_operand || taken.bits > 0 || taken.rule == Rule::kTensor;
  const std::vector<int64_t>* at = ranks(wanted) && is_asked ? values_of(taken.size) : nullptr;
  if (!at) return others;
  const std::vector<Term>& terms = terms_of(wanted, taken.around);
  const auto own = std::ranges::find_if(terms, [&](const Term& term) { return term.at == *at; });
  // What distances both ways are counted by is odd at every size, and as plain as the places are.
  const bool is_of_distances = distances_.contains({wanted.begin(), wanted.end()});
  const auto is_even = [](int64_t v) { return v % 2 == 0; };
  // A tensor of a table's length says how it is rounded, unless all traces are whole.
  const bool is_measured = !is_operand && taken.rule == Rule::kTensor;
  const double of_integer = taken.rule == Rule::kVariable ? kOpenOfSides : kOpen;
  const double room = is_measured
                          ? 0
                          : (is_operand ? of_integer : kOpenOfTables) - (is_of_distances ? kBitsOfDistances : 0),
               written = bits_of_list(wanted);
  // A table as long as a side, or a number more, is mostly just that. And that all traces are multiples of 12 may be chance, as of patches.
  constexpr double kBitsOfChosenSizes = 4;
  bool is_of_cells = false;
  for_each_floor(taken.size, [&](const dim::Atom&) { is_of_cells = true; });
  is_of_cells = is_of_cells && shared_remainders().bits >= kBitsOfChosenSizes;
  const SharedRemainders none, &shared = is_operand || is_measured || is_of_cells ? shared_remainders() : none;
  const auto differs_there = [&](const Term& term) {
    return std::ranges::any_of(shared.sizes, [&](const std::vector<int64_t>& sizes) {
      const dim::Assignment point = assignment_at(variables_, sizes);
      const auto own_value = dim::evaluate(taken.size, point), value = dim::evaluate(term.size, point);
      return own_value && value && *own_value != *value;
    });
  };
  const auto values_in_traces = [&](Dim size) {
    const std::vector<int64_t>* known = values_of(size);
    return known ? std::vector(known->begin(), known->begin() + std::ssize(wanted)) : std::vector<int64_t>();
  };
  // Where it says little more than the integers, nothing but plainness says at which share it is rounded.
  const bool is_weak = is_operand && taken.rule == Rule::kTerm && taken.bits > written - kSaved;
  for (const Dim size : is_weak ? rounded_at_other_shares(taken.size, values_in_traces) : std::vector<Dim>()) {
    const std::vector<int64_t>* other_at = values_of(size);
    if (other_at && *other_at != *at &&
        !is_told_by_other_side(taken.size, size, variables_, values_in_traces, solved_, rounded_))
      others.push_back({size, Rule::kTerm, taken.bits + kLead, Makeup::kWithNumber});
  }
  for (const Term& term : terms) {
    const double more = term.bits - (own == terms.end() ? terms.front().bits : own->bits);
    if (more >= room + shared.bits) break;
    if (more >= room && differs_there(term)) continue;
    if (is_of_distances && std::ranges::any_of(term.at, is_even)) continue;
    // What is about as plain as what was taken, and made of no more, is no more by chance than that; nor is anything where the integers
    // themselves are plainer.
    const bool is_alike = own != terms.end() && more < kLead &&
                          (term.makeup <= std::max(own->makeup, Makeup::kWithNumber) || own->bits > written);
    // What a table is counted by is no integer of the traces: of these, only what is rounded otherwise is open, and what fills up longer
    // pieces, of which all traces have whole ones.
    if (!is_operand && !is_alike && !is_rounded_otherwise(term.at, *at) && (shared.bits == 0 || differs_there(term)))
      continue;
    // Forms of several sizes are met by chance where they say no less than the integers.
    if (!is_alike && term.makeup >= Makeup::kOfFactors && term.bits > written && dim::symbols_of(term.size).size() > 1)
      continue;
    if (term.at != *at &&
        !is_told_by_other_side(taken.size, term.size, variables_, values_in_traces, solved_, rounded_))
      others.push_back({term.size, Rule::kTerm, term.bits, term.makeup});
  }
  return others;
}

// Sizes that all leave the same remainder, as 224, 256 and 320 do by 32, say nothing of how parts of it are rounded: by as many more bits
// is what they leave open less plain. By 11 and 13 nobody cuts; and primes, which tell most, are all odd.
const SharedRemainders& Solver::shared_remainders() const {
  if (shared_remainders_) return *shared_remainders_;
  std::vector<int64_t> steps;
  for (const Variable& v : variables_) {
    const int64_t step = common_step(v.at);
    constexpr int64_t kLargestStep = int64_t{1} << 20;  // of sizes
    int64_t plain = 1;
    for (const int64_t factor : {2, 3, 5, 7})
      for (int64_t left = step; left > 0 && left % factor == 0 && plain <= kLargestStep; left /= factor)
        plain *= factor;
    steps.push_back(plain);
  }
  const int64_t most = std::ranges::max(steps);
  SharedRemainders& shared = shared_remainders_.emplace();
  shared.bits = most == 2 ? 0 : std::log2(static_cast<double>(most));
  if (most < 2) return shared;
  // The first ones, and some up to four times what the traces have.
  constexpr int64_t kFirst = 12, kMore = 36, kTimes = 4;
  int64_t last = kFirst;
  for (size_t i = 0; i < variables_.size(); ++i)
    last = std::max(last, kTimes * std::ranges::max(variables_[i].at) / steps[i]);
  for (int64_t n = 1; n <= kFirst + kMore; ++n) {
    const int64_t k = n <= kFirst ? n : kFirst + (last - kFirst) * (n - kFirst) / kMore;
    std::vector<int64_t>& sizes = shared.sizes.emplace_back();
    for (size_t i = 0; i < variables_.size(); ++i)
      sizes.push_back(variables_[i].at.front() % steps[i] + steps[i] * (k + static_cast<int64_t>(i) % 5));
  }
  return shared;
}

}  // namespace thaw::lifting
