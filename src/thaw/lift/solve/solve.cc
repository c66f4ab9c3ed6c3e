#include "thaw/lift/solve/solve.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "thaw/dim/text/text.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/solve/propose.h"
#include "thaw/lift/solve/relations.h"
#include "thaw/lift/solve/tensor_lines.h"
#include "thaw/lift/solve/window_sizes.h"

namespace thaw::lifting {
namespace {

using dim::Dim;
using Values = std::vector<int64_t>;

bool is_constant(std::span<const int64_t> values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values.front(); });
}

// Collects what the rules find, each expression once, until there is enough.
class Search {
 public:
  Search(std::span<const int64_t> wanted, size_t most) : wanted_(wanted), most_(most) {}

  bool is_full() const { return found_.size() >= most_; }
  void add(std::optional<Dim> dim, Rule rule) {
    if (!dim || dim->is_unknown() || is_full()) return;
    const bool known =
        std::any_of(found_.begin(), found_.end(), [&](const Solution& s) { return dim::same(s.dim, *dim); });
    if (!known) found_.push_back({*dim, rule});
  }
  // What another search hands its finds to: whether that is enough.
  auto by(Rule rule) {
    return [this, rule](Dim dim) {
      add(dim, rule);
      return is_full();
    };
  }
  void each(const std::vector<Candidate>& candidates, Rule rule, auto solve) {
    for (size_t i = 0; i < candidates.size() && !is_full(); ++i) add(solve(candidates[i], wanted_), rule);
  }
  void pairs(const std::vector<Candidate>& candidates, Rule rule, auto solve) {
    for (const Candidate& a : candidates)
      for (const Candidate& b : candidates)
        if (&a != &b && !is_full()) add(solve(a, b, wanted_), rule);
  }
  std::vector<Solution> take() { return std::move(found_); }

 private:
  std::span<const int64_t> wanted_;
  size_t most_;
  std::vector<Solution> found_;
};

// A tensor's size a few times; or itself or twice that, and a few more or less: the distances between its positions.
void search_tensors(Search& search, const TensorSizes& tensors, std::span<const int64_t> wanted) {
  constexpr int64_t kMostMore = 2, kMostTimes = 64;
  for (const auto& [at, size] : tensors) {
    if (search.is_full() || is_constant(at)) continue;
    const int64_t times = at[0] == 0 ? 0 : wanted[0] / at[0];
    const auto is_it = [&](int64_t a, int64_t want) { return a * times == want; };
    if (times > 1 && times <= kMostTimes && matches({{size}, at}, wanted, is_it))
      search.add(size * Dim(times), Rule::kTensorLine);
  }
  for (const int64_t times : {1, 2}) {
    for (const auto& [at, size] : tensors) {
      if (search.is_full() || is_constant(at)) continue;
      const int64_t more = wanted[0] - times * at[0];
      bool fits = std::abs(more) <= kMostMore;
      for (size_t k = 0; k < wanted.size() && fits; ++k) fits = times * at[k] + more == wanted[k];
      if (fits) search.add(size * Dim(times) + Dim(more), Rule::kTensorLine);
    }
  }
  // What is left of a constant, or more than it: where the rows of a longer table begin and end.
  for (const auto& [at, size] : tensors) {
    if (search.is_full() || is_constant(at)) continue;
    search.add(remaining({{size}, at}, wanted), Rule::kTensorLine);
    search.add(shifted({{size}, at}, wanted), Rule::kTensorLine);
  }
}

// Distances both ways of as many places as a variable says, or a tensor has.
void search_distances(Search& search, std::span<const Variable> variables, const TensorSizes* tensors,
                      std::span<const int64_t> wanted) {
  Values places;
  for (const int64_t count : wanted) places.push_back((count + 1) / 2);
  for (const Variable& variable : variables)
    if (variable.at == places) search.add(variable.symbol * Dim(2) - Dim(1), Rule::kTensorLine);
  const auto known = tensors ? tensors->find(places) : TensorSizes::const_iterator();
  if (tensors && known != tensors->end()) search.add(known->second * Dim(2) - Dim(1), Rule::kTensorLine);
}

// The distances between the cells of a grid that inference knows the sides of.
void search_grids(Search& search, const TensorSizes& tensors, std::span<const int64_t> wanted) {
  constexpr size_t kMostSizes = 32;  // pairs of them are tried
  std::vector<Candidate> sides;
  for (const auto& [at, size] : tensors)
    if (!is_constant(at) && sides.size() < kMostSizes && at.front() < wanted.front()) sides.push_back({{size}, at});
  search.pairs(sides, Rule::kTwoLines, two_lines);
}

