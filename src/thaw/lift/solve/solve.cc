#include "thaw/lift/solve/solve.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "thaw/dim/text/text.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/solve/propose.h"
#include "thaw/lift/term/numbers.h"

namespace thaw::lifting {
namespace {

using dim::Dim;
using Values = std::vector<int64_t>;

// Whether none is too large for a size: the end of a Slice is INT64_MAX.
bool are_sizes(std::span<const int64_t> values) {
  constexpr int64_t kLargestSize = int64_t{1} << 30;
  return std::ranges::all_of(values, [](int64_t v) { return v >= -kLargestSize && v <= kLargestSize; });
}

// Distances both ways of as many places as a variable says, or a tensor has.
std::vector<Dim> distances_of(std::span<const Variable> variables, const TensorSizes* tensors,
                              std::span<const int64_t> wanted) {
  Values places;
  for (const int64_t count : wanted) places.push_back((count + 1) / 2);
  std::vector<Dim> found;
  for (const Variable& variable : variables)
    if (variable.at == places) found.push_back(variable.symbol * Dim(2) - Dim(1));
  const auto known = tensors ? tensors->find(places) : TensorSizes::const_iterator();
  if (tensors && known != tensors->end()) found.push_back(known->second.dim * Dim(2) - Dim(1));
  return found;
}

// Whether what stands around one integer says the same of another.
bool is_as(const Around& one, const Around& other) {
  const auto are_same = [](std::span<const Variable> a, std::span<const Variable> b) {
    return std::ranges::equal(a, b, [](const Variable& x, const Variable& y) { return dim::same(x.symbol, y.symbol); });
  };
  return are_same(one.axes, other.axes) && are_same(one.sizes, other.sizes) && one.windows == other.windows &&
         one.only_windows == other.only_windows && one.meaning == other.meaning && one.is_number == other.is_number &&
         one.counts == other.counts && one.ends == other.ends;
}

}  // namespace

// That measures as much in every trace; unknown where none does, or what measures it may follow from how this was solved before.
Dim Solver::size_of_tensor(std::span<const int64_t> wanted) const {
  const std::vector<int64_t> at(wanted.begin(), wanted.end());
  if (!tensors_ || guesses_.contains(at)) return {};
  const auto known = tensors_->find(at);
  return known == tensors_->end() ? Dim() : known->second.dim;
}

// What measures as much in every trace, the plainest first.
std::vector<Dim> Solver::tensors_as_large(std::span<const int64_t> wanted) const {
  const auto known = tensors_ ? tensors_->find({wanted.begin(), wanted.end()}) : TensorSizes::const_iterator();
  if (!tensors_ || known == tensors_->end()) return {};
  std::vector<Dim> sizes = known->second.others;
  sizes.insert(sizes.begin(), known->second.dim);
  return sizes;
}

std::vector<Dim> Solver::sizes_as_large(std::span<const int64_t> wanted) const {
  std::vector<Dim> sizes = tensors_as_large(wanted);
  for (const Variable& v : variables_)
    if (v.varies() && std::ranges::equal(v.at, wanted)) sizes.push_back(v.symbol);
  return sizes;
}

std::vector<Solution> Solver::solutions(std::span<const int64_t> wanted, size_t most, const Around& around) const {
  std::vector<Solution> found;
  const auto add = [&](Dim size, Rule rule) {
    const auto is_it = [&](const Solution& known) { return dim::same(known.dim, size); };
    if (size.is_known() && found.size() < most && std::ranges::none_of(found, is_it)) found.push_back({size, rule});
  };
  if (all_equal(wanted)) add(Dim(wanted.front()), Rule::kConstant);
  if (found.size() >= most || !are_sizes(wanted)) return found;
  // Also where a tensor is as long as the distances are, as long as all traces have an odd number of it.
  if (distances_.contains({wanted.begin(), wanted.end()}))
    for (const Dim distances : distances_of(variables_, tensors_, wanted)) add(distances, Rule::kLine);
  for (const Variable& v : variables_)
    if (v.varies() && std::ranges::equal(v.at, wanted)) add(v.symbol, Rule::kVariable);
  // What cuts nothing off in any trace cuts down to the size of something else.
  const Dim measured = size_of_tensor(wanted);
  const auto is_own = [&](const Variable& axis) { return dim::same(axis.symbol, measured); };
  if (around.cuts && std::ranges::none_of(around.axes, is_own)) add(measured, Rule::kTensor);
  // An axis of the node's own data is the same one, whatever else measures as much in every trace.
  for (const Variable& axis : around.axes)
    if (axis.varies() && std::ranges::equal(axis.at, wanted)) add(axis.symbol, Rule::kTensor);
  // What a tensor measures says how it is rounded.
  if (measured.is_known())
    for (const Dim size : tensors_as_large(wanted)) add(size, Rule::kTensor);
  if (found.size() < most) add_terms(found, most, wanted, around);
  return found;
}

std::optional<std::vector<Dim>> Solver::solve_padding(const std::vector<std::vector<int64_t>>& wanted,
                                                      const Around& around) const {
  const size_t rank = around.axes.size();
  const bool by_axis = rank * 2 == wanted.size();
  const auto differ = [&](size_t first, size_t end) {
    return std::any_of(wanted.begin() + static_cast<std::ptrdiff_t>(first),
                       wanted.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const std::vector<int64_t>& at) { return !all_equal(at); });
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
      if (axis && (!all_equal(at) || hidden)) amount = amount_of(*axis, i);
      if (all_equal(at) && !amount) amount = Dim(at.front());
      for (size_t k = 0; k < around.sizes.size() && !amount; ++k) amount = amount_of(around.sizes[k], i);
      if (!amount || amount->is_unknown()) return std::nullopt;
      found.push_back(*amount);
    }
    return found;
  };
  const auto missing_to = [](int64_t size, int64_t window) { return (size + window - 1) / window * window - size; };
  // By how many more than whole windows miss an end that varies is filled, as a kernel that is longer than its stride takes.
  const auto more_at = [&](int64_t window, size_t begin, size_t end) -> int64_t {
    for (size_t i = begin; i < end && by_axis; ++i) {
      const Variable& axis = around.axes[i % rank];
      if (axis.symbol.is_known() && !all_equal(wanted[i]) && axis.at.front() > 0)
        return wanted[i].front() - missing_to(axis.at.front(), window);
    }
    return 0;
  };
  const auto up_to_windows = [&](int64_t window, bool alike, int64_t before_more = 0, int64_t after_more = 0) {
    return each(
        [&](const Variable& size, size_t i) -> std::optional<Dim> {
          const std::vector<int64_t>& at = wanted[i];
          const int64_t more = i < wanted.size() / 2 ? before_more : after_more;
          for (size_t k = 0; k < at.size(); ++k)
            if (size.at[k] <= 0 || missing_to(size.at[k], window) + more != at[k]) return std::nullopt;
          return dim::ceil_div(size.symbol, window) * Dim(window) - size.symbol + Dim(more);
        },
        alike);
  };
  for (const int64_t window : around.windows)
    if (auto found = up_to_windows(window, true)) return found;
  for (const int64_t window : around.windows) {
    if (!around.strides.contains(window) || wanted.empty() || !ranks(wanted.front())) continue;
    const int64_t before_more = more_at(window, 0, rank), after_more = more_at(window, rank, wanted.size());
    if (before_more < 0 || after_more < 0 || before_more + after_more == 0) continue;
    if (auto found = up_to_windows(window, true, before_more, after_more)) return found;
  }
  // What is missing to whole windows is halved between both ends of an axis, where the traces tell which of them gets the larger half. An axis
  // that misses nothing in any trace, and one of which an end is none, stays what it is.
  const auto halves = [&](int64_t window, bool more_before) -> std::optional<std::vector<Dim>> {
    std::vector<Dim> found(wanted.size());
    for (size_t axis = 0; by_axis && axis < rank; ++axis) {
      const Variable& size = around.axes[axis];
      const auto is_half = [&](size_t end) {
        const int64_t more = (end < rank) == more_before ? 1 : 0;
        for (size_t k = 0; k < size.at.size(); ++k)
          if (size.at[k] <= 0 || (missing_to(size.at[k], window) + more) / 2 != wanted[end][k]) return false;
        return size.symbol.is_known() && size.varies();
      };
      const auto is_whole = [&](int64_t at) { return missing_to(at, window) == 0; };
      if (is_half(axis) && is_half(axis + rank) && !std::ranges::all_of(size.at, is_whole)) {
        const Dim missing = dim::ceil_div(size.symbol, window) * Dim(window) - size.symbol;
        const Dim less = dim::floor_div(missing, 2), more = dim::ceil_div(missing, 2);
        found[axis] = more_before ? more : less;
        found[axis + rank] = more_before ? less : more;
      } else if (all_equal(wanted[axis]) && all_equal(wanted[axis + rank])) {
        found[axis] = Dim(wanted[axis].front());
        found[axis + rank] = Dim(wanted[axis + rank].front());
      } else {
        return std::nullopt;
      }
    }
    const auto is_amount = [](Dim amount) { return amount.is_symbolic(); };
    return std::ranges::any_of(found, is_amount) ? std::optional(std::move(found)) : std::nullopt;
  };
  for (const int64_t window : around.windows) {
    auto less_before = halves(window, false), more_before = halves(window, true);
    if (less_before.has_value() != more_before.has_value()) return less_before ? less_before : more_before;
  }
  const auto up_to_size = [&](const Variable& size, size_t i) -> std::optional<Dim> {
    const std::vector<int64_t>& at = wanted[i];
    Values whole = size.at;
    for (size_t k = 0; k < at.size(); ++k) whole[k] += at[k];
    const auto own = std::ranges::find_if(variables_, [&](const Variable& v) { return v.at == whole; });
    if (own != variables_.end()) return own->symbol - size.symbol;
    if (!tensors_) return std::nullopt;
    const auto known = tensors_->find(whole);
    // Where the amount was guessed, it is what makes that tensor as large.
    if (known == tensors_->end() || guessed_amounts_.contains(at)) return std::nullopt;
    return known->second.dim - size.symbol;
  };
  if (auto found = each(up_to_size, false)) return found;
  // Of three traces and more, windows that nothing tells are terms among others (term/enumerate.h).
  constexpr int64_t kLargestWindow = 64;
  const bool is_ranked = !wanted.empty() && ranks(wanted.front());
  // What measures as much in both traces is no chance, as one of so many windows is.
  const auto is_size = [&](const std::vector<int64_t>& at) {
    const auto is_it = [&](const Variable& v) { return v.at == at; };
    return !all_equal(at) && (size_of_tensor(at).is_known() || std::ranges::any_of(variables_, is_it));
  };
  const bool may_guess = !sure_ && !is_ranked && std::ranges::none_of(wanted, is_size);
  for (int64_t window = 2; window <= kLargestWindow && may_guess; ++window)
    if (auto found = up_to_windows(window, false)) return found;
  return std::nullopt;
}

