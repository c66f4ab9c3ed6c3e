#include "thaw/lift/unknowns/agree.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "thaw/dim/prove/solve.h"

namespace thaw::lifting {
namespace {

using dim::Dim;

constexpr size_t kMostTaken = 6;       // otherwise than they were solved
constexpr size_t kMostStates = 2'000;  // of the search

class Search {
 public:
  Search(const Conditions& conditions, const std::vector<Retaken>& passed_over, bool with_places)
      : conditions_(conditions),
        passed_over_(passed_over),
        with_places_(with_places),
        of_unknown_(conditions.unknowns.size()),
        is_asked_(conditions.needed.size(), std::vector<bool>(conditions.unseen.size(), true)) {
    for (size_t i = 0; i < conditions_.unknowns.size(); ++i) {
      values_.push_back(values_of_places(i, {}));
      taken_.emplace_back();
    }
    for (size_t c = 0; c < conditions_.needed.size(); ++c)
      for (const size_t i : conditions_.needed[c].unknowns) of_unknown_[i].push_back(c);
  }

  // Whether what holds as it is does with one of them taken otherwise.
  bool stands_alone(size_t unknown, Dim size) {
    take(unknown, size);
    const bool breaks = std::ranges::any_of(of_unknown_[unknown], [&](size_t c) {
      for (size_t k = 0; k < conditions_.unseen.size(); ++k)
        if (!holds_at(c, k)) {
          take(unknown, std::nullopt);
          const bool held = holds_at(c, k);
          take(unknown, size);
          if (held) return true;
        }
      return false;
    });
    take(unknown, std::nullopt);
    return !breaks;
  }

  Agreed run(const Retaken& given) {
    // What fails all the same is not asked of what is given.
    asks_all_ = given.empty();
    if (!given.empty())
      for (size_t c = 0; c < conditions_.needed.size(); ++c)
        for (size_t k = 0; k < conditions_.unseen.size(); ++k) is_asked_[c][k] = holds_at(c, k);
    for (const auto& [unknown, size] : given) take(unknown, size);
    std::vector<size_t> broken;
    for (size_t c = 0; c < conditions_.needed.size(); ++c)
      if (!holds(c) && std::ranges::any_of(conditions_.needed[c].unknowns, [&](size_t i) { return may_take(i); }))
        broken.push_back(c);
    for (size_t most = given.size(); most <= kMostTaken; ++most) {
      most_ = most;
      is_cut_ = false;
      if (settle(broken)) return {Agrees::kYes, retaken(), doubted_of(broken)};
      if (!is_cut_) return {.verdict = is_open_ ? Agrees::kOpen : Agrees::kNo};
    }
    return {};
  }

 private:
  using Values = std::vector<std::vector<int64_t>>;  // by place and unseen size; empty where there is none

  bool may_take(size_t unknown) const { return with_places_ || !conditions_.unknowns[unknown].is_at_places(); }

  Retaken retaken() const {
    Retaken out;
    for (size_t i = 0; i < taken_.size(); ++i)
      if (taken_[i]) out.emplace_back(i, *taken_[i]);
    return out;
  }

  std::vector<size_t> doubted_of(const std::vector<size_t>& broken) const {
    std::vector<size_t> doubted;
    for (const size_t c : broken)
      for (const size_t i : conditions_.needed[c].unknowns)
        if (!taken_[i] && std::ranges::count(doubted, i) == 0) doubted.push_back(i);
    return doubted;
  }

  std::vector<int64_t> values_at(Dim size, const std::vector<dim::Assignment>& points) const {
    std::vector<int64_t> at;
    for (const dim::Assignment& point : points) {
      const auto value = dim::evaluate(size, point);
      if (!value) return {};
      at.push_back(*value);
    }
    return at;
  }

  Values values_of_places(size_t unknown, std::optional<Dim> size) const {
    Values values;
    for (const Unknown::Place& place : conditions_.unknowns[unknown].places)
      values.push_back(values_at(size.value_or(place.taken), conditions_.unseen));
    return values;
  }

  void take(size_t unknown, std::optional<Dim> size) {
    taken_[unknown] = size;
    values_[unknown] = values_of_places(unknown, size);
  }

  // Where a side has no value, nothing is said.
  bool holds_at(size_t condition, size_t k) const {
    const Condition& c = conditions_.needed[condition];
    const auto is_unsolved = [&](size_t i) { return !conditions_.unknowns[i].is_solved && !taken_[i]; };
    if (std::ranges::any_of(c.unknowns, is_unsolved)) return false;
    dim::Assignment at = conditions_.unseen[k];
    for (const size_t i : c.unknowns)
      for (size_t p = 0; p < values_[i].size(); ++p)
        if (!values_[i][p].empty())
          at[conditions_.scope->symbol_id(conditions_.unknowns[i].places[p].symbol)] = values_[i][p][k];
    return dim::holds(c.relation, c.a, c.b, at).value_or(true);
  }

  bool holds(size_t condition) const {
    for (size_t k = 0; k < conditions_.unseen.size(); ++k)
      if (is_asked_[condition][k] && !holds_at(condition, k)) return false;
    return true;
  }

