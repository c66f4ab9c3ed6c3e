#include "thaw/lift/loop/window_body.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "thaw/batch/batch.h"
#include "thaw/core/error.h"
#include "thaw/lift/loop/mask_padding.h"
#include "thaw/lift/table/table.h"
#include "thaw/lift/term/numbers.h"
#include "thaw/rewrite/splice.h"

namespace thaw::lifting {
namespace {

constexpr const char* kLength = "window_length";
constexpr int64_t kSmall = 64;  // elements: constants that may be read while batching, copied rather than shared

int64_t positive(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

class Taking {
 public:
  Taking(const Loop& loop, const Alignment& alignment, const TraceShapes& shapes, const ir::Model& first)
      : loop_(loop), alignment_(alignment), shapes_(shapes) {
    for (const Difference& difference : alignment.differences) frozen_.insert(difference.value);
    body_.model = std::make_unique<ir::Model>();
    body_.model->ir_version = first.ir_version;
    body_.model->opset_imports = first.opset_imports;
    body_.model->graph = std::make_unique<ir::Graph>();
    body_.model->graph->name = "loop_body";
  }

  LoopBody take() {
    add_slice_inputs();
    fit_constants();
    for (const ir::Node* node : nodes()) copy(*node);
    set_constants();
    take_results();
    return std::move(body_);
  }

  ir::Value* mask() const { return mask_; }

 private:
  ir::Graph& graph() { return *body_.model->graph; }

  // The first trace's nodes of the body. A trace with one branch does not tell which constants are made for each.
  std::vector<const ir::Node*> nodes() const {
    std::vector<const ir::Node*> nodes;
    for (size_t i = 0; i < alignment_.nodes[0].size(); ++i) {
      for (size_t k = 0; k < loop_.traces.size(); ++k) {
        if (!loop_.traces[k].body.contains(alignment_.nodes[k][i])) continue;
        nodes.push_back(alignment_.nodes[0][i]);
        break;
      }
    }
    return nodes;
  }

  TraceShapes::Operand operand(const ir::Node* node, int input) const {
    if (auto known = shapes_.operand(node, input)) return *known;
    throw CannotRoll{fmt::format("the rank of what {} reads is not known", node->describe())};
  }

  ir::Value* add_input(const std::string& name, const TraceShapes::Operand& of, int64_t window_axis) {
    std::vector<ir::DeclaredDim> dims;
    for (size_t axis = 0; axis < of.dims.size(); ++axis) {
      if (static_cast<int64_t>(axis) == window_axis) {
        dims.push_back({std::nullopt, kLength, {}});
      } else if (of.dims[axis]) {
        dims.push_back({of.dims[axis], {}, {}});
      } else {
        dims.push_back({std::nullopt, fmt::format("{}_axis{}", name, axis), {}});
      }
    }
    return graph().add_input(name, ir::Type::tensor(of.type, std::move(dims)));
  }

  void add_slice_inputs() {
    for (const Slice& slice : loop_.traces[0].slices) {
      const TraceShapes::Operand whole = operand(slice.node, 0);
      const auto rank = static_cast<int64_t>(whole.dims.size());
      const int64_t axis = positive(slice.axis, rank);
      made_[slice.node->output(0)] = add_input(fmt::format("window_{}", body_.slices.size()), whole, axis);
      body_.slices.push_back({axis, rank});
    }
    mask_ = add_input("window_mask", {ir::DataType::kBool, {1, std::nullopt}}, 1);
  }

  ir::Value* operand_value(const ir::Node& node, int input) {
    const ir::Value* value = node.input(input);
    if (!value) return nullptr;
    ir::Value*& made = made_[value];
    if (made) return made;
    const ir::Tensor* tensor = value->constant();
    const bool copied = tensor && !frozen_.contains(value) && tensor->num_elements() <= kSmall;
    if (copied) {
      ir::Tensor copy = *tensor;
      copy.name = graph().unique_name("constant");
      made = graph().add_initializer(std::move(copy));
    } else {
      made = add_input(fmt::format("shared_{}", body_.shared.size()), operand(&node, input), -1);
      body_.shared.emplace_back(&node, input);
    }
    return made;
  }

  void copy(const ir::Node& node) {
    std::vector<ir::Value*> inputs, outputs;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i)
      inputs.push_back(fits_.contains({&node, i}) ? nullptr : operand_value(node, i));
    for (const ir::Value* output : node.outputs()) {
      outputs.push_back(output ? graph().add_value(graph().unique_name(output->name())) : nullptr);
      if (output) made_[output] = outputs.back();
    }
    copies_[&node] = rewrite::copy_node(node, graph(), inputs, outputs, node.name);
  }

  // Out of the length of the window: constants that differ from branch to branch, which nothing else tells, and sizes
  // that are those of the trace's windows, which all have one length.
  void fit_constants() {
    if (loop_.constants.empty() && loop_.steady.empty()) return;
    length_ = {.symbol = scope_.symbol(kLength), .at = loop_.lengths, .input = "window_0"};
    scope_.assume_range(length_.symbol, 1, std::nullopt);
    const std::span<const Variable> variables(&length_, 1);
    const Solver solver(variables);
    TableContext context{variables, solver};
    std::string reason;
    for (const Difference& difference : loop_.constants) {
      auto fit = fit_table(difference.tensors, context, reason);
      if (!fit)
        throw CannotRoll{fmt::format("{} reads a constant that differs from branch to branch, and {}",
                                     difference.node->describe(), reason)};
      fits_.emplace(std::pair{difference.node, difference.input}, std::move(*fit));
    }
    for (const Difference& difference : loop_.steady)
      if (auto fit = fit_sizes(difference.tensors, context, reason))
        fits_.emplace(std::pair{difference.node, difference.input}, std::move(*fit));
  }

  void set_constants() {
    if (fits_.empty()) return;
    std::unordered_map<const ir::Value*, ops::Shape> shapes;
    ops::Shape& shape = shapes[graph().inputs().front()];
    for (int64_t axis = 0; axis < body_.slices[0].rank; ++axis)
      shape.push_back(axis == body_.slices[0].axis ? length_.symbol : dim::Dim());
    rewrite::Emitter nodes(*body_.model, "window");
    nodes.share_nodes();
    rewrite::DimEmitter sizes(nodes, *body_.model, shapes);
    TableEmitter emitter(sizes);
    for (const auto* differences : {&loop_.constants, &loop_.steady})
      for (const Difference& difference : *differences)
        if (const auto fit = fits_.find({difference.node, difference.input}); fit != fits_.end())
          copies_.at(difference.node)->set_input(difference.input, fit->second.emit(emitter));
  }

  void take_results() {
    for (const ir::Node* join : loop_.traces[0].joins) {
      const TraceShapes::Operand result = operand(join, 0);
      const auto rank = static_cast<int64_t>(result.dims.size());
      ir::Value* made = made_[join->input(0)];
      if (!made || made->is_input() || made->is_output())
        throw CannotRoll{fmt::format("{} joins what no branch computes for itself", join->describe())};
      graph().add_output(made);
      body_.results.push_back({positive(join->attribute_int("axis", 0), rank), rank});
    }
  }

  const Loop& loop_;
  const Alignment& alignment_;
  const TraceShapes& shapes_;
  LoopBody body_;
  ir::Value* mask_ = nullptr;
  std::set<const ir::Value*> frozen_;
  dim::Scope scope_;
  Variable length_;                                                // of the window
  std::map<std::pair<const ir::Node*, int>, TableFit> fits_ = {};  // by the first trace's node and its operand
  std::unordered_map<const ir::Value*, ir::Value*> made_;
  std::unordered_map<const ir::Node*, ir::Node*> copies_;
};

}  // namespace

LoopBody batched_body(const Loop& loop, const Alignment& alignment, const TraceShapes& shapes, const ir::Model& first) {
  Taking taking(loop, alignment, shapes, first);
  LoopBody body = taking.take();
  std::vector<int64_t> axes;
  for (const LoopBody::Cut& result : body.results) axes.push_back(result.axis);
  if (const auto why = mask_padding(*body.model, kLength, taking.mask(), axes)) {
    // Then nothing tells which of the numbers in it are that length.
    if (!all_equal(loop.lengths)) throw CannotRoll{*why};
    throw CannotRoll{
        fmt::format("{}; all windows of all traces are {} long: add a trace with a shorter one, which tells what in "
                    "them follows from their length",
                    *why, loop.lengths.front())};
  }
  BatchOptions options{.name = "num_windows", .inputs = {"window_mask"}, .sample = {}};
  for (size_t i = 0; i < body.slices.size(); ++i) {
    options.inputs.push_back(fmt::format("window_{}", i));
    // Windows take the place of a first axis of 1, where all slices have one.
    const auto& first_dim = body.model->graph->find(options.inputs.back())->type.shape->front();
    options.new_axis |= first_dim.value != 1;
  }
  try {
    batching::batch(*body.model, options);
  } catch (const Error& error) {
    throw CannotRoll{error.what()};
  }
  return body;
}

void put_body(const LoopBody& body, const Loop& loop, const WindowNodes& windows, TableEmitter& e, ir::Graph& graph) {
  const ir::Graph& inner = *body.model->graph;
  const Unrolled& own = loop.traces[0];
  std::unordered_map<const ir::Value*, ir::Value*> made;
  const auto rank_of = [](const ir::Value* v) { return static_cast<int64_t>(v->type.shape->size()); };
  for (size_t i = 0; i < body.slices.size(); ++i) {
    const ir::Value* input = inner.find(fmt::format("window_{}", i));
    const LoopBody::Cut& cut = body.slices[i];
    ir::Value* packed = emit_pack(e, windows, own.slices[i].node->input(0), cut.axis, cut.rank);
    made[input] = rank_of(input) == cut.rank ? e.emit("Squeeze", {packed, e.list({1})}) : packed;
  }
  // A model that puts the windows before every axis has a mask [num_windows, 1, length].
  const ir::Value* mask = inner.find("window_mask");
  made[mask] = rank_of(mask) == 2 ? windows.valid : e.emit("Unsqueeze", {windows.valid, e.list({1})});
  for (size_t i = 0; i < body.shared.size(); ++i) {
    const auto& [node, input] = body.shared[i];
    made[inner.find(fmt::format("shared_{}", i))] = node->input(input);
  }
  for (const ir::Value* constant : inner.initializers()) {
    ir::Tensor tensor = *constant->initializer();
    tensor.name = graph.unique_name(fmt::format("windows_{}", constant->name()));
    made[constant] = graph.add_initializer(std::move(tensor));
  }
  ir::Node* before = own.joins.front();
  for (const ir::Node* node : inner.nodes()) {
    std::vector<ir::Value*> inputs, outputs;
    for (const ir::Value* input : node->inputs()) inputs.push_back(input ? made.at(input) : nullptr);
    for (const ir::Value* output : node->outputs()) {
      outputs.push_back(output ? graph.add_value(graph.unique_name(output->name() + "_windows")) : nullptr);
      if (output) made[output] = outputs.back();
    }
    rewrite::copy_node(*node, graph, inputs, outputs,
                       node->name.empty() ? std::string() : graph.unique_name(node->name + "_windows"), before);
  }
  for (size_t i = 0; i < own.joins.size(); ++i) {
    const ir::Value* output = inner.outputs()[i];
    const LoopBody::Cut& cut = body.results[i];
    ir::Value* packed = made.at(output);
    if (rank_of(output) == cut.rank) packed = e.emit("Unsqueeze", {packed, e.list({1})});
    ir::Value* joined = emit_unpack(e, windows, packed, cut.axis, cut.rank);
    ir::Value* frozen = own.joins[i]->output(0);
    const std::string name = frozen->name();
    const bool is_output = frozen->is_output();
    graph.replace_uses(frozen, joined);
    if (!is_output) continue;
    graph.rename(frozen, graph.unique_name(name + "_unrolled"));
    graph.rename(joined, name);
  }
}

}  // namespace thaw::lifting