// Of two tensors' sizes, the product (positions beside positions) or the sum (where the next of several levels begins).
void search_both(Search& search, const TensorSizes& tensors, std::span<const int64_t> wanted, bool product) {
  Values rest(wanted.size());
  for (const auto& [at, size] : tensors) {
    if (search.is_full() || is_constant(at)) continue;
    bool whole = true;
    for (size_t k = 0; k < wanted.size() && whole; ++k) {
      whole = !product || (at[k] > 1 && wanted[k] % at[k] == 0);
      if (whole) rest[k] = product ? wanted[k] / at[k] : wanted[k] - at[k];
    }
    const auto other = whole ? tensors.find(rest) : tensors.end();
    if (other != tensors.end() && !is_constant(rest))
      search.add(product ? size * other->second : size + other->second, Rule::kTwoSizes);
  }
}

// Windows of any size of what stands around it.
void search_around(Search& search, const Around& around, std::span<const int64_t> wanted) {
  if (around.sizes.empty() || around.only_windows || search.is_full()) return;
  solve_windows(around.sizes, {}, wanted, search.by(Rule::kWindowsAround), {.largest_part = 1});
}

// The rules that leave room for chance.
void search_rules(Search& search, std::span<const Variable> variables, std::span<const Variable> all,
                  std::span<const int64_t> wanted) {
  if (search.is_full()) return;
  const std::vector<Candidate> bases = candidates_of(variables);
  search.each(bases, Rule::kSum, shifted);
  search.each(bases, Rule::kSum, remaining);
  search.each(bases, Rule::kLine, line);
  search.pairs(bases, Rule::kQuotient, quotient);
  if (search.is_full()) return;
  solve_windows(variables, all, wanted, search.by(Rule::kWindows));
  search.each(bases, Rule::kShare, share);
  for (const Candidate& product : products_of(bases))
    for (const Candidate& base : bases)
      if (!search.is_full()) search.add(scaled(times(product, base), wanted), Rule::kTriple);
  search.pairs(bases, Rule::kExtreme, extreme);
  search.each(bases, Rule::kRemainder, remainder);
  search.pairs(bases, Rule::kTwoLines, two_lines);
}

}  // namespace

// That measures as much in every trace; unknown where none does, or what measures it may follow from how this was solved before.
Dim Solver::size_of_tensor(std::span<const int64_t> wanted) const {
  const std::vector<int64_t> at(wanted.begin(), wanted.end());
  if (!tensors_ || guessed_lists_.contains(at)) return {};
  const auto known = tensors_->find(at);
  return known == tensors_->end() ? Dim() : known->second;
}

std::vector<Solution> Solver::solutions(std::span<const int64_t> wanted, size_t most, const Around& around) const {
  Search search(wanted, most);
  if (is_constant(wanted)) search.add(Dim(wanted.front()), Rule::kConstant);
  if (search.is_full() || !are_sizes(wanted)) return search.take();
  // Also where a tensor is as long as the distances are, as long as all traces have an odd number of it.
  if (distances_.contains({wanted.begin(), wanted.end()})) search_distances(search, variables_, tensors_, wanted);
  const std::vector<Candidate> bases = candidates_of(variables_);
  search.each(bases, Rule::kVariable, itself);
  // What cuts nothing off in any trace cuts down to the size of something else.
  const Dim measured = size_of_tensor(wanted);
  const auto is_own = [&](const Variable& axis) { return dim::same(axis.symbol, measured); };
  if (around.cuts && std::ranges::none_of(around.axes, is_own)) search.add(measured, Rule::kTensor);
  // An axis of the node's own data is the same one, whatever else measures as much in every trace.
  for (const Variable& axis : around.axes)
    if (axis.varies() && std::ranges::equal(axis.at, wanted)) search.add(axis.symbol, Rule::kTensor);
  // What a tensor measures says how it is rounded; a part of a size that divides it in every trace does not.
  search.add(measured, Rule::kTensor);
  search.each(bases, Rule::kPart, scaled);
  if (!search.is_full()) search.each(products_of(bases), Rule::kPart, scaled);
  if (!around.sizes.empty() && !search.is_full()) {
    const std::vector<Candidate> sizes = candidates_of(around.sizes);
    search.each(sizes, Rule::kAround, scaled);
    if (!search.is_full()) search.each(products_of(sizes), Rule::kAround, scaled);
    // Windows that its readers cut; others leave room for chance.
    for (const int64_t window : around.windows)
      if (!search.is_full())
        solve_windows(around.sizes, {}, wanted, search.by(Rule::kAround), {.largest_part = 1, .only = window});
  }
  std::vector<Solution> found = search.take();
  if (found.size() >= most) return found;
  constexpr size_t kMostRanked = 4;
  const std::vector<Solution> guesses =
      ranks(wanted) ? ranked(guess(wanted, kMostRanked, around), wanted, around) : guess(wanted, most, around);
  for (const Solution& each : guesses) {
    const bool is_known = std::ranges::any_of(found, [&](const Solution& s) { return dim::same(s.dim, each.dim); });
    if (!is_known) found.push_back(each);
  }
  return found;
}