// Two values are met by chance; what else gives them is worth a look. A number that stays the same in both may be a size
// that does.
std::vector<Solution> Solver::open_solutions(std::span<const int64_t> wanted, size_t skipped,
                                             const Around& around) const {
  constexpr size_t kMostOthers = 24, kEnough = 8;
  if (!all_equal(wanted)) {
    std::vector<Solution> found = solutions(wanted, skipped + 1 + kMostOthers, around);
    if (found.empty()) return found;
    const auto varies = std::ranges::find_if(variables_, &Variable::varies);
    if (found.size() <= kEnough && found.front().rule == Rule::kTerm && varies != variables_.end()) {
      const Dim n = varies->symbol;
      found.push_back({found.front().dim + (n - Dim(varies->at[0])) * (n - Dim(varies->at[1])), Rule::kMadeUp});
    }
    return found;
  }
  std::vector<Solution> found{{Dim(wanted.front()), Rule::kConstant}};
  if (!tensors_ || wanted.front() < 2) return solutions(wanted, skipped + 1, around);
  const auto known = tensors_->find({wanted.begin(), wanted.end()});
  if (known != tensors_->end()) found.push_back({known->second.dim, Rule::kTensor});
  return found.size() > skipped ? found : solutions(wanted, skipped + 1, around);
}

