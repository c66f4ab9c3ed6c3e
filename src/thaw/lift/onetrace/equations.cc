#include "thaw/lift/onetrace/equations.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"

namespace thaw::lifting::onetrace {
namespace {

using ops::Obligation;

constexpr size_t kMostTriedCombinations = 4096;  // combinations of one obligation that tell whether it can fail at all
constexpr size_t kMostContradictions = 64;

struct Equation {
  const Obligation* obligation = nullptr;
  std::vector<size_t> unknowns;  // ascending
};

class EquationSolver {
 public:
  EquationSolver(const Probe& probe, const std::vector<Unknown>& unknowns, const Sizes& sizes, const dim::Scope& scope)
      : probe_(probe), unknowns_(unknowns), sizes_(sizes), scope_(scope), alive_(unknowns.size()) {
    for (size_t i = 0; i < unknowns_.size(); ++i) {
      by_symbol_[scope_.symbol_id(unknowns_[i].symbol)] = i;
      alive_[i].resize(unknowns_[i].proposals.size());
      std::iota(alive_[i].begin(), alive_[i].end(), size_t{0});
    }
    for (size_t k = 0; k < sizes_.cases.size(); ++k) {
      dim::Assignment& values = cases_.emplace_back();
      for (const Size& size : sizes_.sizes) values[scope_.symbol_id(size.symbol)] = size.by_case[k];
    }
  }

  Allowed run() {
    std::vector<Equation> joint;
    for (const Obligation& obligation : probe_.facts().obligations()) {
      if (obligation.only_specified) continue;
      Equation equation = equation_of(obligation);
      if (equation.unknowns.empty()) {
        check_fixed(obligation);
      } else if (equation.unknowns.size() == 1) {
        rule_out(equation);
      } else {
        joint.push_back(std::move(equation));
      }
    }
    std::erase_if(joint, [&](const Equation& e) { return !can_fail(e); });
    price();
    form_components(joint);
    return std::move(out_);
  }

 private:
  Equation equation_of(const Obligation& obligation) const {
    Equation equation{&obligation, {}};
    std::set<size_t> found;
    for (const dim::Dim d : {obligation.a, obligation.b}) {
      if (!d.is_symbolic()) continue;
      for (const int id : dim::symbols_of(d))
        if (const auto at = by_symbol_.find(id); at != by_symbol_.end()) found.insert(at->second);
    }
    equation.unknowns.assign(found.begin(), found.end());
    return equation;
  }

  // Whether it holds in a case, as far as that can be told; the two sides go to `left` and `right`.
  static bool holds(const Obligation& o, const dim::Assignment& values, int64_t& left, int64_t& right) {
    const auto a = dim::evaluate(o.a, values), b = dim::evaluate(o.b, values);
    if (!a || !b) return true;
    left = *a;
    right = *b;
    return dim::holds(o.kind, *a, *b);
  }

  std::string describe(const Obligation& o, size_t k, int64_t left, int64_t right) const {
    const std::string& name = sizes_.cases[k].name;
    return fmt::format("{}: {} and {}{}", o.what, left, right, name.empty() ? "" : fmt::format(" in case '{}'", name));
  }

  void contradict(const Obligation& o, std::string text) {
    if (out_.contradictions.size() < kMostContradictions) out_.contradictions.push_back({o.node, std::move(text)});
  }

  void check_fixed(const Obligation& o) {
    int64_t left = 0, right = 0;
    for (size_t k = 0; k < cases_.size(); ++k) {
      if (holds(o, cases_[k], left, right)) continue;
      return contradict(o, describe(o, k, left, right));
    }
  }

  // Sets the unknown's symbol in every case.
  void assign(size_t unknown, size_t proposal) {
    const int id = scope_.symbol_id(unknowns_[unknown].symbol);
    for (size_t k = 0; k < cases_.size(); ++k) cases_[k][id] = unknowns_[unknown].proposals[proposal].at[k + 1];
  }

  bool holds_everywhere(const Obligation& o) const {
    int64_t left = 0, right = 0;
    return std::all_of(cases_.begin(), cases_.end(),
                       [&](const dim::Assignment& values) { return holds(o, values, left, right); });
  }

  void rule_out(const Equation& equation) {
    const size_t i = equation.unknowns.front();
    std::vector<size_t> left;
    for (const size_t p : alive_[i]) {
      assign(i, p);
      if (holds_everywhere(*equation.obligation)) left.push_back(p);
    }
    if (left.empty() && !alive_[i].empty()) {
      // No proposal: the obligation with the number as it was.
      assign(i, integer_of(i));
      int64_t a = 0, b = 0;
      for (size_t k = 0; k < cases_.size(); ++k) {
        if (holds(*equation.obligation, cases_[k], a, b)) continue;
        contradict(*equation.obligation, describe(*equation.obligation, k, a, b) + ", and no simple expression fits");
        break;
      }
    }
    alive_[i] = std::move(left);
  }

  size_t integer_of(size_t i) const {
    const auto& proposals = unknowns_[i].proposals;
    for (size_t p = 0; p < proposals.size(); ++p)
      if (proposals[p].dim.is_constant()) return p;
    return 0;
  }

  bool can_fail(const Equation& equation) {
    size_t count = 1;
    for (const size_t i : equation.unknowns) {
      count *= alive_[i].size();
      if (count == 0) return false;
      if (count > kMostTriedCombinations) return true;
    }
    std::vector<size_t> at(equation.unknowns.size());
    for (size_t n = 0; n < count; ++n) {
      size_t rest = n;
      for (const size_t i : equation.unknowns) {
        assign(i, alive_[i][rest % alive_[i].size()]);
        rest /= alive_[i].size();
      }
      if (!holds_everywhere(*equation.obligation)) return true;
    }
    return false;
  }

