#include "thaw/prove/step.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/disjoint_sets.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/prove/read_model.h"
#include "thaw/prove/term_text.h"

namespace thaw::proving {
namespace {

bool is_fed(const ir::Value* value) {
  return value->is_input() && !value->fixed_constant() && !value->sparse_initializer();
}

// As a node that is read, for what it does alone.
NodeToRead to_read(const ir::Model& model, const ir::Node& node) {
  return {
      .node = node, .opset = model.opset(node.domain()).value_or(1), .operands = {}, .results = {}, .is_new_size = {}};
}

std::span<ir::Value* const> operands_of(const ir::Node& node) {
  auto inputs = node.inputs();
  while (!inputs.empty() && !inputs.back()) inputs = inputs.first(inputs.size() - 1);
  return inputs;
}

}  // namespace

bool are_one_input(const Sides& sides, const Equal& pair) {
  return is_fed(pair.model) && is_fed(pair.reference) && pair.model->name() == pair.reference->name() &&
         sides.facts(0).fact(pair.model).dtype == sides.facts(1).fact(pair.reference).dtype;
}

bool are_one_constant(const Equal& pair) {
  const ir::Tensor *a = pair.model->fixed_constant(), *b = pair.reference->fixed_constant();
  if (!a || !b || a->data_type != b->data_type || a->dims != b->dims) return false;
  if (a->data_type == ir::DataType::kString) return a->to_strings() == b->to_strings();
  return std::ranges::equal(a->bytes(), b->bytes());
}

std::optional<Step> common_sizes(const Sides& sides, const Equal& pair) {
  Algebra algebra(sides.scope());
  ModelReader model(algebra, sides.facts(0), 0), reference(algebra, sides.facts(1), 1);
  const auto ours = model.sizes_of(pair.model), theirs = reference.sizes_of(pair.reference);
  if (!ours || !theirs || *ours != *theirs) return std::nullopt;
  return Step{.model = {},
              .reference = {},
              .by = Step::By::kSizes,
              .given = {},
              .model_nodes = {},
              .reference_nodes = {},
              .term = text_of(algebra.terms, *ours, {}),
              .rounded = {},
              .assumed = texts_of(algebra.terms[*ours].assumed)};
}

bool do_the_same(const Sides& sides, const Equal& pair, std::span<const std::optional<Equal>> operands) {
  const std::array nodes{pair.model->producer(), pair.reference->producer()};
  if (!nodes[0] || !nodes[1] || pair.model->producer_index() != pair.reference->producer_index()) return false;
  std::array<std::optional<std::string>, 2> settings;
  for (size_t i = 0; i < 2; ++i) {
    const ir::Node& node = *nodes[i];
    const ir::Model& model = sides.facts(i).model();
    if (!node.subgraphs().empty() || model.find_function(node.domain(), node.op_type(), node.overload())) return false;
    settings[i] = settings_of(to_read(model, node));
  }
  if (!settings[0] || settings[0] != settings[1] || nodes[0]->op_type() != nodes[1]->op_type()) return false;
  const auto ours = operands_of(*nodes[0]), theirs = operands_of(*nodes[1]);
  if (ours.size() != theirs.size() || ours.size() != operands.size()) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Equal given = operands[i].value_or(Equal());
    if (ours[i] != given.model || theirs[i] != given.reference) return false;
    // Floating-point numbers that sizes are made of count to the last bit.
    if (ours[i] && ops::role_of(*nodes[0], static_cast<int>(i)) == ops::Role::kScales && !are_one_constant(given) &&
        !are_one_input(sides, given))
      return false;
  }
  return true;
}

