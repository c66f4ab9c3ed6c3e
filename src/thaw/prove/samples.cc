#include "thaw/prove/samples.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/prove/expand_calls.h"
#include "thaw/prove/laws.h"
#include "thaw/prove/read_model.h"

namespace thaw::proving {

using dim::Dim;
using ops::Fact, ops::Shape;
using Kind = Samples::Kind;

bool mentions(Dim d, Dim symbol) {
  if (!d.is_symbolic()) return false;
  const auto symbols = dim::symbols_of(d);
  return std::ranges::find(symbols, dim::symbols_of(symbol)[0]) != symbols.end();
}

const Shape* NodeOfSamples::shape(size_t i) const {
  if (!has(i)) return nullptr;
  const Fact& fact = facts.fact(node.inputs()[i]);
  return is_known(fact.shape) ? &*fact.shape : nullptr;
}

const Shape* NodeOfSamples::result_shape(size_t i) const {
  const ir::Value* value = node.output(static_cast<int>(i));
  if (!value) return nullptr;
  const Fact& fact = facts.fact(value);
  return is_known(fact.shape) ? &*fact.shape : nullptr;
}

std::vector<Dim> NodeOfSamples::elements(size_t i) const {
  std::vector<Dim> made;
  if (!has(i)) return made;
  if (const auto& known = facts.fact(node.inputs()[i]).elements)
    for (const ops::Element& one : *known) made.push_back(one.as_dim());
  return made;
}

namespace {

// From a model's inputs on, in order.
class Walk {
 public:
  Walk(const ir::Model& model, const ModelFacts& facts, const dim::Scope& scope, Dim batch)
      : model_(model), facts_(facts), scope_(scope), batch_(batch) {}

  Samples of(const ir::Value* value) {
    if (!value || value->fixed_constant()) return {};
    const auto found = known_.find(value);
    return found == known_.end() ? Samples{.kind = Kind::kMixed} : found->second;
  }

  void read_inputs() {
    for (const ir::Value* input : model_.graph->inputs()) {
      const auto& shape = facts_.fact(input).shape;
      Samples made;
      if (shape && std::ranges::any_of(*shape, [&](Dim d) { return mentions(d, batch_); })) made.kind = Kind::kRows;
      if (!shape) made.kind = Kind::kMixed;
      known_[input] = checked(made, input, nullptr);
    }
  }

  void read(const ir::Graph& graph) {
    for (const ir::Node* node : graph.nodes()) {
      if (!model_.budget->spend(1)) model_.budget->require(node->describe());
      read(*node);
    }
  }

 private:
  void read(const ir::Node& node) {
    if (node.constant()) return;
    NodeOfSamples of{.node = node,
                     .opset = model_.opset(node.domain()).value_or(1),
                     .facts = facts_,
                     .batch = batch_,
                     .operands = {}};
    for (const ir::Value* input : node.inputs()) of.operands.push_back(this->of(input));
    const bool are_all_none =
        std::ranges::all_of(read_by(node), [&](const ir::Value* v) { return this->of(v).is_none(); });
    if (!node.subgraphs().empty() && !are_all_none) {
      read_control(of);
      return;
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const ir::Value* output = node.outputs()[i];
      if (output) known_[output] = made_by(of, i, output, are_all_none);
    }
  }

  Samples made_by(const NodeOfSamples& of, size_t i, const ir::Value* output, bool are_all_none) {
    if (!gives_the_same_twice(of.node)) return {.kind = Kind::kMixed, .at = &of.node};
    if (are_all_none) return checked({}, output, &of.node);
    if (const auto counted = as_sizes(facts_.fact(output))) return *counted;
    for (const Samples& operand : of.operands)
      if (operand.kind == Kind::kMixed) return operand;
    return checked(after(of, i), output, &of.node);
  }

  // Integers that inference knows as expressions of sizes.
  std::optional<Samples> as_sizes(const Fact& fact) const {
    if (!fact.elements) return std::nullopt;
    Samples made;
    for (const ops::Element& one : *fact.elements) {
      const Dim d = one.as_dim();
      if (d.is_unknown() || !is_of_inputs(d)) return std::nullopt;
      if (mentions(d, batch_)) made.kind = Kind::kCount;
    }
    return made;
  }

  // Whether an expression is one of sizes of inputs alone.
  bool is_of_inputs(Dim d) const {
    if (!d.is_symbolic()) return d.is_known();
    return std::ranges::all_of(dim::symbols_of(d), [&](int symbol) {
      return scope_.symbols()[static_cast<size_t>(symbol)].kind == dim::SymbolKind::kInputDim;
    });
  }

  // The axis holds a whole number of each sample's parts, and no other axis is as long as there are samples.
  Samples checked(Samples made, const ir::Value* value, const ir::Node* node) const {
    if (made.kind == Kind::kMixed) {
      if (!made.at) made.at = node;
      return made;
    }
    const Fact& fact = facts_.fact(value);
    const Samples mixed{.kind = Kind::kMixed, .at = node};
    if (made.kind == Kind::kCount) return made;
    if (!fact.is_tensor()) return made.is_none() ? made : mixed;
    if (!fact.shape) return made.is_none() ? made : mixed;
    for (size_t k = 0; k < fact.shape->size(); ++k) {
      const Dim size = (*fact.shape)[k];
      if (made.is_rows() && k == made.axis) {
        if (size.is_unknown() || made.inner.is_unknown() || !dim::exact_div(size, batch_ * made.inner)) return mixed;
      } else if (mentions(size, batch_)) {
        return mixed;
      } else if (made.is_rows() && (size.is_unknown() || dim::is_data_dependent(size))) {
        return mixed;  // it may be one of how many samples there are
      }
    }
    return made.is_rows() && made.axis >= fact.shape->size() ? mixed : made;
  }

