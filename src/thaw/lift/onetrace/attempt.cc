#include "thaw/lift/onetrace/attempt.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/onetrace/equations.h"
#include "thaw/lift/onetrace/search.h"
#include "thaw/lift/onetrace/untold.h"
#include "thaw/lift/onetrace/write_sizes.h"
#include "thaw/rewrite/dim_emitter.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting::onetrace {
namespace {

constexpr size_t kMostAlternatives = 2;  // of a component that are run to be refuted
constexpr size_t kMostNamed = 2;         // of what no case tells from what was chosen
constexpr double kTooDear = 4;           // bits: what costs so much more than the choice is not worth a run

std::string code_of(ops::Role role) {
  return role == ops::Role::kLengths ? "THAW011" : role == ops::Role::kBounds ? "THAW012" : "THAW010";
}

class OneTraceAttempt {
 public:
  OneTraceAttempt(ir::Model& model, dim::Scope& scope, const Task& task, const Lengths& lengths, bool joined,
                  int most_tries)
      : model_(model),
        scope_(scope),
        task_(task),
        sizes_(task.sizes),
        lengths_(lengths),
        joined_(joined),
        most_tries_(most_tries) {}

  AttemptReport run() {
    open_model(model_, sizes_, task_.added, scope_);
    constants_ = size_constants(model_, joined_);
    for (const Constant& constant : constants_) report_.joined |= constant.uses.size() > 1;
    replace_tables();
    propose();
    probe_.emplace(model_, constants_, unknowns_, scope_, sizes_);
    order_cases();
    choose();
    if (!found_) {
      explain_failure();
      return std::move(report_);
    }
    take_back_unconfirmed();
    weigh_alternatives();
    emit();
    confirm();
    return std::move(report_);
  }

 private:
  void note(std::string text) { report_.notes.push_back(std::move(text)); }

  std::string case_name(size_t k) const {
    const std::string& name = sizes_.cases[k].name;
    return name.empty() ? "the case" : fmt::format("case '{}'", name);
  }

  // Constants with an axis that grows become nodes; the integers that these need are no constants of the trace.
  void replace_tables() {
    nodes_.emplace(model_, "thaw");
    emitter_.emplace(*nodes_, model_, input_shapes(model_, sizes_));
    read_sizes(model_, sizes_, *emitter_);
    std::set<std::string> integers;
    for (const Constant& constant : constants_) {
      if (std::all_of(constant.elements.begin(), constant.elements.end(), [](int64_t v) { return v <= 0; })) continue;
      for (const ir::Use& use : constant.uses) integers.insert(use.node->input(use.index)->name());
    }
    tables_ = make_tables(model_, task_.tables, sizes_, lengths_, integers, *emitter_);
    report_.changed = tables_.made;
  }

  void propose() {
    lifting::Proposer proposer(points_of(sizes_));
    for (size_t c = 0; c < constants_.size(); ++c) {
      of_constant_.push_back(unknowns_.size());
      for (size_t e = 0; e < constants_[c].elements.size(); ++e) {
        const auto& proposals = proposer.propose(constants_[c].elements[e]);
        if (proposals.size() > 1) unknowns_.push_back({c, e, proposals, {}});
      }
    }
    of_constant_.push_back(unknowns_.size());
    for (const Unknown& unknown : unknowns_) integers_.push_back(integer_of(unknown));
  }

  auto unknowns_of(size_t constant) const {
    return std::views::iota(of_constant_[constant], of_constant_[constant + 1]);
  }

  bool is_any_changed(size_t constant) const {
    return std::ranges::any_of(unknowns_of(constant), [&](size_t i) { return is_changed(i); });
  }

  static size_t integer_of(const Unknown& unknown) {
    const auto constant = std::find_if(unknown.proposals.begin(), unknown.proposals.end(),
                                       [](const lifting::Proposal& p) { return p.dim.is_constant(); });
    return static_cast<size_t>(constant - unknown.proposals.begin());
  }

  // Small cases first: most choices end at the first.
  void order_cases() {
    order_.resize(sizes_.cases.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    const auto bytes = [&](size_t k) {
      size_t sum = 0;
      for (const auto& [name, array] : sizes_.cases[k].feeds) sum += array.bytes.size();
      return sum;
    };
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return bytes(a) < bytes(b); });
  }

  Choice choice_of(const std::vector<size_t>& combinations) const {
    Choice choice(unknowns_.size(), 0);
    for (size_t c = 0; c < combinations.size(); ++c) {
      const Component& component = allowed_.components[c];
      for (size_t i = 0; i < component.unknowns.size(); ++i)
        choice[component.unknowns[i]] = component.combinations[combinations[c]].options[i];
    }
    return choice;
  }