std::vector<Solution> Solver::guess(std::span<const int64_t> wanted, size_t most, const Around& around) const {
  Search search(wanted, most);
  if (!sure_) search_around(search, around, wanted);
  search.each(candidates_of(variables_), Rule::kSum, shifted);
  if (tensors_ && !search.is_full()) search_tensors(search, *tensors_, wanted);
  if (sure_) return search.take();
  // What is no multiple or part follows the batch last of all.
  std::vector<Variable> others;
  for (const Variable& v : variables_)
    if (!v.is_batch) others.push_back(v);
  if (others.size() < variables_.size()) search_rules(search, others, variables_, wanted);
  search_rules(search, variables_, variables_, wanted);
  if (!tensors_) return search.take();
  for (const bool product : {true, false}) search_both(search, *tensors_, wanted, product);
  if (!search.is_full()) search_grids(search, *tensors_, wanted);
  if (search.is_full()) return search.take();
  TensorSizes all = *tensors_;
  for (const Variable& v : variables_)
    if (v.varies()) all.emplace(v.at, v.symbol);
  solve_tensor_lines(all, wanted, search.by(Rule::kTensorLines));
  return search.take();
}

std::optional<std::vector<Dim>> Solver::solve_padding(const std::vector<std::vector<int64_t>>& wanted,
                                                      const Around& around) const {
  const size_t rank = around.axes.size();
  const bool by_axis = rank * 2 == wanted.size();
  const auto differ = [&](size_t first, size_t end) {
    return std::any_of(wanted.begin() + static_cast<std::ptrdiff_t>(first),
                       wanted.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const std::vector<int64_t>& at) { return !is_constant(at); });
  };
  const bool before = differ(0, wanted.size() / 2), after = differ(wanted.size() / 2, wanted.size());
  const auto each = [&](auto amount_of, bool alike) -> std::optional<std::vector<Dim>> {
    std::vector<Dim> found;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const std::vector<int64_t>& at = wanted[i];
      std::optional<Dim> amount;
      const Variable* axis = by_axis && around.axes[i % rank].symbol.is_known() ? &around.axes[i % rank] : nullptr;
      // Where windows are filled at one end of an axis, they are at that of others: sizes that lack as much everywhere hide it.
      const bool fills = i < rank ? around.fills_before || before : around.fills_after || after;
      const bool nothing = (before || i >= rank) && at.front() == 0;
      const bool hidden = alike && axis && axis->varies() && (fills || nothing);
      if (axis && (!is_constant(at) || hidden)) amount = amount_of(*axis, at);
      if (is_constant(at) && !amount) amount = Dim(at.front());
      for (size_t k = 0; k < around.sizes.size() && !amount; ++k) amount = amount_of(around.sizes[k], at);
      if (!amount || amount->is_unknown()) return std::nullopt;
      found.push_back(*amount);
    }
    return found;
  };
  const auto up_to_windows = [&](int64_t window, bool alike) {
    return each(
        [&](const Variable& size, const std::vector<int64_t>& at) -> std::optional<Dim> {
          for (size_t k = 0; k < at.size(); ++k)
            if (size.at[k] <= 0 || (size.at[k] + window - 1) / window * window - size.at[k] != at[k])
              return std::nullopt;
          return dim::ceil_div(size.symbol, window) * Dim(window) - size.symbol;
        },
        alike);
  };
  for (const int64_t window : around.windows)
    if (auto found = up_to_windows(window, true)) return found;
  const auto up_to_size = [&](const Variable& size, const std::vector<int64_t>& at) -> std::optional<Dim> {
    Values whole = size.at;
    for (size_t k = 0; k < at.size(); ++k) whole[k] += at[k];
    const auto own = std::ranges::find_if(variables_, [&](const Variable& v) { return v.at == whole; });
    if (own != variables_.end()) return own->symbol - size.symbol;
    if (!tensors_) return std::nullopt;
    const auto known = tensors_->find(whole);
    if (known == tensors_->end()) return std::nullopt;
    return known->second - size.symbol;
  };
  if (auto found = each(up_to_size, false)) return found;
  constexpr int64_t kLargestWindow = 64;
  for (int64_t window = 2; window <= kLargestWindow && !sure_; ++window)
    if (auto found = up_to_windows(window, false)) return found;
  return std::nullopt;
}