Certainty certainty_of(const Sides& sides, const Equal& pair, std::span<const Certainty> operands) {
  Certainty made;
  for (const Certainty& one : operands) {
    made.is_taken |= one.is_taken;
    made.has_input |= one.has_input;
    made.is_uncertain |= one.is_uncertain;
  }
  const ir::Node& node = *pair.model->producer();
  std::vector<ir::DataType> types;
  for (const ir::Value* operand : node.inputs())
    if (operand) types.push_back(sides.facts(0).fact(operand).dtype);
  made.is_uncertain |=
      made.is_taken && !made.has_input && is_step_of(node.op_type(), sides.facts(0).fact(pair.model).dtype, types);
  return made;
}

std::optional<Shown> by_laws(const Sides& sides, const Equal& pair, std::span<const Given> given, Weights weights) {
  Algebra algebra(sides.scope(), weights);
  // Values that what is given connects are one.
  std::map<std::pair<size_t, const ir::Value*>, size_t> number_of;
  DisjointSets sets(2 * given.size());
  const auto number = [&](size_t side, const ir::Value* value) {
    return number_of.try_emplace({side, value}, number_of.size()).first->second;
  };
  for (const Given& one : given) sets.join(number(0, one.pair.model), number(1, one.pair.reference));
  std::map<size_t, TermId> leaf_of;
  std::unordered_map<TermId, Certainty> certainties;
  std::unordered_map<TermId, std::string> names;
  std::array<std::vector<std::pair<const ir::Value*, TermId>>, 2> known;
  for (const Given& one : given) {
    const ops::Fact &ours = sides.facts(0).fact(one.pair.model), &theirs = sides.facts(1).fact(one.pair.reference);
    if (ours.dtype != theirs.dtype) return std::nullopt;
    const auto [leaf, is_new] = leaf_of.try_emplace(sets.first_of(number(0, one.pair.model)), kNoTerm);
    if (is_new) {
      Term term;
      term.kind = Term::Kind::kInput;
      term.settings = fmt::format("step {}", one.step);
      term.dtype = ours.dtype;
      term.shape = ours.shape;
      leaf->second = algebra.terms.add(std::move(term));
      names.emplace(leaf->second, fmt::format("step {}", one.step));
    }
    Certainty& certainty = certainties[leaf->second];
    certainty.is_taken |= one.certainty.is_taken;
    certainty.is_uncertain |= one.certainty.is_uncertain;
    certainty.has_input |= one.certainty.has_input;
    known[0].emplace_back(one.pair.model, leaf->second);
    known[1].emplace_back(one.pair.reference, leaf->second);
  }
  ModelReader model(algebra, sides.facts(0), 0), reference(algebra, sides.facts(1), 1);
  const TermId ours = model.read_from(known[0], pair.model), theirs = reference.read_from(known[1], pair.reference);
  if (ours != theirs) return std::nullopt;
  const Certainty certainty = algebra.certainties(certainties)[ours];
  if (certainty.is_uncertain) return std::nullopt;
  // What is given and not needed would say more than was looked at.
  for (const Given& one : given)
    if (!model.has_reached(one.pair.model) || !reference.has_reached(one.pair.reference)) return std::nullopt;
  Step step{.model = {},
            .reference = {},
            .by = Step::By::kLaws,
            .given = {},
            .model_nodes = {},
            .reference_nodes = {},
            .term = text_of(algebra.terms, ours, names),
            .has_scaled_weights = weights == Weights::kScaled,
            .rounded = algebra.constants.rounded(),
            .assumed = texts_of(algebra.terms.all_assumed()[ours])};
  for (const auto& [reader, side, nodes] :
       {std::tuple(&model, size_t{0}, &step.model_nodes), {&reference, 1, &step.reference_nodes}})
    for (const ir::Node* node : reader->nodes_read()) {
      const auto made = std::ranges::find_if(node->outputs(), [](const ir::Value* value) { return value != nullptr; });
      nodes->push_back(
          fmt::format("{} '{}'", node->op_type(), made == node->outputs().end() ? "" : sides.name_of(*made, side)));
    }
  return Shown{std::move(step), certainty};
}

}  // namespace thaw::proving