  // The case in which a choice does not agree; nullopt where it agrees in all. The export's own was compared before.
  std::optional<size_t> refuted_by(const Choice& choice, CaseResult* failure = nullptr) {
    for (const size_t k : order_) {
      if (sizes_.at_case == k) continue;
      CaseResult result = probe_->run(choice, k, task_.tolerance);
      if (result.agrees) continue;
      if (failure) *failure = std::move(result);
      return k;
    }
    return std::nullopt;
  }

  void choose() {
    allowed_ = allowed_choices(*probe_, unknowns_, sizes_, scope_);
    if (allowed_.bounded) note("a search among expressions was cut short; the simplest were tried");
    const bool fits = std::none_of(allowed_.components.begin(), allowed_.components.end(),
                                   [](const Component& c) { return c.combinations.empty(); });
    if (!fits) return;
    // Where something stays frozen, one run says so in ONNX Runtime's words.
    const int most_tries = allowed_.contradictions.empty() ? most_tries_ : 1;
    std::vector<size_t> component_of(unknowns_.size());
    for (size_t c = 0; c < allowed_.components.size(); ++c)
      for (const size_t unknown : allowed_.components[c].unknowns) component_of[unknown] = c;
    const SearchResult result = search(allowed_.components, most_tries, [&](const std::vector<size_t>& tried) {
      CaseResult failure;
      if (!refuted_by(choice_of(tried), &failure)) return TrialResult{.agrees = true, .blamed = {}};
      TrialResult trial;
      if (const auto unknowns = probe_->find_unknowns_behind(failure)) {
        std::set<size_t> components;
        for (const size_t unknown : *unknowns) components.insert(component_of[unknown]);
        trial.blamed.emplace(components.begin(), components.end());
      }
      return trial;
    });
    report_.tries = result.tries;
    report_.bounded = result.bounded && allowed_.contradictions.empty();
    found_ = result.chosen.has_value();
    if (!found_) return;
    combinations_ = *result.chosen;
    choice_ = choice_of(combinations_);
  }

  void explain_failure() {
    for (const Contradiction& c : allowed_.contradictions) report_.left.push_back({c.node->describe(), c.text});
    report_.left.insert(report_.left.end(), tables_.left.begin(), tables_.left.end());
    if (report_.tries > 0) {
      report_.left.push_back(
          {"the model", fmt::format("none of {} choices of expressions gives the reference's numbers", report_.tries)});
    }
    // What the most likely choice comes to.
    Choice likely = integers_;
    for (const Component& component : allowed_.components)
      if (!component.combinations.empty())
        for (size_t i = 0; i < component.unknowns.size(); ++i)
          likely[component.unknowns[i]] = component.combinations.front().options[i];
    for (size_t k = 0; k < sizes_.cases.size(); ++k)
      report_.cases.push_back(
          reported(sizes_.cases[k].name, sizes_of_case(sizes_, k), probe_->run(likely, k, task_.tolerance)));
    choice_ = std::move(likely);
    for (size_t c = 0; c < constants_.size(); ++c)
      if (is_any_changed(c)) report_.changed.push_back(change_of(c));
  }

  bool is_changed(size_t unknown) const { return choice_[unknown] != integers_[unknown]; }

  // Those of a component that inference allows to be the number itself, all else as it is chosen.
  std::set<size_t> may_be_integers(const Component& component) const {
    std::vector<size_t> chosen;
    for (const size_t unknown : component.unknowns) chosen.push_back(choice_[unknown]);
    std::set<size_t> found;
    for (const Combination& combination : component.combinations)
      if (const auto i = only_difference(combination.options, chosen)) {
        const size_t unknown = component.unknowns[*i];
        if (combination.options[*i] == integers_[unknown]) found.insert(unknown);
      }
    return found;
  }

  Choice with_integer(size_t unknown) const {
    Choice other = choice_;
    other[unknown] = integers_[unknown];
    return other;
  }