  // What inference leaves no choice for is decided; of the same number elsewhere it is likely true too.
  void price() {
    std::map<int64_t, std::vector<dim::Dim>> decided;
    const auto is_decided = [&](size_t i, dim::Dim dim) {
      const auto known = decided.find(number_of(i));
      return known != decided.end() &&
             std::ranges::any_of(known->second, [&](dim::Dim each) { return dim::same(each, dim); });
    };
    for (size_t i = 0; i < unknowns_.size(); ++i) {
      if (alive_[i].size() != 1) continue;
      const dim::Dim dim = unknowns_[i].proposals[alive_[i].front()].dim;
      if (!is_decided(i, dim)) decided[number_of(i)].push_back(dim);
    }
    costs_.resize(unknowns_.size());
    for (size_t i = 0; i < unknowns_.size(); ++i) {
      for (const lifting::Proposal& p : unknowns_[i].proposals)
        costs_[i].push_back(is_decided(i, p.dim) ? kAgain : p.cost);
      std::stable_sort(alive_[i].begin(), alive_[i].end(),
                       [&](size_t a, size_t b) { return costs_[i][a] < costs_[i][b]; });
    }
  }

  void form_components(const std::vector<Equation>& joint) {
    std::vector<size_t> parent(unknowns_.size());
    std::iota(parent.begin(), parent.end(), size_t{0});
    const auto root = [&](size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    for (const Equation& e : joint)
      for (const size_t i : e.unknowns) parent[root(i)] = root(e.unknowns.front());
    std::vector<std::vector<size_t>> members(unknowns_.size());
    for (size_t i = 0; i < unknowns_.size(); ++i) members[root(i)].push_back(i);
    std::unordered_map<size_t, std::vector<const Equation*>> equations;
    for (const Equation& e : joint) equations[root(e.unknowns.front())].push_back(&e);
    for (size_t i = 0; i < unknowns_.size(); ++i)
      if (!members[i].empty()) out_.components.push_back(search(members[i], equations[i]));
  }

  // The cheapest combinations that meet the equations.
  Component search(const std::vector<size_t>& members, const std::vector<const Equation*>& equations) {
    Component component{members, {}};
    const std::vector<std::vector<Option>> options = options_of(members);
    std::vector<std::vector<size_t>> conditions;
    for (const Equation* e : equations) {
      std::vector<size_t>& places = conditions.emplace_back();
      for (const size_t i : e->unknowns)
        places.push_back(static_cast<size_t>(std::ranges::lower_bound(members, i) - members.begin()));
    }
    const auto proposal_of = [&](size_t i, size_t option) { return alive_[members[i]][option]; };
    Combinations found = cheapest_combinations(
        options, conditions, [&](size_t i, size_t option) { assign(members[i], proposal_of(i, option)); },
        [&](size_t c) { return holds_everywhere(*equations[c]->obligation); });
    out_.bounded |= found.bounded;
    for (Combination& combination : found.found)
      for (size_t i = 0; i < members.size(); ++i) combination.options[i] = proposal_of(i, combination.options[i]);
    component.combinations = std::move(found.found);
    if (component.combinations.empty()) {
      for (const Equation* e : equations) {
        for (const size_t i : e->unknowns) assign(i, integer_of(i));
        int64_t a = 0, b = 0;
        for (size_t k = 0; k < cases_.size(); ++k) {
          if (holds(*e->obligation, cases_[k], a, b)) continue;
          contradict(*e->obligation, describe(*e->obligation, k, a, b) + ", and no simple expressions fit");
          break;
        }
      }
    }
    return component;
  }

  // The same number is likely the same size: what an expression costs is paid once.
  std::vector<std::vector<Option>> options_of(const std::vector<size_t>& members) const {
    std::map<int64_t, std::vector<std::pair<dim::Dim, size_t>>> said;  // by number
    size_t num_said = 0;
    std::vector<std::vector<Option>> options(members.size());
    for (size_t i = 0; i < members.size(); ++i) {
      auto& known = said[number_of(members[i])];
      for (const size_t p : alive_[members[i]]) {
        const dim::Dim dim = unknowns_[members[i]].proposals[p].dim;
        auto same = std::ranges::find_if(known, [&](const auto& each) { return dim::same(each.first, dim); });
        if (same == known.end()) same = known.insert(known.end(), {dim, num_said++});
        options[i].push_back({cost_of(members[i], p), same->second});
      }
    }
    return options;
  }

  int64_t number_of(size_t unknown) const { return unknowns_[unknown].proposals.front().at.front(); }

  double cost_of(size_t unknown, size_t proposal) const { return costs_[unknown][proposal]; }

  const Probe& probe_;
  const std::vector<Unknown>& unknowns_;
  const Sizes& sizes_;
  const dim::Scope& scope_;
  std::unordered_map<int, size_t> by_symbol_;
  std::vector<std::vector<size_t>> alive_;  // by unknown: proposals not ruled out, the cheapest first
  std::vector<std::vector<double>> costs_;  // by unknown and proposal
  std::vector<dim::Assignment> cases_;
  Allowed out_;
};

}  // namespace

Allowed allowed_choices(const Probe& probe, const std::vector<Unknown>& unknowns, const Sizes& sizes,
                        const dim::Scope& scope) {
  return EquationSolver(probe, unknowns, sizes, scope).run();
}

}  // namespace thaw::lifting::onetrace