  bool gives_the_same_twice(const ir::Node& node) const {
    if (!node.subgraphs().empty())
      return std::ranges::all_of(node.subgraphs(), [&](const ir::Graph* graph) {
        return std::ranges::all_of(graph->nodes(), [&](const ir::Node* inner) { return gives_the_same_twice(*inner); });
      });
    if (model_.find_function(node.domain(), node.op_type(), node.overload())) return false;
    return node.constant() || settings_of({.node = node,
                                           .opset = model_.opset(node.domain()).value_or(1),
                                           .operands = {},
                                           .results = {},
                                           .is_new_size = {}})
                                  .has_value();
  }

  void read_control(const NodeOfSamples& of) {
    const ir::Node& node = of.node;
    const bool is_same = gives_the_same_twice(node);
    if (is_same && node.domain().empty() && node.op_type() == "If" && of.operands.size() == 1 &&
        of.operands[0].is_none()) {
      read_branches(node);
      return;
    }
    if (is_same && node.domain().empty() && node.op_type() == "Scan" && reads_each_sample(of)) {
      for (const ir::Value* output : node.outputs())
        if (output) known_[output] = checked({.kind = Kind::kRows}, output, &node);
      return;
    }
    for (const ir::Value* output : node.outputs())
      if (output) known_[output] = {.kind = Kind::kMixed, .at = &node};
  }

  // One condition for all: what either branch makes, where both hold samples alike.
  void read_branches(const ir::Node& node) {
    std::vector<std::vector<Samples>> results;
    for (const ir::Graph* graph : node.subgraphs()) {
      read(*graph);
      auto& made = results.emplace_back();
      for (const ir::Value* output : graph->outputs()) made.push_back(of(output));
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const ir::Value* output = node.outputs()[i];
      if (!output) continue;
      Samples made{.kind = Kind::kMixed, .at = &node};
      if (results.size() == 2 && i < results[0].size() && i < results[1].size()) {
        const Samples &a = results[0][i], &b = results[1][i];
        const bool is_alike = a.kind == b.kind && a.axis == b.axis && dim::same(a.inner, b.inner);
        if (is_alike || a.kind == Kind::kMixed) made = a;
        if (b.kind == Kind::kMixed) made = b;
      }
      known_[output] = checked(made, output, &node);
    }
  }

  // A Scan over samples that keeps nothing from one to the next.
  bool reads_each_sample(const NodeOfSamples& of) {
    const ir::Node& node = of.node;
    const auto is_plain = [&](std::string_view name) {
      const auto given = node.attribute_ints(name);
      return std::ranges::all_of(given, [](int64_t v) { return v == 0; });
    };
    if (of.opset < 9 || node.attribute_int("num_scan_inputs", 0) != static_cast<int64_t>(node.inputs().size()) ||
        !is_plain("scan_input_axes") || !is_plain("scan_input_directions") || !is_plain("scan_output_axes") ||
        !is_plain("scan_output_directions"))
      return false;
    for (const Samples& operand : of.operands)
      if (!operand.is_rows() || operand.axis != 0 || !operand.inner.is_constant(1)) return false;
    // The first axis is as long as there are samples: no more than one of each stands behind another.
    for (size_t i = 0; i < of.operands.size(); ++i)
      if (!of.shape(i) || !dim::same((*of.shape(i))[0], batch_)) return false;
    const auto inputs = node.inputs();
    return std::ranges::all_of(read_by(node), [&](const ir::Value* value) {
      return std::ranges::find(inputs, value) != inputs.end() || this->of(value).is_none();
    });
  }

  const ir::Model& model_;
  const ModelFacts& facts_;
  const dim::Scope& scope_;
  const Dim batch_;
  std::unordered_map<const ir::Value*, Samples> known_;
};

}  // namespace

std::vector<OutputOfSamples> samples_apart(const ir::Model& batched, std::string_view batch) {
  const std::unique_ptr<ir::Model> model = ir::clone(batched);
  expand_calls(*model);
  dim::Scope scope;
  scope.set_budget(kMostOfSize);
  const ModelFacts facts(*model, scope);
  const Dim count = scope.symbol(batch);
  Walk walk(*model, facts, scope, count);
  walk.read_inputs();
  walk.read(*model->graph);
  std::vector<OutputOfSamples> made;
  for (const ir::Value* output : model->graph->outputs()) {
    const Samples samples = walk.of(output);
    OutputOfSamples& one = made.emplace_back(OutputOfSamples{.name = output->name(), .place = {}});
    if (samples.kind == Kind::kMixed) {
      one.place = samples.at ? samples.at->describe() : fmt::format("input '{}'", output->name());
    } else if (samples.kind == Kind::kCount) {
      one.place = "it is made of how many samples there are";
    } else if (samples.is_rows()) {
      const auto& shape = facts.fact(output).shape;
      if (samples.axis != 0 || !samples.inner.is_constant(1) || !dim::same((*shape)[0], count))
        one.place = "the samples do not stand in its first axis";
    }
  }
  return made;
}

}  // namespace thaw::proving
