// Control flow: If, Loop, Scan (opset 8 and later), SequenceMap.
#include "thaw/ops/onnx/control.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "thaw/ops/onnx/control_state.h"
#include "thaw/ops/onnx/loop_condition.h"
#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/bodies.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

// How often a Loop runs, as far as its operands tell.
struct TripCount {
  Dim limit;            // max(M, 0); unknown without M or when M is not known
  bool starts = false;  // the condition holds at first
  bool never = false;   // it certainly does not run
};

TripCount trip_count(NodeView& view) {
  TripCount trips;
  if (view.has_input(0)) {
    const auto m = view.dims_from(0);
    if (m && m->size() == 1) trips.limit = dim::max(m->front(), 0);
  }
  const auto condition = view.has_input(1) ? view.number(1) : std::optional<double>(1);
  trips.starts = condition && *condition != 0;
  trips.never = (condition && *condition == 0) || trips.limit.is_constant(0);
  return trips;
}

// How often Loop, Scan, SequenceMap and If run their graphs.

Dim if_rounds(NodeView& view, const ir::Graph& branch) {
  const Elements* elements = view.elements(0);
  const Dim holds = elements && elements->size() == 1 ? elements->front().as_dim() : Dim();
  if (holds.is_unknown()) return 1;
  return &branch == view.attr_graph("then_branch") ? holds : 1 - holds;
}

Dim loop_rounds(NodeView& view, const ir::Graph& body) {
  const TripCount trips = trip_count(view);
  if (trips.never) return 0;
  return trips.starts && (!view.has_input(1) || goes_on(body)) ? trips.limit : Dim();
}

Dim scan_rounds(NodeView& view, const ir::Graph&) {
  constexpr int64_t kOpsetWithoutSamples = 9;
  const bool has_samples = view.opset() < kOpsetWithoutSamples;  // then operand 0 is their lengths
  const int64_t scanned = view.attr_int("num_scan_inputs", 0);
  if (scanned < 1 || scanned > view.num_inputs()) return {};
  const int64_t first = view.num_inputs() - scanned;
  if (has_samples && first < 1) return {};
  const Fact& fact = view.input(static_cast<int>(first));
  if (has_samples) return fact.rank() < 2 ? Dim() : fact.dim(0) * fact.dim(1);
  const auto axes = view.attr_ints("scan_input_axes");
  int64_t axis = axes && !axes->empty() ? axes->front() : 0;
  if (axis < 0) axis += fact.rank();
  return axis < 0 || axis >= fact.rank() ? Dim() : fact.dim(static_cast<int>(axis));
}

Dim sequence_map_rounds(NodeView& view, const ir::Graph&) { return view.input(0).length; }

void if_else(Context& ctx) {
  const ir::Graph* branches[] = {ctx.attr_graph("then_branch"), ctx.attr_graph("else_branch")};
  if (!branches[0] || !branches[1]) return ctx.invalid("an If without then_branch or else_branch");
  auto condition = ctx.number(0);
  if (condition) {
    // Only this branch ever runs.
    auto results = ctx.infer_only_branch(*branches[*condition != 0 ? 0 : 1]);
    for (int o = 0; o < ctx.num_outputs() && o < static_cast<int>(results.size()); ++o) ctx.set_output(o, results[o]);
    return;
  }
  const Elements* elements = ctx.elements(0);
  const Dim holds = elements && elements->size() == 1 ? elements->front().as_dim() : Dim();
  auto then_results = ctx.infer_branch(*branches[0], holds);
  auto else_results = ctx.infer_branch(*branches[1], 1 - holds);
  auto count = static_cast<int>(std::min(then_results.size(), else_results.size()));
  for (int o = 0; o < ctx.num_outputs() && o < count; ++o) {
    const Fact &yes = then_results[o], &no = else_results[o];
    Fact both = join(yes, no);
    // Which size it is, the condition says where it is known as an expression.
    for (int k = 0; holds.is_known() && k < both.rank(); ++k)
      if (both.dim(k).is_unknown()) (*both.shape)[static_cast<size_t>(k)] = select(holds, yes.dim(k), no.dim(k));
    ctx.set_output(o, std::move(both));
  }
}

// What a Loop's body declares its iteration number (0) and condition (1) to be: a scalar, or a list of one, and ONNX Runtime gives
// it what it declares.
Shape own_shape(const ir::Graph& body, size_t index) { return takes_list_of_one(body, index) ? Shape{1} : Shape{}; }

