#include "thaw/lift/unknowns/undecided.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/unknowns/backtrack.h"
#include "thaw/lift/unseen/unseen_sizes.h"

namespace thaw::lifting {
namespace {

constexpr size_t kMostTold = 1, kMostUndecided = 16, kMostOfAList = 4;

bool differ_at(dim::Dim a, dim::Dim b, const dim::Assignment& sizes) {
  const auto x = dim::evaluate(a, sizes), y = dim::evaluate(b, sizes);
  return x && y && *x != *y;
}

// Leaves some of every part.
void thin_out(std::vector<std::vector<int64_t>>& sizes) {
  constexpr size_t kMost = 256;
  if (sizes.size() <= kMost) return;
  std::vector<std::vector<int64_t>> some;
  for (size_t k = 0; k < kMost; ++k) some.push_back(std::move(sizes[k * sizes.size() / kMost]));
  sizes = std::move(some);
}

// Whether an emitted size is made of the other. What it rounds is not: that a side is cut says nothing of the side itself.
bool is_computed_in(const std::string& size, const std::string& emitted) {
  if (size == emitted || fmt::format("({})", size) == emitted) return true;
  for (size_t at = emitted.find(size); at != std::string::npos; at = emitted.find(size, at + 1)) {
    const auto before = std::string_view(emitted).substr(0, at);
    if (size.find('(') != std::string::npos || std::ranges::count(before, '(') == std::ranges::count(before, ')'))
      return true;
  }
  return false;
}

// The fewest sizes that leave the same remainder as all traces do, at all of which the two are the same: where they are of one size.
std::optional<Congruence> shared_remainder(dim::Dim a, dim::Dim b, std::span<const Variable> variables) {
  std::vector<int> symbols = dim::symbols_of(a);
  std::ranges::copy(dim::symbols_of(b), std::back_inserter(symbols));
  if (symbols.empty() || std::ranges::count(symbols, symbols.front()) != std::ssize(symbols)) return std::nullopt;
  for (const Variable& v : variables) {
    dim::Scope& scope = *dim::scope_of(v.symbol);
    if (scope.symbol_id(v.symbol) != symbols.front() || !v.varies()) continue;
    const int64_t step = common_step(v.at);
    const dim::Dim pieces = scope.fresh("pieces", dim::SymbolKind::kInputDim);
    for (int64_t modulus = 2; modulus <= step; ++modulus) {
      if (step % modulus != 0) continue;
      const int64_t remainder = v.at.front() % modulus;
      const std::unordered_map<int, dim::Dim> at{{symbols.front(), pieces * dim::Dim(modulus) + dim::Dim(remainder)}};
      if (dim::same(dim::substitute(a, at), dim::substitute(b, at))) return Congruence{v.symbol, modulus, remainder};
    }
  }
  return std::nullopt;
}

// Whether the nodes speak against the one more than against the other.
bool is_contradicted(const Attempt& attempt, const Attempt& than) {
  return !attempt.is_whole() || attempt.contradictions.broken > 0 || attempt.broken_where_tried > 0 ||
         attempt.contradictions.sizes < than.contradictions.sizes ||
         attempt.beyond.num_sound_nodes < than.beyond.num_sound_nodes ||
         attempt.of_any_step.num_sound_nodes < than.of_any_step.num_sound_nodes;
}

// What the other is tried with: the integers that it cannot stand beside are taken otherwise, too.
struct OtherChoices {
  Choices choices;
  bool retakes = false;  // any of these
};

// The other, and with it what is a number more than the integer as it was taken: where a Slice that begins there ends.
Retaken with_followers(const Conditions& conditions, size_t own, dim::Dim other) {
  const auto only_size = [](const Unknown& unknown) {
    const bool is_one = unknown.is_solved && !unknown.is_at_places() && unknown.places.size() == 1;
    return is_one ? unknown.places.front().taken : dim::Dim();
  };
  Retaken retaken{{own, other}};
  const dim::Dim taken = only_size(conditions.unknowns[own]);
  for (size_t i = 0; i < conditions.unknowns.size() && taken.is_symbolic(); ++i) {
    const dim::Dim size = i == own ? dim::Dim() : only_size(conditions.unknowns[i]);
    if (!size.is_symbolic()) continue;
    if (const dim::Dim more = size - taken; more.is_constant() && !dim::same(other + more, size))
      retaken.emplace_back(i, other + more);
  }
  std::ranges::sort(retaken, {}, &Retaken::value_type::first);
  return retaken;
}

// nullopt where it cannot stand at all.
std::optional<OtherChoices> choices_of_other(const Attempt& best, const OpenChoice& open) {
  OtherChoices out{best.choices};
  Choices& choices = out.choices;
  if (best.conditions) {
    const std::vector<Unknown>& unknowns = best.conditions->unknowns;
    const auto own = std::ranges::find(unknowns, open.wanted, &Unknown::wanted);
    if (own != unknowns.end()) {
      const auto place = static_cast<size_t>(own - unknowns.begin());
      const Retaken followed = with_followers(*best.conditions, place, open.other);
      Agreed agreed = followed.size() > 1 ? agree(*best.conditions, followed) : Agreed();
      if (agreed.verdict != Agrees::kYes) agreed = agree(*best.conditions, {{place, open.other}});
      if (agreed.verdict == Agrees::kNo) return std::nullopt;
      choices = with_retaken(std::move(choices), *best.conditions, agreed);
      out.retakes = agreed.retaken.size() > 1;
    }
  }
  Choice& choice = choices.by_values[open.wanted];
  choice.index = open.next;
  choice.taken = open.formulas.other;
  return out;
}

// In three traces and more.
bool is_close(const Solution& other, double bits, std::span<const int64_t> wanted) {
  const double saved = bits_of_list(wanted) - other.bits;
  return other.bits < bits + kLead &&
         (other.makeup == Makeup::kOfOne || saved >= (other.makeup == Makeup::kWithNumber ? kSavedWithNumber : kSaved));
}

bool is_as_good(const Attempt& other, const Attempt& best) {
  return !is_contradicted(other, best) && other.emitted != best.emitted;
}

// Whether the other can stand at one place, all else as it is. What is not tried in time is taken to.
bool may_stand_alone(const Attempt& best, const OpenChoice& open, const Trial& trial, size_t& attempts) {
  return std::ranges::any_of(open.alone, [&](const IntegerPlace& place) {
    Choices choices = best.choices;
    choices.by_place[place].taken = open.formulas.other;
    if (++attempts > kMostUndecided) return true;
    const auto other = trial(std::move(choices), open.telling);
    return !other || is_as_good(*other, best);
  });
}

Attempt refuse_undecided(Attempt best, const std::function<Attempt(Choices)>& attempt, const Trial& trial) {
  size_t attempts = 0;
  std::vector<Note> undecided;
  for (const OpenChoice& open : best.open) {
    const std::string where = fmt::format("{}", fmt::join(open.wanted, ", "));
    if (!undecided.empty() && undecided.back().where == where) continue;
    if (undecided.size() == kMostTold) break;
    if (!open.is_of_table) {
      auto choices = choices_of_other(best, open);
      if (!choices) continue;
      // What is not tried in time is left open.
      const auto other = ++attempts > kMostUndecided ? std::nullopt : trial(std::move(choices->choices), open.telling);
      if (other && !is_as_good(*other, best)) continue;
    }
    const std::string other_size = open.formulas.other.empty() ? "something else" : open.formulas.other;
    undecided.push_back(
        {where, fmt::format("two traces do not determine whether it is {} or {}; add a third trace at {}",
                            open.formulas.chosen, other_size, open.formulas.telling)});
  }
  if (!undecided.empty()) {
    best.report.unexplained = std::move(undecided);
    return best;
  }
  best.edit = attempt(best.choices).edit;
  return best;
}

// What one remainder settles for most others comes first; then the plainest other of each list: the nodes may hold it, and so all others.
std::vector<const OpenChoice*> in_turn(const std::vector<OpenChoice>& open) {
  std::vector<const OpenChoice*> all;
  std::map<std::vector<int64_t>, size_t> num_before;
  std::map<const OpenChoice*, size_t> place;
  for (const OpenChoice& each : open) {
    all.push_back(&each);
    place.emplace(&each, num_before[each.wanted]++);
  }
  std::ranges::stable_sort(all, {},
                           [&](const OpenChoice* each) { return std::pair(-each->formulas.modulus, place.at(each)); });
  return all;
}

Note untold(const OpenChoice& open, const std::vector<const OpenChoice*>& guarded) {
  const auto is_alike = [&](const OpenChoice* each) {
    return each->wanted == open.wanted && each->formulas.chosen == open.formulas.chosen;
  };
  const auto others = std::ranges::count_if(guarded, is_alike) - 1;
  const std::string more = others == 0 ? "" : others == 1 ? " or another" : fmt::format(" or one of {} others", others);
  return {fmt::format("{}", fmt::join(open.wanted, ", ")),
          fmt::format("the traces do not determine whether it is {}{} {}{}; add a trace at {}", open.formulas.chosen,
                      others > 0 ? "," : " or", open.formulas.other, more, open.formulas.telling)};
}

// The first of a list that so many formulas explain that the right one may be none of them. Those that differ at other remainders than the
// traces' alone are no chance.
const OpenChoice* first_met_by_chance(const std::vector<const OpenChoice*>& guarded) {
  constexpr size_t kMostAlike = 15;
  const auto key = [](const OpenChoice* open) { return std::tie(open->wanted, open->formulas.chosen); };
  std::map<std::tuple<const std::vector<int64_t>&, const std::string&>, size_t> num_alike;
  for (const OpenChoice* open : guarded)
    if (!open->is_of_remainders) ++num_alike[key(open)];
  const auto first = std::ranges::find_if(
      guarded, [&](const OpenChoice* open) { return !open->is_of_remainders && num_alike.at(key(open)) > kMostAlike; });
  return first == guarded.end() ? nullptr : *first;
}

// What is not tried in time is guarded too. A guard that no size passes is none: the report says then what a trace would tell.
Attempt guard_undecided(Attempt best, const std::function<Attempt(Choices)>& attempt, const Trial& trial) {
  Choices choices = best.choices;
  size_t attempts = 0, attempts_at_places = 0;
  std::set<std::vector<int64_t>> held;  // which the nodes speak against wherever they are not what was chosen
  std::map<std::vector<int64_t>, size_t> tried;
  std::map<std::string, int64_t> shared;  // by size: of what it is to be a multiple, or one and a remainder
  std::vector<bool> stopped;
  std::vector<const OpenChoice*> guarded;
  for (const OpenChoice* open : in_turn(best.open)) {
    const Agreement& formulas = open->formulas;
    int64_t& modulus = shared.try_emplace(formulas.size, 1).first->second;
    if (formulas.modulus > 0 && modulus % formulas.modulus == 0) continue;
    const auto of_other = held.contains(open->wanted) ? std::nullopt : choices_of_other(best, *open);
    bool is_open = of_other.has_value() || open->is_of_table;
    const bool is_tried =
        is_open && !open->is_of_table && ++tried[open->wanted] <= kMostOfAList && ++attempts <= kMostUndecided;
    if (const auto other = is_tried ? trial(of_other->choices, open->telling) : std::nullopt) {
      // What only the proof breaks may be how the others were retaken, which is known at some sizes alone.
      is_open = is_as_good(*other, best) || (of_other->retakes && other->broken_at);
      // Of what was taken otherwise as nodes needed it, it is known that they refute some, and no more.
      const auto choice = best.choices.by_values.find(open->wanted);
      const bool is_retaken = choice != best.choices.by_values.end() && !choice->second.taken.empty();
      if (!is_retaken && other->is_whole() && other->broken_where_tried == open->telling.size())
        held.insert(open->wanted);
    }
    if (!is_open && !may_stand_alone(best, *open, trial, attempts_at_places)) continue;
    choices.by_values[open->wanted].guarded.insert(formulas);
    guarded.push_back(open);
    if (formulas.modulus > 0) {
      modulus = std::lcm(modulus, formulas.modulus);
      continue;
    }
    stopped.resize(open->differs.size());
    for (size_t k = 0; k < stopped.size(); ++k) stopped[k] = stopped[k] || open->differs[k];
  }
  // Met by chance: it is refused where half of the unseen sizes pass no guard.
  const auto num_stopped = std::ranges::count(stopped, true);
  const OpenChoice* refused = 2 * num_stopped >= std::ssize(stopped) ? first_met_by_chance(guarded) : nullptr;
  if (!refused && !stopped.empty() && std::ranges::all_of(stopped, std::identity())) refused = guarded.front();
  if (refused) {
    best.report.unexplained.push_back(untold(*refused, guarded));
    return best;
  }
  const bool is_guarded = choices != best.choices;
  Attempt last = attempt(std::move(choices));
  if (is_guarded) {
    note_choices(last);
    return last;
  }
  best.edit = std::move(last.edit);
  return best;
}

}  // namespace

std::vector<OpenChoice> open_choices(const Solver& solver, std::span<const std::string> emitted,
                                     std::span<const Variable> variables, const Domain& domain, const RunsAt& runs_at) {
  const auto is_emitted = [&](const std::string& size) {
    return std::ranges::any_of(emitted, [&](const std::string& each) { return is_computed_in(size, each); });
  };
  // Where the two differ and the model runs. Of sizes drawn at random few may be in a narrow domain.
  const std::vector<std::vector<int64_t>>& unseen = solver.unseen();
  const auto is_in_domain = [&](const std::vector<int64_t>& each) {
    return domain.has(assignment_at(variables, each));
  };
  const SharedRemainders none, &of_remainders = variables.empty() ? none : solver.shared_remainders();
  const std::vector<std::vector<int64_t>>& alike = of_remainders.sizes;
  std::vector<std::vector<int64_t>> drawn = unseen;
  std::ranges::copy(alike, std::back_inserter(drawn));
  std::vector<std::vector<int64_t>> apart = sizes_apart(variables);
  for (std::vector<std::vector<int64_t>>* sizes : {&drawn, &apart}) std::erase_if(*sizes, std::not_fn(is_in_domain));
  std::optional<std::vector<std::vector<int64_t>>> one_by_one;
  // At sizes where what was chosen does not run, nothing is said against the other.
  constexpr size_t kMostRun = 64;
  std::map<std::vector<int64_t>, bool> known_to_run;
  for (const std::vector<int64_t>& each : unseen) known_to_run.emplace(each, true);
  const size_t most_known = known_to_run.size() + kMostRun;
  const auto runs = [&](const std::vector<int64_t>& each) {
    const auto known = known_to_run.find(each);
    if (known != known_to_run.end()) return known->second;
    return known_to_run.size() >= most_known || known_to_run.emplace(each, runs_at(each)).first->second;
  };
  const auto telling = [&](dim::Dim chosen, dim::Dim other, bool is_of_table) {
    constexpr size_t kMostTelling = 6;
    std::vector<std::vector<int64_t>> tell;
    const auto add_from = [&](const std::vector<std::vector<int64_t>>& sizes) {
      for (const std::vector<int64_t>& each : sizes)
        if (tell.size() < kMostTelling && differ_at(chosen, other, assignment_at(variables, each)) &&
            (is_of_table || runs(each)))
          tell.push_back(each);
    };
    add_from(drawn);
    if (!tell.empty()) return tell;
    if (is_of_table) add_from(apart);
    if (!tell.empty()) return tell;
    if (!one_by_one) {
      one_by_one = sizes_one_by_one(variables);
      std::erase_if(*one_by_one, std::not_fn(is_in_domain));
      thin_out(*one_by_one);
    }
    add_from(*one_by_one);
    return tell;
  };
  std::vector<OpenChoice> open;
  const auto add = [&](const std::vector<int64_t>& wanted, size_t next, Rule rule, dim::Dim chosen,
                       const Solution& other, bool is_close, bool is_of_table = false) {
    const auto known = std::ranges::find_if(open, [&](const OpenChoice& each) {
      return each.wanted == wanted && each.next == next && each.formulas.chosen == dim::to_string(chosen) &&
             dim::same(each.other, other.dim);
    });
    if (known != open.end()) {
      known->is_close |= is_close;
      known->is_of_table |= is_of_table;
      return;
    }
    std::vector<std::vector<int64_t>> tell = telling(chosen, other.dim, is_of_table);
    if (tell.empty()) return;
    Agreement formulas{dim::to_string(chosen), other.rule == Rule::kMadeUp ? "" : dim::to_string(other.dim),
                       text_of_sizes(variables, tell.front())};
    if (const auto shared = shared_remainder(chosen, other.dim, variables)) {
      formulas.size = dim::to_string(shared->size);
      formulas.modulus = shared->modulus;
      formulas.remainder = shared->remainder;
    }
    std::vector<bool> differs;
    for (const std::vector<int64_t>& each : unseen)
      differs.push_back(differ_at(chosen, other.dim, assignment_at(variables, each)));
    const bool is_of_remainders = !alike.empty() && std::ranges::none_of(alike, [&](const auto& each) {
      return differ_at(chosen, other.dim, assignment_at(variables, each));
    });
    open.push_back({wanted, next, rule, std::move(formulas), other.dim, is_close, is_of_table, is_of_remainders,
                    std::move(tell), std::move(differs)});
  };
  for (const auto& [wanted, all] : solver.taken())
    for (const Taken& taken : all) {
      if (!taken.size.is_symbolic() || !is_emitted(dim::to_string(taken.size))) continue;
      for (const Solution& other : solver.others(wanted, taken))
        add(wanted, 0, taken.rule, taken.size, other, taken.bits > 0 && is_close(other, taken.bits, wanted),
            taken.around.counts && other.rule == Rule::kTensor);
    }
  for (const auto& [wanted, all] : solver.open())
    for (const Solved& solved : all) {
      if (!is_emitted(dim::to_string(solved.size()))) continue;
      const Rule rule = solved.solutions[solved.chosen].rule;
      for (size_t next = solved.chosen + 1; next < solved.solutions.size(); ++next)
        add(wanted, next, rule, solved.size(), solved.solutions[next], false);
    }
  std::ranges::stable_sort(open, [](const OpenChoice& a, const OpenChoice& b) { return a.rule > b.rule; });
  return open;
}

Attempt require_decided(Attempt best, const std::function<Attempt(Choices)>& attempt, const Trial& trial) {
  if (!best.is_whole()) return best;
  const bool are_two = best.beyond.sizes + best.beyond.unmade > 0;
  const Contradictions& between = best.contradictions;
  if (are_two && between.unmade > 0) {
    best.report.unexplained.push_back(
        {between.first_unmade,
         fmt::format("no value follows at {} of {} sizes between the two traces; add a third trace", between.unmade,
                     between.sizes + between.unmade)});
    return best;
  }
  if (best.beyond.broken > 0) {
    best.report.unexplained.push_back(
        {best.beyond.first,
         fmt::format("shape inference fails at {} of {} sizes beyond the two traces; add a third, larger trace",
                     best.beyond.broken, best.beyond.sizes)});
    return best;
  }
  if (best.open.empty()) return best;
  best.edit.reset();
  return best.open.front().wanted.size() == 2 ? refuse_undecided(std::move(best), attempt, trial)
                                              : guard_undecided(std::move(best), attempt, trial);
}

}  // namespace thaw::lifting
