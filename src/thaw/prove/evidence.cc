#include "thaw/prove/evidence.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "thaw/prove/read_model.h"
#include "thaw/prove/step.h"

namespace thaw::proving {

using Pair = std::pair<const ir::Value*, const ir::Value*>;

struct EvidenceSearch::Work {
  static constexpr size_t kNodesEach = 64;  // that are read at most, for each node of the models

  const Sides& sides;
  const Terms& terms;
  std::array<const TermsOf*, 2> terms_of;
  const Weights weights;
  Evidence& evidence;
  std::map<Pair, int64_t> step_of;
  std::array<std::unordered_set<TermId>, 2> held;  // terms that values of the model are
  Algebra scratch{sides.scope()};
  std::array<ModelReader, 2> readers{ModelReader(scratch, sides.facts(0), 0), ModelReader(scratch, sides.facts(1), 1)};
  size_t left = 0;

  // What a step says, and the pairs that are to be shown before it.
  struct Plan {
    Step step;
    std::vector<std::optional<Pair>> needed;
  };
  // Values of the main graph from which one is computed, where the walk up from it ends.
  using Leaves = std::map<TermId, std::vector<const ir::Value*>>;

  TermId term_of(size_t side, const ir::Value* value) const {
    const auto found = terms_of[side]->find(value);
    return found == terms_of[side]->end() ? kNoTerm : found->second;
  }

  // Values whose terms are neither opened nor on this side alone end the walk; nullopt where that takes too long.
  std::optional<Leaves> leaves_of(size_t side, const ir::Value* value, const std::unordered_set<TermId>& opened) {
    Leaves leaves;
    std::vector<const ir::Value*> open{value};
    std::unordered_set<const ir::Value*> seen;
    while (!open.empty()) {
      const ir::Value* next = open.back();
      open.pop_back();
      if (!seen.insert(next).second) continue;
      const ir::Node* node = next->producer();
      if (!node || node->constant()) continue;
      const TermId term = term_of(side, next);
      if (next != value) {
        if (readers[side].sizes_of(next)) continue;
        if (term != kNoTerm && held[1 - side].contains(term) && !opened.contains(term)) {
          leaves[term].push_back(next);
          continue;
        }
      }
      if (left == 0) return std::nullopt;
      --left;
      for (const ir::Value* operand : read_by(*node)) open.push_back(operand);
    }
    for (auto& [term, values] : leaves)
      std::ranges::sort(values, {}, [](const ir::Value* v) {
        return std::pair(ir::Graph::position_of(v->producer()), v->producer_index());
      });
    return leaves;
  }

  // The same on both sides, so that each leaf is one of both; opens those that are not.
  std::optional<std::array<Leaves, 2>> common_leaves(const Pair& pair, std::unordered_set<TermId>& opened) {
    while (true) {
      auto ours = leaves_of(0, pair.first, opened), theirs = leaves_of(1, pair.second, opened);
      if (!ours || !theirs) return std::nullopt;
      // One of the two may be what the other one is made of: an Identity.
      const TermId whole = term_of(0, pair.first);
      if (ours->size() == 1 && ours->contains(whole))
        return std::array{std::move(*ours), Leaves{{whole, {pair.second}}}};
      if (theirs->size() == 1 && theirs->contains(whole))
        return std::array{Leaves{{whole, {pair.first}}}, std::move(*theirs)};
      const size_t before = opened.size();
      for (const auto& [term, values] : *ours)
        if (!theirs->contains(term)) opened.insert(term);
      for (const auto& [term, values] : *theirs)
        if (!ours->contains(term)) opened.insert(term);
      if (opened.size() == before) return std::array{std::move(*ours), std::move(*theirs)};
    }
  }

  static std::vector<Pair> pairs_of(const std::array<Leaves, 2>& leaves) {
    std::vector<Pair> pairs;
    for (const auto& [term, ours] : leaves[0]) {
      const auto& theirs = leaves[1].at(term);
      for (const ir::Value* value : theirs) pairs.emplace_back(ours[0], value);
      for (size_t i = 1; i < ours.size(); ++i) pairs.emplace_back(ours[i], theirs[0]);
    }
    return pairs;
  }