// The condition that a Loop's body sees: it runs only while the condition holds.
Fact true_fact(const ir::Graph& body) {
  Fact fact = Fact::tensor(DataType::kBool, own_shape(body, 1));
  fact.elements = std::make_shared<const Elements>(1, Element::integer(1));
  return fact;
}

bool is_known_true(const Fact& fact) {
  if (!fact.elements || fact.elements->size() != 1) return false;
  auto v = fact.elements->front().as_double();
  return v && *v != 0;
}

void loop(Context& ctx) {
  const ir::Graph* body = ctx.attr_graph("body");
  if (!body) return ctx.invalid("a Loop without a body");
  size_t carried = ctx.num_inputs() > 2 ? static_cast<size_t>(ctx.num_inputs() - 2) : 0;
  if (body->outputs().size() < 1 + carried) {
    return ctx.invalid("a Loop that carries " + std::to_string(carried) + " values has a body of " +
                       std::to_string(body->outputs().size()) + " outputs");
  }
  std::vector<Fact> initial;
  for (size_t i = 0; i < carried; ++i) {
    ctx.elements(static_cast<int>(i) + 2);
    initial.push_back(ctx.input(static_cast<int>(i) + 2));
  }
  StateFixpoint fixpoint(initial);
  std::vector<Fact> results;
  const TripCount trips = trip_count(ctx);
  Fact number = Fact::tensor(DataType::kInt64, own_shape(*body, 0));
  if (ctx.wants_values()) {
    const dim::Dim last = trips.limit.is_known() ? trips.limit - 1 : dim::Dim();
    number.range = std::make_shared<const ValueRange>(ValueRange{dim::Dim(int64_t{0}), last, false});
  }
  do {
    std::vector<Fact> inputs{number, true_fact(*body)};
    inputs.insert(inputs.end(), fixpoint.state().begin(), fixpoint.state().end());
    results = ctx.infer_subgraph(*body, inputs);
    results.resize(body->outputs().size());
  } while (!fixpoint.advance(std::span(results).subspan(1, carried)));

  bool runs = trips.starts && at_least(trips.limit, 1);
  for (size_t i = 0; i < carried; ++i) {
    // After a run the values are the body's; where it may not run at all, also the initial ones.
    Fact last = trips.never ? initial[i] : runs ? results[1 + i] : fixpoint.state()[i];
    ctx.set_output(static_cast<int>(i), std::move(last));
  }
  Dim length;
  if (trips.never)
    length = 0;
  else if (trips.starts && is_known_true(results[0]))
    length = trips.limit;
  for (size_t k = 1 + carried; k < results.size(); ++k) {
    int o = static_cast<int>(k) - 1;
    Fact& item = results[k];
    if (length.is_unknown() && o < ctx.num_outputs()) length = ctx.data_dependent(o, 0);
    if (item.has_rank()) item.shape->insert(item.shape->begin(), length);
    ctx.set_tensor(o, item.dtype, item.shape);
  }
}

// A fact without its leading axes, for what one iteration sees.
Fact without_leading(const Fact& fact, int axes) {
  std::optional<Shape> shape;
  if (fact.rank() >= axes) shape = Shape(fact.shape->begin() + axes, fact.shape->end());
  return Fact::tensor(fact.dtype, std::move(shape));
}

// A Scan's state keeps its shape in every iteration: what either side tells of it.
Fact scan_state(Context& ctx, const Fact& initial, const Fact& after) {
  Fact fact = Fact::tensor(initial.dtype != DataType::kUndefined ? initial.dtype : after.dtype, std::nullopt);
  fact.shape = require_same_shape(ctx, initial.shape, after.shape, "a Scan's state before and after an iteration");
  return fact;
}

struct ScanParts {
  const ir::Graph* body = nullptr;
  int first = 0;  // input where the states begin
  int states = 0;
  int scans = 0;  // scanned inputs
};

std::optional<ScanParts> scan_parts(Context& ctx, int first) {
  ScanParts parts;
  parts.body = ctx.attr_graph("body");
  auto scans = ctx.attr_int("num_scan_inputs");
  int given = ctx.num_inputs() - first;
  if (!parts.body || !scans || *scans < 1 || *scans > given) {
    ctx.invalid("a Scan needs a body and num_scan_inputs between 1 and its number of inputs");
    return std::nullopt;
  }
  parts.first = first;
  parts.scans = static_cast<int>(*scans);
  parts.states = given - parts.scans;
  if (parts.body->outputs().size() < static_cast<size_t>(parts.states)) {
    ctx.invalid("a Scan of " + std::to_string(parts.states) + " states has a body of " +
                std::to_string(parts.body->outputs().size()) + " outputs");
    return std::nullopt;
  }
  return parts;
}

