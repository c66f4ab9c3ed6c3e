#include "thaw/lift/lift.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/dim/text.h"
#include "thaw/lift/align.h"
#include "thaw/lift/evidence.h"
#include "thaw/lift/loop_body.h"
#include "thaw/lift/same.h"
#include "thaw/lift/table.h"
#include "thaw/pass/declare.h"
#include "thaw/pass/remove_unused.h"

namespace thaw::lift {
namespace {

// Inputs whose dims differ get names, added inputs come into being, and outputs and inner tensors are declared anew.
void declare_inputs(ir::Model& model, const std::vector<Variable>& variables, const std::vector<Trace>& traces,
                    const Options& options, const dim::Scope& scope,
                    std::unordered_map<const ir::Value*, ops::Shape>& shapes) {
  for (ir::Value* input : model.graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    ops::Shape& shape = shapes[input];
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      ir::DeclaredDim& dim = (*input->type.shape)[axis];
      std::vector<int64_t> at;
      for (const Trace& trace : traces) {
        for (const ir::Value* other : trace.model->graph->inputs()) {
          const auto& declared = other->type.shape;
          if (other->name() == input->name() && declared && (*declared)[axis].value)
            at.push_back(*(*declared)[axis].value);
        }
      }
      const auto variable = std::find_if(variables.begin(), variables.end(), [&](const Variable& v) {
        if (v.kind != Variable::Kind::kDim) return false;
        const std::string& name = scope.symbols()[static_cast<size_t>(scope.symbol_id(v.symbol))].name;
        return dim.param.empty() ? v.at == at : name == dim.param;
      });
      if (variable != variables.end()) {
        dim = {std::nullopt, scope.symbols()[static_cast<size_t>(scope.symbol_id(variable->symbol))].name, {}};
        shape.push_back(variable->symbol);
      } else {
        shape.push_back(dim.value ? dim::Dim(*dim.value) : dim::Dim());
      }
    }
  }
  for (const AddedInput& added : options.added) {
    std::vector<ir::DeclaredDim> dims;
    for (const int64_t size : added.dims) dims.push_back({size, {}, {}});
    model.graph->add_input(added.name, ir::Type::tensor(added.type, std::move(dims)));
  }
}

void forget_declarations(ir::Graph& graph) {
  const std::vector<ir::Value*> declared = graph.value_infos();
  for (ir::Value* value : declared) graph.clear_value_info(value);
  for (ir::Value* output : graph.outputs()) {
    if (!output->type.shape) continue;
    for (ir::DeclaredDim& dim : *output->type.shape) dim = {};
  }
}

bool same_tables(const std::vector<const ir::Tensor*>& a, const std::vector<const ir::Tensor*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Tensor* x, const ir::Tensor* y) { return same_tensor(*x, *y); });
}

std::string place_of(const Difference& difference) {
  return fmt::format("{} reads '{}'", difference.node->describe(), difference.value->name());
}

template <typename Numbers>
std::vector<std::string> texts(const Numbers& numbers) {
  std::vector<std::string> result;
  for (const auto& number : numbers) result.push_back(std::to_string(number));
  return result;
}

// How much of a mask is marked (Variable::Kind::kMarked), int64 [1].
ir::Value* emit_marked(TableEmitter& e, ir::Value* mask, int64_t axis) {
  ir::Value* marks = e.cast(mask, ir::DataType::kInt64);
  if (axis >= 0)
    marks = e.emit("Min", {e.emit("ReduceSum", {marks, e.ints({axis})}, {{"keepdims", int64_t{0}}}), e.integer(1)});
  return e.emit("Reshape", {e.emit("ReduceSum", {marks}, {{"keepdims", int64_t{0}}}), e.ints({1})});
}

// Constants that are the same in every trace, wherever they stand: fitted, and made, once. Every layer of a tower has
// tables of its own that are.
struct Group {
  std::vector<const Difference*> readers;
  TableFit fit;
};

// Loops over the same windows.
struct LoopGroup {
  std::vector<std::vector<int64_t>> lengths;  // by trace
  std::vector<std::pair<const Loop*, LoopBody>> loops;
  std::optional<int64_t> size;  // of all windows but the last
  std::optional<TableFit> fit;  // of the lengths, where they are not all equal
};

class Lifting {
 public:
  Lifting(std::vector<Trace>& traces, const Options& options)
      : traces_(traces),
        options_(options),
        variables_(find_variables(traces, options.added, scope_)),
        solver_(variables_),
        context_{variables_, solver_} {
    for (Trace& trace : traces_) pass::remove_unused(*trace.model);
    for (const Variable& v : variables_)
      report_.variables.push_back({dim::to_string(v.symbol), fmt::format("{}", fmt::join(v.at, ", ")), texts(v.at)});
    alignment_ = align(traces_);
    for (const std::string& clause : alignment_.unaligned)
      report_.unexplained.push_back({clause, "only constants and loops over windows are lifted"});
  }

  Report run() {
    for (const Difference& difference : alignment_.differences) explain(difference);
    if (!alignment_.loops.empty()) {
      const TraceShapes shapes(traces_, variables_, alignment_);
      for (const Loop& loop : alignment_.loops) explain(loop, shapes);
    }
    if (report_.unexplained.empty()) rewrite();
    return std::move(report_);
  }