  // Whether laws look into a term, beyond its type and shape.
  bool is_looked_into(TermId id) const {
    const Term& term = terms[id];
    return term.kind != Term::Kind::kInput && !(term.kind == Term::Kind::kOperator && term.op.starts_with("node "));
  }

  std::optional<Plan> by_laws(const Pair& pair) {
    std::unordered_set<TermId> opened;
    for (size_t levels = 1;; levels *= 2) {
      auto leaves = common_leaves(pair, opened);
      if (!leaves) return std::nullopt;
      const std::vector<Pair> pairs = pairs_of(*leaves);
      std::vector<Given> given;
      for (const auto& [ours, theirs] : pairs) given.push_back({{ours, theirs}, static_cast<int64_t>(given.size())});
      for (const Weights how : {Weights::kAsRead, Weights::kScaled}) {
        if (how == Weights::kScaled && weights != how) continue;
        auto step = proving::by_laws(sides, {pair.first, pair.second}, given, how);
        if (!step) continue;
        return Plan{std::move(step->step), {pairs.begin(), pairs.end()}};
      }
      // What is given hides what a law looks into.
      for (size_t level = 0; level < levels; ++level) {
        const size_t before = opened.size();
        for (const bool any : {false, true}) {
          for (const auto& [term, values] : (*leaves)[0])
            if (any || is_looked_into(term)) opened.insert(term);
          if (opened.size() > before) break;
        }
        if (opened.size() == before) return std::nullopt;
        leaves = common_leaves(pair, opened);
        if (!leaves) return std::nullopt;
        if ((*leaves)[0].empty()) break;
      }
    }
  }

  std::optional<Plan> by_node(const Pair& pair) const {
    const ir::Node *ours = pair.first->producer(), *theirs = pair.second->producer();
    if (!ours || !theirs) return std::nullopt;
    auto inputs = ours->inputs(), others = theirs->inputs();
    while (!inputs.empty() && !inputs.back()) inputs = inputs.first(inputs.size() - 1);
    while (!others.empty() && !others.back()) others = others.first(others.size() - 1);
    if (inputs.size() != others.size()) return std::nullopt;
    std::vector<std::optional<Equal>> operands;
    Plan plan;
    plan.step.by = Step::By::kNode;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i] != !others[i]) return std::nullopt;
      operands.push_back(inputs[i] ? std::optional(Equal{inputs[i], others[i]}) : std::nullopt);
      plan.needed.push_back(inputs[i] ? std::optional(Pair(inputs[i], others[i])) : std::nullopt);
      if (inputs[i] && (term_of(0, inputs[i]) == kNoTerm || term_of(0, inputs[i]) != term_of(1, others[i])))
        return std::nullopt;
    }
    if (!do_the_same(sides, {pair.first, pair.second}, operands)) return std::nullopt;
    return plan;
  }

  std::optional<Plan> plan_of(const Pair& pair) {
    const Equal both{pair.first, pair.second};
    Plan plan;
    plan.step.by = Step::By::kInput;
    if (are_one_input(sides, both)) return plan;
    plan.step.by = Step::By::kConstant;
    if (are_one_constant(both)) return plan;
    if (auto sizes = common_sizes(sides, both)) {
      plan.step = std::move(*sizes);
      return plan;
    }
    if (auto node = by_node(pair)) return node;
    return by_laws(pair);
  }

  // Adds the steps of a pair, those before it first.
  std::optional<int64_t> show(const Pair& wanted) {
    std::map<Pair, Plan> plans;
    std::vector<Pair> open{wanted};
    while (!open.empty()) {
      const Pair pair = open.back();
      if (step_of.contains(pair)) {
        open.pop_back();
        continue;
      }
      const auto [at, is_new] = plans.try_emplace(pair);
      if (is_new) {
        auto plan = plan_of(pair);
        if (!plan) return std::nullopt;
        at->second = std::move(*plan);
        for (const auto& needed : at->second.needed)
          if (needed && !step_of.contains(*needed)) open.push_back(*needed);
        if (open.back() != pair) continue;
      }
      Certainty certainty;
      auto step = finished(pair, std::move(at->second), certainty);
      if (!step) return std::nullopt;
      evidence.certainties.push_back(certainty);
      step_of[pair] = static_cast<int64_t>(evidence.steps.size());
      evidence.steps.push_back(std::move(*step));
      open.pop_back();
    }
    return step_of.at(wanted);
  }

  // With the numbers of the steps that it needs.
  std::optional<Step> finished(const Pair& pair, Plan plan, Certainty& certainty) {
    Step step = std::move(plan.step);
    std::vector<int64_t> given;
    for (const auto& needed : plan.needed) given.push_back(needed ? step_of.at(*needed) : -1);
    if (step.by == Step::By::kLaws) {  // in the order of the steps, by which the term is written
      std::ranges::sort(given);
      given.erase(std::ranges::unique(given).begin(), given.end());
      std::vector<Given> known;
      for (const int64_t number : given) {
        const Step& before = evidence.steps[static_cast<size_t>(number)];
        known.push_back({{sides.find(before.model, 0), sides.find(before.reference, 1)},
                         number,
                         evidence.certainties[static_cast<size_t>(number)]});
      }
      auto again = proving::by_laws(sides, {pair.first, pair.second}, known,
                                    step.has_scaled_weights ? Weights::kScaled : Weights::kAsRead);
      if (!again) return std::nullopt;
      step = std::move(again->step);
      certainty = again->certainty;
    } else if (step.by == Step::By::kNode) {
      std::vector<Certainty> operands;
      for (const int64_t number : given)
        if (number >= 0) operands.push_back(evidence.certainties[static_cast<size_t>(number)]);
      certainty = certainty_of(sides, {pair.first, pair.second}, operands);
      if (certainty.is_uncertain) return std::nullopt;
    } else {
      certainty.has_input = step.by == Step::By::kInput;
    }
    step.given = std::move(given);
    step.model = sides.name_of(pair.first, 0);
    step.reference = sides.name_of(pair.second, 1);
    return step;
  }
};