// axes[i] of a list attribute that may be shorter or absent.
int64_t axis_at(const std::optional<std::vector<int64_t>>& axes, int i) {
  return axes && static_cast<size_t>(i) < axes->size() ? (*axes)[static_cast<size_t>(i)] : 0;
}

// Opset 8: a batch axis before everything, the sequence after it.
void scan_8(Context& ctx) {
  auto parts = scan_parts(ctx, 1);
  if (!parts) return;
  Dim batch, length;
  std::vector<Fact> inputs;
  for (int i = 0; i < parts->states + parts->scans; ++i) {
    const Fact& given = ctx.input(parts->first + i);
    bool scanned = i >= parts->states;
    if (given.rank() >= 1) batch = ctx.require_equal(batch, given.dim(0), "batch of a Scan");
    if (scanned && given.rank() >= 2) length = ctx.require_equal(length, given.dim(1), "lengths of a Scan's inputs");
    inputs.push_back(without_leading(given, scanned ? 2 : 1));
  }
  auto results = ctx.infer_subgraph(*parts->body, inputs);
  for (int o = 0; o < ctx.num_outputs() && o < static_cast<int>(results.size()); ++o) {
    bool state = o < parts->states;
    Fact fact = state ? scan_state(ctx, inputs[o], results[o]) : Fact::tensor(results[o].dtype, results[o].shape);
    if (fact.has_rank()) {
      if (!state) fact.shape->insert(fact.shape->begin(), length);
      fact.shape->insert(fact.shape->begin(), batch);
    }
    ctx.set_output(o, std::move(fact));
  }
}

void scan(Context& ctx) {
  if (ctx.opset() < 9) return scan_8(ctx);
  auto parts = scan_parts(ctx, 0);
  if (!parts) return;
  auto input_axes = ctx.attr_ints("scan_input_axes"), output_axes = ctx.attr_ints("scan_output_axes");
  Dim length;
  std::vector<Fact> inputs;
  for (int i = 0; i < parts->states; ++i) inputs.push_back(Fact::tensor(ctx.input(i).dtype, ctx.input(i).shape));
  for (int i = 0; i < parts->scans; ++i) {
    const Fact& given = ctx.input(parts->states + i);
    Fact item = Fact::tensor(given.dtype, std::nullopt);
    if (given.has_rank()) {
      auto axis = normalize_axis(ctx, axis_at(input_axes, i), given.rank());
      if (!axis) return;
      length =
          ctx.require_equal(length, given.dim(*axis), "lengths of a Scan's inputs", {}, {parts->states + i, *axis});
      item.shape = given.shape;
      item.shape->erase(item.shape->begin() + *axis);
    }
    inputs.push_back(std::move(item));
  }
  auto results = ctx.infer_subgraph(*parts->body, inputs);
  for (int o = 0; o < ctx.num_outputs() && o < static_cast<int>(results.size()); ++o) {
    if (o < parts->states) {
      ctx.set_output(o, scan_state(ctx, inputs[o], results[o]));
      continue;
    }
    Fact fact = Fact::tensor(results[o].dtype, results[o].shape);
    if (fact.has_rank()) {
      auto axis = normalize_axis(ctx, axis_at(output_axes, o - parts->states), fact.rank() + 1);
      if (axis)
        fact.shape->insert(fact.shape->begin() + *axis, length);
      else
        fact.shape.reset();
    }
    ctx.set_output(o, std::move(fact));
  }
}

constexpr size_t kMaxMapped = 16;  // items mapped one by one; more are mapped as one