 private:
  void explain(const Difference& difference) {
    if (options_.keep_static.contains(difference.value->name())) return;
    std::string reason;
    const auto known = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
      return same_tables(group.readers.front()->tensors, difference.tensors);
    });
    if (known != groups_.end()) {
      report_.lifted.push_back({place_of(difference), known->fit.description, evidence(difference.tensors)});
      known->readers.push_back(&difference);
    } else if (auto fit = fit_table(difference.tensors, context_, reason)) {
      report_.lifted.push_back({place_of(difference), fit->description, evidence(difference.tensors)});
      groups_.push_back({{&difference}, std::move(*fit)});
    } else {
      report_.unexplained.push_back({place_of(difference), reason, evidence(difference.tensors)});
    }
  }

  void explain(const Loop& loop, const TraceShapes& shapes) {
    std::vector<std::vector<int64_t>> lengths;
    std::vector<std::string> evidence;
    for (const Unrolled& unrolled : loop.traces) {
      lengths.push_back(unrolled.lengths);
      evidence.push_back(fmt::format("{} branches", unrolled.lengths.size()));
    }
    const std::string place = fmt::format("{} joins a branch for each window", loop.traces[0].joins[0]->describe());
    auto group = std::find_if(loop_groups_.begin(), loop_groups_.end(),
                              [&](const LoopGroup& known) { return known.lengths == lengths; });
    if (group == loop_groups_.end()) {
      LoopGroup fresh{.lengths = lengths, .loops = {}, .size = {}, .fit = {}};
      std::string reason;
      if (!explain_lengths(fresh, reason)) {
        report_.unexplained.push_back({place, reason, evidence});
        return;
      }
      group = loop_groups_.insert(loop_groups_.end(), std::move(fresh));
    }
    try {
      group->loops.emplace_back(&loop, batched_body(loop, alignment_, shapes, *traces_[0].model));
    } catch (const CannotRoll& reason) {
      report_.unexplained.push_back({place, reason.why, evidence});
      return;
    }
    report_.lifted.push_back({place,
                              group->size
                                  ? fmt::format("one batch of windows of {}, the last of what is left", *group->size)
                                  : "one batch of windows, padded: " + group->fit->description,
                              evidence});
  }

  // Windows of a grid are told by its sides. Windows of a list are told by their size, and by the tensor that is cut.
  bool explain_lengths(LoopGroup& group, std::string& reason) {
    const auto equal = equal_windows(group.lengths);
    const bool has_short_one = std::any_of(group.lengths.begin(), group.lengths.end(), [&](const auto& lengths) {
      return lengths.size() > 1 && lengths.back() != lengths.front();
    });
    if (equal && has_short_one) {
      group.size = equal;
      return true;
    }
    std::vector<ir::Tensor> lists;
    for (const auto& lengths : group.lengths)
      lists.push_back(ir::Tensor::from_int64("window_lengths", {static_cast<int64_t>(lengths.size())}, lengths));
    std::vector<const ir::Tensor*> tensors;
    for (const ir::Tensor& list : lists) tensors.push_back(&list);
    group.fit = fit_table(tensors, context_, reason);
    if (!group.fit) group.size = equal;
    return group.fit || group.size;
  }

  void rewrite() {
    ir::Model& model = *traces_.front().model;
    std::unordered_map<const ir::Value*, ops::Shape> shapes;
    declare_inputs(model, variables_, traces_, options_, scope_, shapes);
    pass::DimEmitter sizes(model, shapes);
    TableEmitter emitter(model, sizes);
    for (const Variable& v : variables_) {
      ir::Value* input = model.graph->find(v.input);
      if (v.kind == Variable::Kind::kValue) sizes.read_from(v.symbol, input, v.index);
      if (v.kind == Variable::Kind::kMarked) sizes.read_from(v.symbol, emit_marked(emitter, input, v.index), 0);
    }
    for (const Group& group : groups_) {
      ir::Value* computed = group.fit.emit(emitter);
      for (const Difference* reader : group.readers)
        model.graph->replace_uses(reader->node->input(reader->input), computed);
    }
    for (const LoopGroup& group : loop_groups_) roll(group, model, sizes, emitter);
    if (!loop_groups_.empty()) model.graph->sort_topologically();
    forget_declarations(*model.graph);
    pass::remove_unused(model);
    pass::FixReport ignored;
    pass::declare_truly(model, ignored);
  }

  static void roll(const LoopGroup& group, ir::Model& model, pass::DimEmitter& sizes, TableEmitter& top) {
    const Loop& first = *group.loops.front().first;
    TableEmitter e(model, sizes, first.traces[0].joins.front());
    const int64_t axis = group.loops.front().second.pieces.front().axis;
    ir::Value* positions = e.emit("Slice", {e.emit("Shape", {first.traces[0].pieces.front().node->input(0)}),
                                            e.ints({axis}), e.ints({axis + 1})});
    ir::Value* lengths = group.size ? emit_equal_windows(e, positions, *group.size) : group.fit->emit(top);
    const WindowNodes windows = emit_windows(e, lengths, positions);
    for (const auto& [loop, body] : group.loops) {
      TableEmitter there(model, sizes, loop->traces[0].joins.front());
      put_body(body, *loop, windows, there, *model.graph);
    }
  }

  std::vector<Trace>& traces_;
  const Options& options_;
  dim::Scope scope_;
  std::vector<Variable> variables_;
  Solver solver_;
  TableContext context_;
  Alignment alignment_;
  Report report_;
  std::vector<Group> groups_;
  std::vector<LoopGroup> loop_groups_;
};

}  // namespace

Report lift(std::vector<Trace>& traces, const Options& options) {
  if (traces.size() < 2) {
    throw Error({.what = "one trace does not tell how its constants grow",
                 .where = "thaw lift",
                 .expected = "two or more traces of one model at different sizes",
                 .next = "export the model at another size too"});
  }
  return Lifting(traces, options).run();
}

}  // namespace thaw::lift