bool is_shown(const Evidence& evidence, const std::string& output) {
  return std::ranges::find(evidence.outputs, output, &ShownOutput::name) != evidence.outputs.end();
}

EvidenceSearch::EvidenceSearch(const Sides& sides, const Terms& terms, const std::array<const TermsOf*, 2>& terms_of,
                               Weights weights, Evidence& evidence)
    : work_(new Work{.sides = sides,
                     .terms = terms,
                     .terms_of = terms_of,
                     .weights = weights,
                     .evidence = evidence,
                     .step_of = {},
                     .held = {}}) {
  for (size_t i = 0; i < 2; ++i) {
    for (const auto& [value, term] : *terms_of[i])
      if (value->graph() == sides.facts(i).model().graph.get()) work_->held[i].insert(term);
    work_->left += Work::kNodesEach * sides.facts(i).model().graph->num_nodes();
  }
  for (size_t i = 0; i < evidence.steps.size(); ++i) {
    const Step& step = evidence.steps[i];
    work_->step_of.emplace(Pair(sides.find(step.model, 0), sides.find(step.reference, 1)), static_cast<int64_t>(i));
  }
}

EvidenceSearch::~EvidenceSearch() = default;

bool EvidenceSearch::show(const std::string& output) {
  const size_t before = work_->evidence.steps.size();
  const auto step = work_->show({work_->sides.output(0, output), work_->sides.output(1, output)});
  if (step) {
    work_->evidence.outputs.push_back({output, static_cast<size_t>(*step)});
    return true;
  }
  work_->evidence.steps.resize(before);
  work_->evidence.certainties.resize(before);
  std::erase_if(work_->step_of, [&](const auto& one) { return one.second >= static_cast<int64_t>(before); });
  return false;
}

}  // namespace thaw::proving