std::optional<Dim> Solver::solve(std::span<const int64_t> wanted, const Around& around) const {
  if (wanted.size() == 1) {
    if (const auto decided = decided_.find(wanted.front()); decided != decided_.end()) return decided->second;
    if (!proposer_) {
      std::vector<Point> points;
      for (const Variable& v : variables_) points.push_back({v.symbol, v.at});
      proposer_ = std::make_shared<Proposer>(points);
    }
    return proposer_->propose(wanted.front()).front().dim;
  }
  const std::vector<int64_t> key(wanted.begin(), wanted.end());
  const auto choice = choices_ ? choices_->by_values.find(key) : decltype(Choices::by_values)::const_iterator();
  const bool is_chosen = choices_ && choice != choices_->by_values.end();
  const bool is_open = choices_ && !sure_ && wanted.size() == 2;
  const auto note_open = [&](std::vector<Solution> found, size_t chosen) {
    std::vector<Solved>& known = open_[key];
    std::erase_if(known, [&](const Solved& each) { return dim::same(each.size(), found[chosen].dim); });
    known.push_back({std::move(found), chosen});
  };
  if (is_chosen && !choice->second.taken.empty()) {
    const auto size = dim::try_parse(choice->second.taken, *dim::scope_of(variables_.front().symbol));
    // An axis of one node's data says nothing elsewhere.
    if (size && is_known(*size, around)) {
      constexpr double kAsked = 1;
      const Solution taken{*size, Rule::kTerm, kAsked};
      take(key, taken, around);
      if (is_open) {
        std::vector<Solution> found = open_solutions(wanted, 0, around);
        std::erase_if(found, [&](const Solution& each) { return dim::same(each.dim, *size); });
        found.insert(found.begin(), taken);
        note_open(std::move(found), 0);
      }
      return size;
    }
  }
  const size_t skipped = is_chosen ? choice->second.index : 0;
  std::vector<Solution> found =
      is_open ? open_solutions(wanted, skipped, around) : solutions(wanted, skipped + 1, around);
  if (found.size() <= skipped) return std::nullopt;
  const Solution taken = found[skipped];
  if (is_chosen && choice->second.is_doubted && taken.rule > Rule::kAround && taken.over_rest > 0) return std::nullopt;
  const bool leads = taken.bits > 0 && (found.size() == skipped + 1 || found[skipped + 1].bits >= taken.bits + kLead);
  if (leads) for_each_floor(taken.dim, [&](const dim::Atom& floor) { leading_[&floor].insert(key); });
  if (!around.counts) note_rounded(taken.dim);
  take(key, taken, around);
  if (is_open) note_open(std::move(found), skipped);
  return taken.dim;
}

