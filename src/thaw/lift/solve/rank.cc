// What leaves room for chance, by what it takes to write it down as a term (term/enumerate.h).
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/solve/solve.h"

namespace thaw::lifting {

using dim::Dim;

const std::vector<int64_t>* Solver::values_of(Dim size) const {
  if (points_.empty()) {
    for (size_t k = 0; k < variables_.front().at.size(); ++k)
      points_.push_back(assignment_of(variables_, [&](size_t i) { return variables_[i].at[k]; }));
    for (const std::vector<int64_t>& sizes : unseen_)
      points_.push_back(assignment_of(variables_, [&](size_t i) { return sizes[i]; }));
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

// The sizes that a term may be of, at the traces' sizes and at the unseen ones.
std::vector<Atom> Solver::atoms_of(const Around& around) const {
  constexpr double kAxis = 1, kAround = 1.5, kVariable = 1.5, kBatch = 2.5, kTensor = 2.5, kValue = 0.5, kExtreme = 3;
  std::vector<Atom> atoms;
  const auto add = [&](Dim size, double bits, Atom::Cut cut) {
    if (!size.is_symbolic()) return;
    if (const std::vector<int64_t>* at = values_of(size)) atoms.push_back({size, *at, bits, cut});
  };
  for (const Variable& axis : around.axes) add(axis.symbol, kAxis, Atom::Cut::kOnce);
  for (const Variable& size : around.sizes) add(size.symbol, kAround, Atom::Cut::kOnce);
  for (const Variable& v : variables_) {
    const bool is_dim = v.kind == Variable::Kind::kDim;
    add(v.symbol, (v.is_batch ? kBatch : kVariable) + (is_dim ? 0 : kValue),
        is_dim ? Atom::Cut::kTwice : Atom::Cut::kOnce);
    if (v.is_batch || !v.varies()) continue;
    // The shorter and the longer of two sides of one input.
    for (const Variable& other : variables_) {
      if (&other <= &v || other.input != v.input || other.kind != v.kind || other.is_batch || !other.varies()) continue;
      for (const Dim extreme : {dim::min(v.symbol, other.symbol), dim::max(v.symbol, other.symbol)})
        add(extreme, kVariable + kExtreme, Atom::Cut::kOnce);
    }
  }
  if (tensors_)
    for (const auto& [at, size] : *tensors_)
      if (!guessed_lists_.contains(at)) add(size, kTensor, Atom::Cut::kNot);
  return atoms;
}

const std::vector<Term>& Solver::terms_of(std::span<const int64_t> wanted, const Around& around) const {
  constexpr size_t kMostTerms = 24;
  // Sides are cut alike.
  std::vector<int64_t> windows = around.windows;
  windows.insert(windows.end(), cuts_.begin(), cuts_.end());
  TermKey key{{wanted.begin(), wanted.end()}, windows, {}, around.places};
  for (const std::vector<Variable>* sizes : {&around.axes, &around.sizes})
    for (const Variable& size : *sizes) key.sizes.push_back(size.symbol.expr());
  const auto [known, is_new] = terms_.try_emplace(std::move(key));
  if (is_new)
    known->second = Terms(atoms_of(around), wanted.size(), forms_, windows, around.places).find(wanted, kMostTerms);
  return known->second;
}

std::vector<Solution> Solver::ranked(std::vector<Solution> found, std::span<const int64_t> wanted,
                                     const Around& around) const {
  if (found.empty()) return found;
  constexpr double kUnmeasured = 1000;
  const std::vector<Term>& terms = terms_of(wanted, around);
  std::vector<bool> is_found(terms.size());
  for (Solution& each : found) {
    each.bits = kUnmeasured;
    const std::vector<int64_t>* at = values_of(each.dim);
    for (size_t i = 0; at && i < terms.size(); ++i) {
      if (terms[i].at != *at) continue;
      if (!is_found[i]) each.bits = terms[i].bits;
      each.makeup = terms[i].makeup;
      is_found[i] = true;
    }
  }
  std::ranges::stable_sort(found, {}, &Solution::bits);
  const double written = bits_of_list(wanted);
  std::vector<Solution> all;
  for (size_t i = 0; i < terms.size(); ++i)
    if (!is_found[i]) all.push_back({terms[i].size, Rule::kTerm, terms[i].bits, terms[i].makeup});
  // What is no term is measured by none: others are as good only where they say far more than the integers.
  if (found.front().bits == kUnmeasured)
    found.front().bits = !terms.empty() && terms.front().bits + kSaved <= written ? terms.front().bits : 0;
  // What no rule gives comes first only where it does.
  const bool leads =
      !all.empty() && all.front().bits + kSaved <= written && all.front().bits + kLead <= found.front().bits;
  all.insert(all.begin() + (leads ? 1 : 0), found.front());
  all.insert(all.end(), found.begin() + 1, found.end());
  std::stable_sort(all.begin() + 1, all.end(), [](const Solution& a, const Solution& b) { return a.bits < b.bits; });
  // Which axis it is may be known later.
  const bool waits = !around.axes.empty() && !around.has_own_axes;
  if (sure_ && (waits || (all.size() > 1 && all[1].bits < all[0].bits + kLead))) all.clear();
  return all;
}

Dim Solver::enumerate(std::span<const int64_t> wanted, const Around& around, std::string& open) const {
  constexpr double kCheapest = 2;
  const double written = bits_of_list(wanted);
  const std::vector<int64_t> key(wanted.begin(), wanted.end());
  const auto choice = choices_ ? choices_->find(key) : Choices::const_iterator();
  const bool is_refused = choices_ && choice != choices_->end() && choice->second.index > 0;
  if (sure_ || is_refused || variables_.empty() || !ranks(wanted) || written < kCheapest + kSaved) return {};
  const std::vector<Term>& terms = terms_of(wanted, around);
  if (terms.empty()) return {};
  const bool leads = terms.size() == 1 || terms[1].bits - terms[0].bits >= kLead;
  if (leads && written - terms[0].bits >= kSaved) {
    take(key, {terms[0].size, Rule::kTerm, terms[0].bits}, around);
    return terms[0].size;
  }
  if (terms.size() == 1 || terms[0].bits > written) return {};
  for (size_t k = wanted.size(); k < terms[0].at.size(); ++k) {
    if (terms[0].at[k] == terms[1].at[k]) continue;
    open = fmt::format("it may be {} or {}, which a trace at {} tells", dim::to_string(terms[0].size),
                       dim::to_string(terms[1].size), text_of_sizes(variables_, unseen_[k - wanted.size()]));
    break;
  }
  return {};
}

namespace {

// Whether another side of the same input is computed as the one, or is rounded as it is, and what is known of that side says that it is
// not the other. rounded: of all that was taken.
bool is_told_by_other_side(Dim one, Dim other, std::span<const Variable> variables, const auto& values_in_traces,
                           const std::map<std::vector<int64_t>, Rule>& solved,
                           const std::unordered_set<const dim::Atom*>& rounded) {
  const std::vector<int> symbols = dim::symbols_of(one);
  if (symbols.size() != 1) return false;
  const auto id_of = [](const Variable& v) { return dim::scope_of(v.symbol)->symbol_id(v.symbol); };
  const auto own = std::ranges::find(variables, symbols.front(), id_of);
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
    if (((floors > 0 && known == floors) || solved.contains(at)) && values_in_traces(at_side(other)) != at) return true;
  }
  return false;
}

}  // namespace

std::vector<Solution> Solver::others(std::span<const int64_t> wanted, const Taken& taken) const {
  // In bits: what is rounded at no plain share of a piece takes so many more.
  constexpr double kOpen = 8;
  // What a table is counted by is no integer of the traces: of these, only what was ranked is open.
  const bool is_operand = !taken.around.only_windows && !taken.around.axes.empty();
  std::vector<Solution> others;
  const std::vector<int64_t>* at = ranks(wanted) && (is_operand || taken.bits > 0) ? values_of(taken.size) : nullptr;
  if (!at) return others;
  const std::vector<Term>& terms = terms_of(wanted, taken.around);
  const auto own = std::ranges::find_if(terms, [&](const Term& term) { return term.at == *at; });
  // What distances both ways are counted by is odd at every size, and as plain as the places are.
  const bool is_of_distances = distances_.contains({wanted.begin(), wanted.end()});
  const auto is_even = [](int64_t v) { return v % 2 == 0; };
  const double room = is_operand ? kOpen - (is_of_distances ? kBitsOfDistances : 0) : kLead,
               written = bits_of_list(wanted);
  const SharedRemainders none, &shared = is_operand ? shared_remainders() : none;
  const auto differs_there = [&](const Term& term) {
    return std::ranges::any_of(shared.points, [&](const dim::Assignment& point) {
      const auto own_value = dim::evaluate(taken.size, point), value = dim::evaluate(term.size, point);
      return own_value && value && *own_value != *value;
    });
  };
  const auto values_in_traces = [&](Dim size) {
    const std::vector<int64_t>* known = values_of(size);
    return known ? std::vector(known->begin(), known->begin() + std::ssize(wanted)) : std::vector<int64_t>();
  };
  for (const Term& term : terms) {
    const double more = term.bits - (own == terms.end() ? terms.front().bits : own->bits);
    if (more >= room + shared.bits) break;
    if (more >= room && differs_there(term)) continue;
    if (is_of_distances && std::ranges::any_of(term.at, is_even)) continue;
    const double saved = term.makeup == Makeup::kWithNumber ? kSavedWithNumber : kSaved;
    if (!is_operand && term.makeup != Makeup::kOfOne && written - term.bits < saved) continue;
    // Forms of several sizes are met by chance where they say no less than the integers.
    if (is_operand && term.makeup == Makeup::kOfSeveral && term.bits > written && dim::symbols_of(term.size).size() > 1)
      continue;
    if (term.at != *at &&
        !is_told_by_other_side(taken.size, term.size, variables_, values_in_traces, solved_, rounded_))
      others.push_back({term.size, Rule::kTerm, term.bits, term.makeup});
  }
  return others;
}

// Sizes that all leave the same remainder, as 224, 256 and 320 do by 32, say nothing of how parts of it are rounded: by as many more bits
// is what they leave open less plain. By 11 and 13 nobody cuts.
const SharedRemainders& Solver::shared_remainders() const {
  if (shared_remainders_) return *shared_remainders_;
  std::vector<int64_t> steps;
  for (const Variable& v : variables_) {
    const int64_t step = common_step(v.at);
    int64_t plain = 1;
    for (const int64_t factor : {2, 3, 5, 7})
      for (int64_t left = step; left > 0 && left % factor == 0; left /= factor) plain *= factor;
    steps.push_back(plain);
  }
  const int64_t most = std::ranges::max(steps);
  SharedRemainders& shared = shared_remainders_.emplace();
  shared.bits = std::log2(static_cast<double>(most));
  for (int64_t k = 1; k <= 12 && most > 1; ++k)
    shared.points.push_back(assignment_of(variables_, [&](size_t i) {
      return variables_[i].at.front() % steps[i] + steps[i] * (k + static_cast<int64_t>(i) % 5);
    }));
  return shared;
}

// Terms that are about as plain as what was taken, whichever rule finds them.
void Solver::add_terms(std::vector<Solution>& found, std::span<const int64_t> wanted, const Around& around) const {
  constexpr double kLeadOfTwo = 9;  // bits: two values say half of what four do
  if (unseen_.empty()) return;
  const Solution taken = found.front();
  const std::vector<int64_t>* at = values_of(taken.dim);
  const std::vector<Term>& terms = terms_of(wanted, around);
  const auto own = std::ranges::find_if(terms, [&](const Term& term) { return at && term.at == *at; });
  if (terms.empty()) return;
  const double bits = own == terms.end() ? terms.front().bits : own->bits;
  for (const Term& term : terms) {
    if (term.bits >= bits + kLeadOfTwo) break;
    const auto is_it = [&](const Solution& known) { return dim::same(known.dim, term.size); };
    const auto known = std::ranges::find_if(found, is_it);
    if (known == found.end())
      found.push_back({term.size, taken.rule});
    else
      known->rule = std::min(known->rule, taken.rule);
  }
}

}  // namespace thaw::lifting