// Two values are met by chance; what else gives them is worth a look. A number that stays the same in both may be a size
// that does.
std::vector<Solution> Solver::open_solutions(std::span<const int64_t> wanted, size_t skipped,
                                             const Around& around) const {
  constexpr size_t kMostOthers = 8;
  if (!is_constant(wanted)) {
    std::vector<Solution> found = solutions(wanted, skipped + 1 + kMostOthers, around);
    if (found.empty()) return found;
    const auto varies = std::ranges::find_if(variables_, &Variable::varies);
    if (found.size() <= kMostOthers && chance_of(found.front().rule) >= kGuessed && varies != variables_.end()) {
      const Dim n = varies->symbol;
      found.push_back({found.front().dim + (n - Dim(varies->at[0])) * (n - Dim(varies->at[1])), Rule::kMadeUp});
    }
    add_terms(found, wanted, around);
    return found;
  }
  std::vector<Solution> found{{Dim(wanted.front()), Rule::kConstant}};
  if (!tensors_ || wanted.front() < 2) return solutions(wanted, skipped + 1, around);
  const auto known = tensors_->find({wanted.begin(), wanted.end()});
  if (known != tensors_->end()) found.push_back({known->second, Rule::kTensor});
  return found.size() > skipped ? found : solutions(wanted, skipped + 1, around);
}

std::optional<Dim> Solver::solve(std::span<const int64_t> wanted, const Around& around) const {
  if (wanted.size() == 1) {
    if (const auto decided = decided_.find(wanted.front()); decided != decided_.end()) return decided->second;
    std::vector<Point> points;
    for (const Variable& v : variables_) points.push_back({v.symbol, v.at});
    return propose(wanted.front(), points).front().dim;
  }
  const std::vector<int64_t> key(wanted.begin(), wanted.end());
  const auto choice = choices_ ? choices_->find(key) : Choices::const_iterator();
  const bool is_chosen = choices_ && choice != choices_->end();
  if (is_chosen && !choice->second.taken.empty()) {
    const auto size = dim::try_parse(choice->second.taken, *dim::scope_of(variables_.front().symbol));
    // An axis of one node's data says nothing elsewhere.
    if (size && is_known(*size, around)) {
      take(key, {*size, Rule::kTerm}, around);
      return size;
    }
  }
  const size_t skipped = is_chosen ? choice->second.index : 0;
  const bool is_open = choices_ && !sure_ && wanted.size() == 2;
  std::vector<Solution> found =
      is_open ? open_solutions(wanted, skipped, around) : solutions(wanted, skipped + 1, around);
  if (found.size() <= skipped) return std::nullopt;
  const Solution taken = found[skipped];
  const bool leads = taken.bits > 0 && (found.size() == skipped + 1 || found[skipped + 1].bits >= taken.bits + kLead);
  if (leads)
    for_each_floor(taken.dim, [&](const dim::Atom& floor) {
      if (const auto divisor = floor.operands[1].constant()) told_cuts_.insert(*divisor);
    });
  take(key, taken, around);
  if (is_open) open_.insert_or_assign(key, Solved{std::move(found), skipped});
  return taken.dim;
}

bool Solver::is_known(Dim size, const Around& around) const {
  return std::ranges::all_of(dim::symbols_of(size), [&](int symbol) {
    const auto is_it = [&](const Variable& v) {
      const dim::Scope* scope = dim::scope_of(v.symbol);
      return scope && scope->symbol_id(v.symbol) == symbol;
    };
    return std::ranges::any_of(variables_, is_it) || std::ranges::any_of(around.axes, is_it) ||
           std::ranges::any_of(around.sizes, is_it);
  });
}

void Solver::take(const std::vector<int64_t>& wanted, const Solution& taken, const Around& around) const {
  if (!choices_) return;
  for_each_floor(taken.dim, [&](const dim::Atom& floor) { rounded_.insert(&floor); });
  if (taken.rule > Rule::kAround) guessed_lists_.insert(wanted);
  if (!sure_) solved_.emplace(wanted, taken.rule);
  const auto is_it = [&](Dim known) { return dim::same(known, taken.dim); };
  const bool is_guess = guesses_rounding(taken.rule) || std::ranges::any_of(follow_guesses_, is_it);
  if (is_guess && std::ranges::none_of(guessed_, is_it)) guessed_.push_back(taken.dim);
  // A shape that holds as many elements as its data leaves none open.
  if (!sure_ && !around.elements.is_symbolic())
    taken_.insert_or_assign(wanted, Taken{taken.dim, taken.rule, taken.bits, around});
}

std::optional<Dim> Solver::solve_surely(std::span<const int64_t> wanted) {
  const bool before = std::exchange(sure_, true);
  auto found = solve(wanted);
  sure_ = before;
  return found;
}

}  // namespace thaw::lifting