Dim Solver::left_unsolved(std::span<const int64_t> wanted) const {
  if (!leaves_unsolved_ || sure_ || variables_.empty() || !ranks(wanted) || !are_sizes(wanted)) return {};
  const auto [known, is_new] = unsolved_.try_emplace({wanted.begin(), wanted.end()});
  if (is_new) known->second = dim::scope_of(variables_.front().symbol)->fresh("unsolved", dim::SymbolKind::kInputValue);
  return known->second;
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

void Solver::note_used(Dim size) const {
  if (const auto counted = counted_.find(size.expr()); counted != counted_.end())
    for (const auto& [wanted, taken] : counted->second) note_taken(wanted, taken);
  note_rounded(size);
}

namespace {

bool has_factor(const dim::Term& term, const dim::Atom* atom) {
  return std::ranges::find(term.monomial->factors, atom, &dim::Factor::atom) != term.monomial->factors.end();
}

// Whether it has both of them as factors.
bool is_product_of(Dim size, const dim::Atom* one, const dim::Atom* other) {
  return size.is_symbolic() && std::ranges::any_of(size.expr()->terms, [&](const dim::Term& term) {
           return has_factor(term, one) && has_factor(term, other);
         });
}

// The only symbol or quotient in a size; nullptr where there is none, or more.
const dim::Atom* only_atom(Dim size) {
  const std::vector<dim::Term>& terms = size.expr()->terms;
  return terms.size() == 1 ? dim::single_atom(*terms.front().monomial) : nullptr;
}

// Whether it is a factor of a product of several.
bool is_side(Dim size, const dim::Atom* atom) {
  return size.is_symbolic() && std::ranges::any_of(size.expr()->terms, [&](const dim::Term& term) {
           return term.monomial->factors.size() > 1 && has_factor(term, atom);
         });
}

}  // namespace

void Solver::note_written(std::span<const Dim> sizes, std::span<const Dim> axes) const {
  const auto is_axis = [&](Dim of) { return std::ranges::any_of(axes, [&](Dim axis) { return dim::same(axis, of); }); };
  const auto may_be = [&](Dim of, Dim other) {
    const dim::Atom *atom = only_atom(of), *other_atom = only_atom(other);
    if (atom == other_atom) return false;
    const bool is_of_grid = std::ranges::any_of(sizes, [&](Dim size) { return is_side(size, atom); });
    // As many cells as the grid has: of another size there would be more or fewer elsewhere.
    return !is_of_grid || std::ranges::any_of(sizes, [&](Dim size) { return is_product_of(size, atom, other_atom); });
  };
  for (const Dim size : sizes) {
    if (!size.is_symbolic() || is_axis(size)) continue;
    for (const dim::Term& term : size.expr()->terms) {
      const dim::Atom* atom = dim::single_atom(*term.monomial);
      const auto alike = atom ? alike_sizes().find(atom) : alike_sizes().end();
      if (alike == alike_sizes().end()) continue;
      for (const auto& [of, at] : alike->second) {
        const std::vector<Dim> all = sizes_as_large(at);
        Around around;
        around.counts = true;
        if (!is_axis(of) && std::ranges::any_of(all, [&](Dim other) { return may_be(of, other); }))
          note_taken(at, {of, Rule::kTensor, 0, std::move(around)});
      }
    }
  }
}

// Sizes that something else is as large as in every trace, by the only symbol or quotient in them.
const Solver::AlikeSizes& Solver::alike_sizes() const {
  if (alike_sizes_) return *alike_sizes_;
  AlikeSizes& alike = alike_sizes_.emplace();
  if (!tensors_) return alike;
  for (const auto& [at, tensor] : *tensors_) {
    const std::vector<Dim> all = sizes_as_large(at);
    for (const Dim size : all) {
      const dim::Atom* only = only_atom(size);
      if (only && all.size() > 1) alike[only].emplace_back(size, at);
    }
  }
  return alike;
}

void Solver::note_rounded(Dim size) const {
  for_each_floor(size, [&](const dim::Atom& floor) {
    rounded_.insert(&floor);
    const auto divisor = floor.operands[1].constant();
    if (const auto told = leading_.find(&floor); divisor && told != leading_.end())
      told_cuts_[*divisor].insert(told->second.begin(), told->second.end());
  });
}

void Solver::take(const std::vector<int64_t>& wanted, const Solution& taken, const Around& around) const {
  if (!choices_) return;
  if (taken.rule > Rule::kAround) {
    std::vector<Guess>& guesses = guesses_[wanted];
    const auto is_guess = [&](const Guess& guess) { return dim::same(guess.size, taken.dim); };
    if (std::ranges::none_of(guesses, is_guess)) guesses.push_back({taken.dim, learned_.size()});
  }
  if (guesses_rounding(taken.rule) || taken.rule == Rule::kTensor) guessed_amounts_.insert(wanted);
  if (!sure_) solved_.emplace(wanted, taken.rule);
  const auto is_it = [&](Dim known) { return dim::same(known, taken.dim); };
  const bool is_guess = guesses_rounding(taken.rule) || std::ranges::any_of(follow_guesses_, is_it);
  if (is_guess && std::ranges::none_of(guessed_, is_it)) guessed_.push_back(taken.dim);
  // A shape that holds as many elements as its data leaves none open.
  if (sure_ || around.elements.is_symbolic()) return;
  Taken one{taken.dim, taken.rule, taken.bits, around};
  if (around.counts)
    counted_[taken.dim.expr()].emplace_back(wanted, std::move(one));
  else
    note_taken(wanted, std::move(one));
}

void Solver::note_taken(const std::vector<int64_t>& wanted, Taken taken) const {
  std::vector<Taken>& all = taken_[wanted];
  const auto is_it = [&](const Taken& each) {
    return dim::same(each.size, taken.size) && is_as(each.around, taken.around);
  };
  if (std::ranges::none_of(all, is_it)) all.push_back(std::move(taken));
}

std::optional<Dim> Solver::solve_surely(std::span<const int64_t> wanted) {
  const bool before = std::exchange(sure_, true);
  auto found = solve(wanted);
  sure_ = before;
  return found;
}

}  // namespace thaw::lifting