  // An expression in whose place the number does as well in every case is not confirmed. It is taken back, unless the
  // same number is the same expression elsewhere, and confirmed there, and the expression is the simpler of the two.
  void take_back_unconfirmed() {
    taken_back_.resize(unknowns_.size());
    is_doubtful_.resize(unknowns_.size());
    for (const Component& component : allowed_.components) {
      const std::set<size_t> may_be = may_be_integers(component);
      for (const size_t unknown : component.unknowns) {
        if (!is_changed(unknown)) continue;
        is_doubtful_[unknown] = may_be.contains(unknown) && !refuted_by(with_integer(unknown));
        std::vector<dim::Dim>& confirmed = confirmed_[taken(unknown).at.front()];
        if (!is_doubtful_[unknown] && !is_among(taken(unknown).dim, confirmed)) confirmed.push_back(taken(unknown).dim);
      }
    }
    for (const Component& component : allowed_.components) {
      std::optional<std::set<size_t>> may_be;
      for (const size_t unknown : component.unknowns) {
        if (!is_changed(unknown) || !is_doubtful_[unknown] || is_confirmed_elsewhere(unknown)) continue;
        if (!may_be) may_be = may_be_integers(component);
        if (!may_be->contains(unknown)) continue;
        Choice other = with_integer(unknown);
        if (refuted_by(other)) continue;
        taken_back_[unknown] = dim::to_string(taken(unknown).dim);
        // What is far-fetched says nothing.
        if (taken(unknown).cost < unknowns_[unknown].proposals[integers_[unknown]].cost)
          kept_.push_back({unknowns_[unknown].constant, taken(unknown)});
        choice_ = std::move(other);
        may_be.reset();
      }
    }
  }

  const lifting::Proposal& taken(size_t unknown) const { return unknowns_[unknown].proposals[choice_[unknown]]; }

  static bool is_among(dim::Dim size, std::span<const dim::Dim> sizes) {
    return std::ranges::any_of(sizes, [&](dim::Dim each) { return dim::same(each, size); });
  }

  // A 1 may be anything's; a 17 that is a length in ten places is one in the eleventh.
  bool is_confirmed_elsewhere(size_t unknown) const {
    if (taken(unknown).cost >= unknowns_[unknown].proposals[integers_[unknown]].cost) return false;
    const auto confirmed = confirmed_.find(taken(unknown).at.front());
    return confirmed != confirmed_.end() && is_among(taken(unknown).dim, confirmed->second);
  }

  // What else inference allows, run to see whether the reference tells it apart.
  void weigh_alternatives() {
    others_.resize(constants_.size());
    for (const Component& component : allowed_.components) {
      if (std::none_of(component.unknowns.begin(), component.unknowns.end(), [&](size_t u) { return is_changed(u); }))
        continue;
      const double cost =
          component.combinations[combinations_[static_cast<size_t>(&component - allowed_.components.data())]].cost;
      size_t weighed = 0;
      for (const Combination& combination : component.combinations) {
        if (weighed == kMostAlternatives || combination.cost > cost + kTooDear) break;
        Choice other = choice_;
        std::set<size_t> touched;
        for (size_t i = 0; i < component.unknowns.size(); ++i) {
          const size_t unknown = component.unknowns[i];
          if (other[unknown] != combination.options[i]) touched.insert(unknowns_[unknown].constant);
          other[unknown] = combination.options[i];
        }
        if (touched.size() != 1) continue;
        ++weighed;
        const size_t constant = *touched.begin();
        const auto refuting = refuted_by(other);
        others_[constant].push_back(
            refuting ? fmt::format("{} is refuted by {}", text_of(constant, other), case_name(*refuting))
                     : fmt::format("{} does as well in every case", text_of(constant, other)));
      }
    }
  }

  ops::Shape dims_of(size_t constant, const Choice& choice) const {
    ops::Shape dims;
    for (const int64_t v : constants_[constant].elements) dims.emplace_back(v);
    for (const size_t i : unknowns_of(constant)) dims[unknowns_[i].element] = unknowns_[i].proposals[choice[i]].dim;
    return dims;
  }

  std::string text_of(size_t constant, const Choice& choice) const {
    std::vector<std::string> texts;
    for (const dim::Dim d : dims_of(constant, choice)) texts.push_back(dim::to_string(d));
    return constants_[constant].dims.empty() ? texts.front() : fmt::format("[{}]", fmt::join(texts, ", "));
  }

  // What stands there at the export and in each case.
  std::vector<std::string> numbers_of(size_t constant) const {
    std::vector<std::string> texts;
    for (size_t k = 0; k <= sizes_.cases.size(); ++k) {
      Constant now = constants_[constant];
      for (const size_t i : unknowns_of(constant))
        now.elements[unknowns_[i].element] = unknowns_[i].proposals[choice_[i]].at[k];
      texts.push_back(now.text());
    }
    return texts;
  }

  Note change_of(size_t c) const {
    return {.where = constants_[c].describe(),
            .message = fmt::format("{} becomes {}", constants_[c].text(), text_of(c, choice_)),
            .at = numbers_of(c),
            .code = code_of(constants_[c].role)};
  }

