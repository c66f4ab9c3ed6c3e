#include "thaw/fix/thaw_attempt.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/frozen/frozen.h"
#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/dim_emitter.h"

namespace thaw::fixing {

using dim::Dim;
using frozen::FrozenRole;
using frozen::FrozenSite;
using ir::Node;
using ir::Value;

namespace {

std::vector<std::pair<std::string, std::string>> replaced_at(const FrozenSite& site) {
  std::vector<std::pair<std::string, std::string>> replaced{
      {std::to_string(site.value), dim::to_string(site.expression)}};
  for (const frozen::FrozenSize& s : site.more)
    replaced.emplace_back(std::to_string(s.value), dim::to_string(s.expression));
  return replaced;
}

// The sizes that keep a site from being rewritten: those that several of its elements share, where there are such; the
// others may move once these stay.
std::set<std::string> sizes_to_blame(const FrozenSite& site) {
  std::set<std::string> shared;
  if (site.product || site.by_chance) shared = sizes_in(site.expression);
  for (const frozen::FrozenSize& more : site.more)
    if (more.product || more.by_chance) shared.merge(sizes_in(more.expression));
  return shared.empty() ? sizes_in(site) : shared;
}

// Whether several sizes give one of its numbers.
bool is_doubtful(const FrozenSite& site) {
  return site.product || site.by_chance ||
         std::ranges::any_of(site.more, [](const frozen::FrozenSize& s) { return s.product || s.by_chance; });
}

// Why such a number is not written.
std::string doubt_of(const FrozenSite& site) {
  std::string numbers, expressions;
  bool is_shared = false;
  const auto add = [&](const auto& size) {
    if (!size.product && !size.by_chance) return;
    is_shared |= size.product;
    const std::string text = dim::to_string(size.expression);
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", size.value);
    if (expressions.find(text) == std::string::npos) expressions += (expressions.empty() ? "" : " and ") + text;
  };
  add(site);
  for (const frozen::FrozenSize& more : site.more) add(more);
  if (is_shared)
    return fmt::format(
        "several sizes give {}: elements share {}, and which of them move with it does not follow from "
        "one model",
        numbers, expressions);
  return fmt::format(
      "several sizes give {}: {} is one, and the model may as well be of sizes at which it is another "
      "number",
      numbers, expressions);
}

// A node with its frozen sizes thawed.
class Thawed final : public infer::FactsView<ops::ThawedView> {
 public:
  Thawed(const frozen::FrozenAnalysis& analysis, const ir::Model& model, const Node& node)
      : FactsView(analysis.result, model, node), hints_(analysis.hints) {}
  const dim::Assignment& hints() const override { return hints_; }

 private:
  const dim::Assignment& hints_;
};

class SizeThawer {
 public:
  SizeThawer(ir::Model& model, const std::set<std::string>& held) : model_(model), graph_(*model.graph), held_(held) {}

  Attempt run() {
    analysis_ = frozen::find_frozen(model_, scope_, held_);
    if (analysis_.sites.empty()) return std::move(out_);
    describe_inputs();
    using rewrite::DimEmitter;
    if (nodes_.opset() >= DimEmitter::kOpsetOfSome)
      emitter_ = std::make_unique<DimEmitter>(nodes_, model_, input_shapes_, DimEmitter::kOpsetOfSome);
    for (const FrozenSite& site : analysis_.sites) visit(site);
    if (analysis_.all_inputs_static && out_.changes.modified()) open_inputs();
    return std::move(out_);
  }

 private:
  void describe_inputs() {
    for (const Value* input : graph_.inputs()) {
      const ops::Fact& fact = analysis_.result.fact(input);
      if (!fact.shape) continue;
      input_shapes_[input] = *fact.shape;
      for (size_t axis = 0; axis < fact.shape->size(); ++axis)
        if (scope_.symbol_id((*fact.shape)[axis]) >= 0)
          out_.axes[dim::to_string((*fact.shape)[axis])].push_back(fmt::format("axis {} of '{}'", axis, input->name()));
    }
    for (const auto& [id, size] : analysis_.hints) out_.sizes[scope_.symbols()[static_cast<size_t>(id)].name] = size;
  }

  void leave(const FrozenSite& site, const std::set<std::string>& sizes, const std::string& why) {
    Change left{.kind = code_of(site.role), .place = place_of(site), .why = why};
    for (const std::string& size : sizes) out_.bound.push_back({size, left});
    out_.changes.left.push_back(std::move(left));
  }

  void visit(const FrozenSite& site) {
    switch (site.role) {
      case FrozenRole::kTable:
      case FrozenRole::kIndex:
        return leave(site, sizes_in(site), "a table: how it grows with the size does not follow from one model");
      case FrozenRole::kWeight:
        // A size that an input declares free, and a weight fixes, is the network's: it holds nothing back.
        return leave(site, analysis_.all_inputs_static ? sizes_in(site) : std::set<std::string>(),
                     "a trained weight that admits one size only");
      case FrozenRole::kShape:
      case FrozenRole::kSplit:
      case FrozenRole::kSlice:
      case FrozenRole::kAttribute:
        break;
    }
    const std::set<std::string> sizes = sizes_in(site);
    std::vector<std::string> staying;
    std::ranges::set_intersection(sizes, held_, std::back_inserter(staying));
    if (!staying.empty())
      return leave(site, sizes, fmt::format("it holds a size of '{}', which stays", fmt::join(staying, "' and '")));
    if (is_doubtful(site)) return leave(site, sizes_to_blame(site), doubt_of(site));
    if (!site.constant) return leave(site, sizes, "the number stands in an attribute or is computed");
    thaw(site);
  }

