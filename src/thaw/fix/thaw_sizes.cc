#include "thaw/fix/thaw_sizes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/frozen/frozen.h"
#include "thaw/infer/facts_view.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/dim_emitter.h"

namespace thaw::fix {

using dim::Dim;
using frozen::FrozenRole;
using frozen::FrozenSite;
using ir::Node;
using ir::Value;

namespace {

std::string_view code_of(FrozenRole role) {
  switch (role) {
    case FrozenRole::kShape:
    case FrozenRole::kAttribute:
      return "THAW010";
    case FrozenRole::kSplit:
      return "THAW011";
    case FrozenRole::kSlice:
      return "THAW012";
    case FrozenRole::kTable:
      return "THAW013";
    case FrozenRole::kIndex:
      return "THAW014";
    case FrozenRole::kWeight:
      return "THAW015";
  }
  return "";
}

std::vector<std::pair<std::string, std::string>> replaced_at(const FrozenSite& site) {
  std::vector<std::pair<std::string, std::string>> replaced{
      {std::to_string(site.value), dim::to_string(site.expression)}};
  for (const frozen::FrozenSize& s : site.more)
    replaced.emplace_back(std::to_string(s.value), dim::to_string(s.expression));
  return replaced;
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
  SizeThawer(ir::Model& model, rewrite::Changes& changes) : model_(model), graph_(*model.graph), changes_(changes) {}

  void run() {
    analysis_ = frozen::find_frozen(model_, scope_);
    if (analysis_.sites.empty()) return;
    std::unordered_map<const Value*, ops::Shape> input_shapes;
    for (const Value* input : graph_.inputs()) {
      const ops::Fact& fact = analysis_.result.fact(input);
      if (fact.shape) input_shapes[input] = *fact.shape;
    }
    if (model_.opset("").value_or(0) >= 12)
      emitter_ = std::make_unique<rewrite::DimEmitter>(nodes_, model_, input_shapes);
    for (const FrozenSite& site : analysis_.sites) visit(site);
    if (analysis_.all_inputs_static && rewritten_ > 0) open_inputs();
  }

 private:
  void leave(const FrozenSite& site, std::string why) {
    std::string where = site.constant ? site.constant->name() : site.node->describe();
    changes_.left.push_back({.kind = std::string(code_of(site.role)), .place = where, .why = std::move(why)});
  }

  void visit(const FrozenSite& site) {
    switch (site.role) {
      case FrozenRole::kTable:
      case FrozenRole::kIndex:
        return leave(site, "a table: how it grows with the size does not follow from one model");
      case FrozenRole::kWeight:
        return leave(site, "a trained weight that admits one size only");
      case FrozenRole::kShape:
      case FrozenRole::kSplit:
      case FrozenRole::kSlice:
      case FrozenRole::kAttribute:
        break;
    }
    if (site.product)
      return leave(site, "several elements share one size: which of them move with it does not follow from one model");
    if (!site.constant) return leave(site, "the number stands in an attribute or is computed");
    // One constant may serve many nodes: each gets the target that its own operands demand.
    int done = 0, open = 0;
    std::vector<ir::Use> uses(site.constant->uses().begin(), site.constant->uses().end());
    for (const ir::Use& use : uses) {
      const bool is_thawed = use.node->graph() == &graph_ && ops::says_size(ops::role_of(*use.node, use.index)) &&
                             thaw_operand(*use.node, use.index, site);
      is_thawed ? ++done : ++open;
    }
    rewritten_ += done;
    if (done > 0)
      changes_.made.push_back(
          {std::string(code_of(site.role)), site.constant->name(), {}, replaced_at(site), /*nodes=*/done});
    if (open > 0)
      leave(site, fmt::format("{} of its readers {} no shape that the graph proves", open, open == 1 ? "has" : "have"));
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

  // A model all of whose inputs were numbers: those that the analysis took as sizes, and that no table still fixes, are
  // named.
  void open_inputs() {
    std::unordered_set<int> fixed;
    for (const FrozenSite& site : analysis_.sites) {
      bool answered = site.role == FrozenRole::kShape || site.role == FrozenRole::kSlice;
      if (!answered || site.product)
        for (int id : dim::symbols_of(site.expression)) fixed.insert(id);
    }
    for (Value* input : graph_.inputs()) {
      const ops::Fact& fact = analysis_.result.fact(input);
      if (!fact.shape || !input->type.shape || input->initializer()) continue;
      for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
        Dim d = (*fact.shape)[axis];
        int id = d.is_symbolic() ? scope_.symbol_id(d) : -1;
        if (id < 0 || fixed.contains(id)) continue;
        const ir::DeclaredDim& declared = (*input->type.shape)[axis];
        std::string name = scope_.symbols()[static_cast<size_t>(id)].name;
        changes_.made.push_back({"THAW010",
                                 input->name(),
                                 fmt::format("axis {}", axis),
                                 {{std::to_string(declared.value.value_or(0)), fmt::format("'{}'", name)}}});
        input->set_dim(axis, {{}, name, declared.denotation});
      }
    }
  }

  ir::Model& model_;
  ir::Graph& graph_;
  rewrite::Changes& changes_;
  dim::Scope scope_;
  frozen::FrozenAnalysis analysis_;
  rewrite::Emitter nodes_{model_, "thaw"};
  std::unique_ptr<rewrite::DimEmitter> emitter_;
  int rewritten_ = 0;
};

}  // namespace

void thaw_sizes(ir::Model& model, rewrite::Changes& changes) { SizeThawer(model, changes).run(); }

}  // namespace thaw::fix