// Runs the body once for what all items share and, for a short sequence whose items are known, once an item.
void sequence_map(Context& ctx) {
  const ir::Graph* body = ctx.attr_graph("body");
  if (!body || ctx.num_inputs() < 1) return ctx.invalid("a SequenceMap needs a body and a sequence");
  const Fact& sequence = ctx.input(0);
  auto item_inputs = [&](std::optional<size_t> at) {
    std::vector<Fact> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      ctx.elements(i);
      const Fact& given = ctx.input(i);
      if (given.kind != Fact::Kind::kSequence)
        inputs.push_back(given);
      else if (at && given.items && *at < given.items->size())
        inputs.push_back((*given.items)[*at]);
      else
        inputs.push_back(given.element ? *given.element : Fact());
    }
    return inputs;
  };
  std::vector<std::vector<Fact>> mapped;
  if (sequence.items && sequence.items->size() <= kMaxMapped)
    for (size_t at = 0; at < sequence.items->size(); ++at) mapped.push_back(ctx.infer_subgraph(*body, item_inputs(at)));
  auto shared = ctx.infer_subgraph(*body, item_inputs(std::nullopt));
  for (int o = 0; o < ctx.num_outputs() && o < static_cast<int>(shared.size()); ++o) {
    Fact fact = Fact::sequence(std::make_shared<const Fact>(shared[o]), sequence.length);
    if (!mapped.empty()) {
      std::vector<Fact> items;
      for (const auto& results : mapped) items.push_back(results[o]);
      fact.items = std::make_shared<const std::vector<Fact>>(std::move(items));
    }
    ctx.set_output(o, std::move(fact));
  }
}

// How many values the graphs of If, Loop, Scan and SequenceMap take and return.

// A body whose results past the first `own` are the node's, `carried` of them at least.
BodyArity body_of(const ir::Node& node, size_t inputs, size_t own, size_t carried) {
  const auto results = node.outputs();
  size_t given = results.size();
  while (given > 0 && !results[given - 1]) --given;
  const size_t least = own + std::max(given, carried);
  return {.attribute = "body",
          .inputs = inputs,
          .least_outputs = least,
          .most_outputs = std::max(least, own + results.size())};
}

std::vector<BodyArity> if_bodies(const ir::Node& node, int64_t) {
  BodyArity then_branch = body_of(node, 0, 0, 0), else_branch = then_branch;
  then_branch.attribute = "then_branch";
  else_branch.attribute = "else_branch";
  return {then_branch, else_branch};
}

// It takes the iteration's number and the condition, and returns the condition.
std::vector<BodyArity> loop_bodies(const ir::Node& node, int64_t) {
  const size_t carried = std::max<size_t>(node.inputs().size(), 2) - 2;
  return {body_of(node, 2 + carried, 1, carried)};
}

// Before opset 9 the first operand is the sequences' lengths.
std::vector<BodyArity> scan_bodies(const ir::Node& node, int64_t opset) {
  const size_t first = opset < 9 ? 1 : 0;
  const size_t given = std::max(node.inputs().size(), first) - first;
  const auto scanned = static_cast<size_t>(
      std::clamp<int64_t>(node.attribute_int("num_scan_inputs", 0), 0, static_cast<int64_t>(given)));
  return {body_of(node, given, 0, given - scanned)};
}

std::vector<BodyArity> sequence_map_bodies(const ir::Node& node, int64_t) {
  return {body_of(node, node.inputs().size(), 0, 0)};
}

constexpr std::string_view kBodies = "what its graphs do with the axes depends on them";

void newer_scan(AdapterContext& n) {
  if (n.crosses(9)) throw NoEqual{"it runs over samples"};
}

}  // namespace

void add_control_ops(Registry& r) {
  using enum Role;
  r.add({.name = "If",
         .shape = if_else,
         .op_class = OpClass::kControl,
         .operands = {kCondition},
         .axes = no_axes(kBodies),
         .batch = batch_with(batch_if),
         .bodies = if_bodies,
         .rounds = if_rounds});
  r.add({.name = "Loop",
         .shape = loop,
         .op_class = OpClass::kControl,
         .needs = needs_nothing,
         .operands = {kSize, kCondition, kCarried},
         .axes = no_axes(kBodies),
         .batch = batch_with(batch_loop),
         .bodies = loop_bodies,
         .rounds = loop_rounds});
  r.add({.name = "Scan",
         .shape = scan,
         .op_class = OpClass::kControl,
         .operands = {kCarried},
         .attributes = {{.name = "scan_input_axes", .role = kAxes}, {.name = "scan_output_axes", .role = kAxes}},
         .axes = no_axes(kBodies),
         .batch = batch_with(batch_scan),
         .bodies = scan_bodies,
         .rounds = scan_rounds,
         .newer = newer_scan});
  r.add({.name = "SequenceMap",
         .shape = sequence_map,
         .op_class = OpClass::kControl,
         .operands = {kCarried},
         .axes = no_axes(kBodies),
         .batch = batch_with(batch_sequence_map),
         .bodies = sequence_map_bodies,
         .rounds = sequence_map_rounds});
}

}  // namespace thaw::ops