  // One constant may serve many nodes: each gets the target that its own operands demand.
  void thaw(const FrozenSite& site) {
    int done = 0, open = 0;
    const std::vector<ir::Use> uses(site.constant->uses().begin(), site.constant->uses().end());
    for (const ir::Use& use : uses) {
      const bool is_thawed = use.node->graph() == &graph_ && ops::holds_size(ops::role_of(*use.node, use.index)) &&
                             thaw_operand(*use.node, use.index, site);
      is_thawed ? ++done : ++open;
    }
    if (done > 0) {
      out_.freed.merge(sizes_in(site));
      out_.changes.made.push_back({code_of(site.role), site.constant->name(), {}, replaced_at(site), /*nodes=*/done});
    }
    if (open == 0) return;
    const std::string who = fmt::format("{} of its readers {}", open, open == 1 ? "has" : "have");
    leave(site, sizes_in(site),
          nodes_.opset() >= rewrite::DimEmitter::kOpsetOfAll
              ? who + " no shape that the graph proves"
              : fmt::format("{} no shape that the graph proves and opset {} computes", who, nodes_.opset()));
  }

  // The operand becomes what its operator's size rule says: plain numbers where they do, else computed.
  bool thaw_operand(Node& node, int input, const FrozenSite& site) {
    Thawed view(analysis_, model_, node);
    const ops::Operator& op = *ops::registry().find(node);
    auto sizes = op.sizes ? op.sizes(view, input) : thawed_shape(op, view, input, site);
    const auto now = view.ints(input);
    if (!sizes || !now || now->size() != sizes->size()) return false;
    bool changes = false;
    for (size_t k = 0; k < sizes->size(); ++k) {
      Dim& size = (*sizes)[k];
      if (size.is_unknown()) size = (*now)[k];
      changes |= !size.is_constant((*now)[k]);
    }
    if (!changes) return false;
    const std::string name = graph_.unique_name(node.output(0)->name() + "_sizes");
    if (std::ranges::all_of(*sizes, [](Dim d) { return d.is_constant(); })) {
      std::vector<int64_t> numbers;
      for (const Dim d : *sizes) numbers.push_back(*d.constant());
      node.set_input(
          input, graph_.add_initializer(ir::Tensor::from_int64(name, {static_cast<int64_t>(numbers.size())}, numbers)));
      return true;
    }
    if (!emitter_ || !std::ranges::all_of(*sizes, [&](Dim d) { return emitter_->can_emit(d); })) return false;
    node.set_input(input, emitter_->emit_shape(*sizes));
    return true;
  }

  // The shape of an output, with the sizes of the site in place of their numbers; a number that stands there twice may be
  // either's.
  static std::optional<std::vector<Dim>> thawed_shape(const ops::Operator& op, ops::NodeView& view, int input,
                                                      const FrozenSite& site) {
    const auto now = view.ints(input);
    if (op.operands[input] != ops::Role::kShape || !now) return std::nullopt;
    std::vector<Dim> sizes(now->begin(), now->end());
    const auto put = [&](int64_t value, Dim expression) {
      if (std::ranges::count(*now, value) == 1)
        sizes[static_cast<size_t>(std::ranges::find(*now, value) - now->begin())] = expression;
    };
    put(site.value, site.expression);
    for (const frozen::FrozenSize& more : site.more) put(more.value, more.expression);
    return sizes;
  }

  // A model all of whose inputs were numbers: those that the analysis took as sizes are named.
  void open_inputs() {
    for (Value* input : graph_.inputs()) {
      const ops::Fact& fact = analysis_.result.fact(input);
      if (!fact.shape || !input->type.shape || input->initializer()) continue;
      for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
        const Dim size = (*fact.shape)[axis];
        if (scope_.symbol_id(size) < 0) continue;
        const std::string name = dim::to_string(size);
        const ir::DeclaredDim& declared = (*input->type.shape)[axis];
        out_.freed.insert(name);
        out_.opened.insert(name);
        out_.changes.made.push_back({"THAW010",
                                     input->name(),
                                     fmt::format("axis {}", axis),
                                     {{std::to_string(declared.value.value_or(0)), fmt::format("'{}'", name)}}});
        input->set_dim(axis, {{}, name, declared.denotation});
      }
    }
  }

  ir::Model& model_;
  ir::Graph& graph_;
  const std::set<std::string>& held_;
  Attempt out_;
  dim::Scope scope_;
  frozen::FrozenAnalysis analysis_;
  std::unordered_map<const Value*, ops::Shape> input_shapes_;
  rewrite::Emitter nodes_{model_, "thaw"};
  std::unique_ptr<rewrite::DimEmitter> emitter_;
};

}  // namespace

Attempt attempt_to_thaw(ir::Model& model, const std::set<std::string>& held) { return SizeThawer(model, held).run(); }

}  // namespace thaw::fixing
