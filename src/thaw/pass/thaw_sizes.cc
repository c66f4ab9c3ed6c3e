#include "thaw/pass/thaw_sizes.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/frozen/explain.h"
#include "thaw/frozen/frozen.h"
#include "thaw/pass/emit_dim.h"

namespace thaw::pass {

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

// "40 becomes ceil(h/16), 30 becomes ceil(w/16)".
std::string changes_of(const FrozenSite& site) {
  std::string text = fmt::format("{} becomes {}", site.value, dim::to_string(site.expression));
  for (const frozen::FrozenSize& s : site.more)
    text += fmt::format(", {} becomes {}", s.value, dim::to_string(s.expression));
  return text;
}

class SizeThawer {
 public:
  SizeThawer(ir::Model& model, FixReport& report) : model_(model), graph_(*model.graph), report_(report) {}

  void run() {
    analysis_ = frozen::find_frozen(model_, scope_);
    if (analysis_.sites.empty()) return;
    std::unordered_map<const Value*, ops::Shape> input_shapes;
    for (const Value* input : graph_.inputs()) {
      const ops::Fact& fact = analysis_.result.fact(input);
      if (fact.shape) input_shapes[input] = *fact.shape;
    }
    if (model_.opset("").value_or(0) >= 12) emitter_ = std::make_unique<DimEmitter>(model_, input_shapes);
    for (const FrozenSite& site : analysis_.sites) visit(site);
    if (analysis_.all_inputs_static && rewritten_ > 0) open_inputs();
  }

 private:
  void leave(const FrozenSite& site, std::string why) {
    std::string where = site.constant ? site.constant->name() : site.node->describe();
    report_.left.push_back({std::string(code_of(site.role)), where, std::move(why)});
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
      if (use.node->graph() != &graph_ || !use.node->domain().empty())
        ++open;
      else if (use.node->op_type() == "Reshape" && use.index == 1)
        thaw_reshape(*use.node) ? ++done : ++open;
      else if (use.node->op_type() == "Split" && use.index == 1)
        thaw_split(*use.node) ? ++done : ++open;
      else if (use.node->op_type() == "Slice" && use.index == 2)
        thaw_slice(*use.node) ? ++done : ++open;
      else if (use.node->op_type() == "Resize" && use.index == 3)
        thaw_resize(*use.node) ? ++done : ++open;
      else
        ++open;
    }
    rewritten_ += done;
    if (done > 0)
      report_.changed.push_back({std::string(code_of(site.role)), site.constant->name(),
                                 fmt::format("{} in {} node{}", changes_of(site), done, done == 1 ? "" : "s")});
    if (open > 0)
      leave(site, fmt::format("{} of its readers {} no shape that the graph proves", open, open == 1 ? "has" : "have"));
  }

  // The dims as a Reshape target: 0 where an axis stays, -1 for one that is left over, else computed.
  bool thaw_reshape(Node& node) {
    const ops::Fact& in = analysis_.result.fact(node.input(0));
    const ops::Fact& out = analysis_.result.fact(node.output(0));
    if (!in.shape || !out.shape || node.attribute_int("allowzero", 0) != 0) return false;
    // The analysis must have explained the node: the elements agree for every size.
    if (!dim::same(dim::product(*in.shape), dim::product(*out.shape))) return false;
    std::vector<int64_t> target(out.shape->size());
    int free = -1, computed = 0;
    for (size_t j = 0; j < target.size(); ++j) {
      Dim d = (*out.shape)[j];
      if (d.is_constant())
        target[j] = *d.constant();
      else if (j < in.shape->size() && dim::same(d, (*in.shape)[j]))
        target[j] = 0;
      else if (d.is_symbolic() && free < 0)
        free = static_cast<int>(j);
      else
        ++computed;
    }
    if (computed == 0) {
      if (free >= 0) target[static_cast<size_t>(free)] = -1;
      std::string name = graph_.unique_name(node.output(0)->name() + "_shape");
      node.set_input(
          1, graph_.add_initializer(ir::Tensor::from_int64(name, {static_cast<int64_t>(target.size())}, target)));
      return true;
    }
    return set_computed(node, 1, *out.shape);
  }

  bool set_computed(Node& node, int input, const ops::Shape& dims) {
    if (!emitter_ || !std::all_of(dims.begin(), dims.end(), [&](Dim d) { return emitter_->can_emit(d); })) return false;
    node.set_input(input, emitter_->emit_shape(dims, node.output(0)->name() + "_shape"));
    return true;
  }

  // One length: the whole axis, whatever it is.
  bool thaw_split(Node& node) {
    const ops::Fact& in = analysis_.result.fact(node.input(0));
    if (node.outputs().size() != 1 || !in.shape) return false;
    int64_t axis = node.attribute_int("axis", 0);
    if (axis < 0) axis += in.rank();
    if (axis < 0 || axis >= in.rank()) return false;
    return set_computed(node, 1, {in.dim(static_cast<int>(axis))});
  }

  // An end at the frozen size is the end of the axis.
  bool thaw_slice(Node& node) {
    const ops::Fact& in = analysis_.result.fact(node.input(0));
    const ir::Tensor* ends = node.input(2) ? node.input(2)->constant() : nullptr;
    const ir::Tensor* axes = node.input(3) ? node.input(3)->constant() : nullptr;
    if (!in.shape || !ends || (node.input(3) && !axes)) return false;
    std::vector<int64_t> bounds = ends->to_int64();
    std::vector<int64_t> axis_list = axes ? axes->to_int64() : std::vector<int64_t>();
    bool any = false;
    for (size_t k = 0; k < bounds.size(); ++k) {
      int64_t axis = axes ? (k < axis_list.size() ? axis_list[k] : -1000) : static_cast<int64_t>(k);
      if (axis < 0) axis += in.rank();
      if (axis < 0 || axis >= in.rank()) return false;
      Dim size = in.dim(static_cast<int>(axis));
      auto hinted = dim::evaluate(size, analysis_.hints);
      if (!size.is_symbolic() || !hinted || *hinted != bounds[k]) continue;
      bounds[k] = std::numeric_limits<int64_t>::max();
      any = true;
    }
    if (!any) return false;
    std::string name = graph_.unique_name(node.output(0)->name() + "_ends");
    node.set_input(2,
                   graph_.add_initializer(ir::Tensor::from_int64(name, {static_cast<int64_t>(bounds.size())}, bounds)));
    return true;
  }

  bool thaw_resize(Node& node) {
    const ops::Fact& out = analysis_.result.fact(node.output(0));
    if (!out.shape || node.attribute("axes")) return false;
    return set_computed(node, 3, *out.shape);
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
        ir::DeclaredDim& declared = (*input->type.shape)[axis];
        std::string name = scope_.symbols()[static_cast<size_t>(id)].name;
        report_.changed.push_back(
            {"THAW010", input->name(),
             fmt::format("axis {} is {} no more but '{}'", axis, declared.value.value_or(0), name)});
        declared.value.reset();
        declared.param = name;
      }
    }
  }

  ir::Model& model_;
  ir::Graph& graph_;
  FixReport& report_;
  dim::Scope scope_;
  frozen::FrozenAnalysis analysis_;
  std::unique_ptr<DimEmitter> emitter_;
  int rewritten_ = 0;
};

}  // namespace

void thaw_sizes(ir::Model& model, FixReport& report) { SizeThawer(model, report).run(); }

}  // namespace thaw::pass