  // Sizes that are the same number in every case, and that a list holds: "no case tells 1 from grid_thw[0]".
  std::string describe_untold(size_t c) const {
    const std::vector<int64_t>& elements = constants_[c].elements;
    std::string text;
    for (const Size& size : sizes_.sizes) {
      if (varies(size) || std::find(elements.begin(), elements.end(), *size.at) == elements.end()) continue;
      text += fmt::format("; no case tells {} from {}", *size.at, size.name);
    }
    return text;
  }

  void emit() {
    for (size_t c = 0; c < constants_.size(); ++c) {
      std::string unsure;
      for (const size_t i : unknowns_of(c)) {
        std::vector<std::string> others;
        for (const dim::Dim other : taken(i).same_here | std::views::take(kMostNamed))
          others.push_back(dim::to_string(other));
        if (!taken_back_[i].empty()) others.insert(others.begin(), taken_back_[i]);
        const std::string number = std::to_string(taken(i).at.front());
        if (is_changed(i) && is_doubtful_[i])
          unsure += fmt::format("; here {} does as well in every case, but it is {} elsewhere", number,
                                dim::to_string(taken(i).dim));
        for (const dim::Dim other : taken(i).same_here) untold_.add(taken(i).dim - other);
        if (others.empty()) continue;
        const std::string doubt =
            fmt::format("no case tells {} from {}", dim::to_string(taken(i).dim), fmt::join(others, " or "));
        if (is_changed(i)) {
          if (unsure.find(doubt) == std::string::npos) unsure += "; " + doubt;
        } else {
          report_.left.push_back({.where = constants_[c].describe(),
                                  .message = "stays: " + doubt,
                                  .at = {},
                                  .code = code_of(constants_[c].role)});
        }
      }
      if (!is_any_changed(c)) continue;
      unsure += describe_untold(c);
      for (const std::string& other : others_[c]) unsure += "; " + other;
      report_.changed.push_back(change_of(c));
      report_.changed.back().message += unsure;
      write_sizes(constants_[c], dims_of(c, choice_), *emitter_);
    }
    untold_.add_bounds(model_, scope_, constants_, kept_);
  }

  void confirm() {
    rewrite::remove_unused(model_);
    FixOptions besides_sizes = task_.fix;
    besides_sizes.sizes = false;  // the reference has decided on those
    const rewrite::Changes besides = fixing::fix(model_, besides_sizes);
    for (const Change& c : besides.made)
      report_.changed.push_back({.where = c.location, .message = c.message(), .at = {}, .code = c.kind});
    for (std::string& text : untold_.guard(model_, sizes_, constants_)) note(std::move(text));
    run::Session session(model_);
    report_.confirmed = true;
    for (size_t k = 0; k < sizes_.cases.size(); ++k) {
      const Case& one = sizes_.cases[k];
      report_.cases.push_back(
          reported(one.name, sizes_of_case(sizes_, k), compare_case(session, one.feeds, one.outputs, task_.tolerance)));
      report_.confirmed &= report_.cases.back().agrees;
    }
  }

  ir::Model& model_;
  dim::Scope& scope_;
  const Task& task_;
  const Sizes& sizes_;
  const Lengths& lengths_;
  bool joined_;
  int most_tries_;
  TableReport tables_;
  std::optional<rewrite::Emitter> nodes_;
  std::optional<rewrite::DimEmitter> emitter_;
  std::vector<Constant> constants_;
  std::vector<Unknown> unknowns_;
  std::vector<size_t> of_constant_;  // by constant, the first of its unknowns; and where they end
  Choice integers_;                  // every unknown as it is
  std::optional<Probe> probe_;
  std::vector<size_t> order_;  // cases, small ones first
  Allowed allowed_;
  bool found_ = false;
  std::vector<size_t> combinations_;
  Choice choice_;
  std::vector<bool> is_doubtful_;                       // by unknown: the number does as well as the expression
  std::map<int64_t, std::vector<dim::Dim>> confirmed_;  // by number: what none of its places may be without
  std::vector<std::string> taken_back_;                 // by unknown: the expression that is not confirmed
  std::vector<KeptNumber> kept_;
  std::vector<std::vector<std::string>> others_;  // by constant: what else was run
  Untold untold_;
  AttemptReport report_;
};

}  // namespace

AttemptReport attempt(ir::Model& model, dim::Scope& scope, const Task& task, const Lengths& lengths, bool joined,
                      int most_tries) {
  return OneTraceAttempt(model, scope, task, lengths, joined, most_tries).run();
}

}  // namespace thaw::lifting::onetrace