  // What the condition says that the integer is, the others as they are taken.
  std::optional<Dim> solved(const Condition& condition, size_t unknown) const {
    const bool is_equation =
        condition.relation == dim::Relation::kEqual || condition.relation == dim::Relation::kBroadcastable;
    const std::vector<Unknown::Place>& places = conditions_.unknowns[unknown].places;
    if (!is_equation || places.size() > 1) return std::nullopt;
    std::unordered_map<int, Dim> others;
    for (const size_t i : condition.unknowns)
      for (const Unknown::Place& place : conditions_.unknowns[i].places)
        if (i != unknown) others.emplace(conditions_.scope->symbol_id(place.symbol), taken_[i].value_or(place.taken));
    return dim::solve_for(places.front().symbol, dim::substitute(condition.a, others),
                          dim::substitute(condition.b, others));
  }

  // is_alone: with the others as they are, of which what the condition says is then all that it can be.
  std::vector<Dim> candidates(size_t condition, size_t unknown, bool is_alone) const {
    std::vector<Dim> out;
    const auto size = solved(conditions_.needed[condition], unknown);
    if (size) out.push_back(*size);
    std::ranges::copy(conditions_.unknowns[unknown].others, std::back_inserter(out));
    const std::vector<int64_t>& wanted = conditions_.unknowns[unknown].wanted;
    const auto is_none = [&](Dim taken) {
      const std::vector<int64_t> elsewhere = values_at(taken, conditions_.unseen);
      return values_at(taken, conditions_.traces) != wanted || elsewhere.empty() ||
             std::ranges::min(elsewhere) < conditions_.unknowns[unknown].least;
    };
    // What broadcasts in no trace does nowhere.
    const bool is_equal =
        conditions_.needed[condition].relation == dim::Relation::kEqual || std::ranges::min(wanted) > 1;
    const bool is_exact = is_equal && asks_all_;
    if (is_alone && is_exact && size && !is_none(*size)) return {*size};
    std::erase_if(out, is_none);
    return out;
  }

  // Makes the broken conditions, and those that this breaks, hold.
  bool settle(std::vector<size_t> broken) {
    if (++states_ > kMostStates) {
      is_open_ = true;
      return false;
    }
    if (broken.empty()) {
      const auto is_it = [](const auto& a, const auto& b) {
        return a.first == b.first && dim::same(a.second, b.second);
      };
      const Retaken own = retaken();
      return std::ranges::none_of(passed_over_,
                                  [&](const Retaken& other) { return std::ranges::equal(own, other, is_it); });
    }
    std::vector<size_t> suspects;
    size_t first = broken.front();
    for (const size_t c : broken) {
      std::vector<size_t> own;
      std::ranges::copy_if(conditions_.needed[c].unknowns, std::back_inserter(own),
                           [&](size_t i) { return !taken_[i] && may_take(i); });
      if (c != broken.front() && own.size() >= suspects.size()) continue;
      first = c;
      suspects = std::move(own);
    }
    const auto num_taken = static_cast<size_t>(std::ranges::count_if(taken_, &std::optional<Dim>::has_value));
    if (!suspects.empty() && num_taken >= most_) {
      is_cut_ = true;
      return false;
    }
    // Any size might do that is no candidate.
    if (!suspects.empty()) is_open_ = true;
    // What follows may be re-derived whatever was solved.
    std::ranges::stable_sort(suspects, std::greater(), [&](size_t i) {
      return std::pair(conditions_.unknowns[i].follows, conditions_.unknowns[i].rule);
    });
    // One of them alone; then one of several that are taken otherwise.
    for (const bool is_alone : {true, false}) {
      if (!is_alone && suspects.size() == 1) break;
      for (const size_t i : suspects)
        for (const Dim size : candidates(first, i, is_alone)) {
          take(i, size);
          if (holds(first) == is_alone && settle(still_broken(broken, i))) return true;
          take(i, std::nullopt);
        }
    }
    return false;
  }

  // With this integer taken otherwise.
  std::vector<size_t> still_broken(const std::vector<size_t>& before, size_t unknown) const {
    std::vector<size_t> broken;
    std::ranges::copy_if(before, std::back_inserter(broken), [&](size_t c) { return !holds(c); });
    for (const size_t c : of_unknown_[unknown])
      if (!holds(c) && std::ranges::count(broken, c) == 0) broken.push_back(c);
    return broken;
  }

  const Conditions& conditions_;
  const std::vector<Retaken>& passed_over_;
  bool with_places_;
  std::vector<std::vector<size_t>> of_unknown_;  // conditions, by unknown
  std::vector<std::vector<bool>> is_asked_;      // by condition and unseen size
  std::vector<Values> values_;                   // by unknown, as it is taken
  std::vector<std::optional<Dim>> taken_;        // otherwise than it was solved
  size_t most_ = 0, states_ = 0;
  bool asks_all_ = true;  // each condition at each size
  bool is_cut_ = false;   // a state was left for more integers to be taken otherwise
  bool is_open_ = false;  // something else might be taken
};

}  // namespace

Agreed agree(const Conditions& conditions, const Retaken& given, const std::vector<Retaken>& passed_over,
             bool with_places) {
  return Search(conditions, passed_over, with_places).run(given);
}

std::vector<bool> stand_alone(const Conditions& conditions, const Retaken& each) {
  const std::vector<Retaken> none;
  Search search(conditions, none, true);
  std::vector<bool> stand;
  for (const auto& [unknown, size] : each) stand.push_back(search.stands_alone(unknown, size));
  return stand;
}

}  // namespace thaw::lifting
