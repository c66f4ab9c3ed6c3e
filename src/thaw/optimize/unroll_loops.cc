// Loops of a few rounds, written out.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/optimize/loop_bodies.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/algebra.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kMostUnrolledRounds = 16;
constexpr size_t kMostUnrolledNodes = 2000;  // that a loop may become
constexpr uint64_t kMostNestedBytes = 256;   // of constants in graphs inside the body, which each round holds anew

// ONNX Runtime returns the last round's number for each, where the number itself is what is collected.
bool returns_its_number(const ir::Graph& body) {
  return std::ranges::any_of(body.outputs(),
                             [&](const ir::Value* value) { return behind_identities(value) == body.inputs()[0]; });
}

bool holds_nothing_odd(const ir::Graph& graph) {
  return graph.sparse_initializers().empty() &&
         std::ranges::all_of(graph.nodes(), [](const ir::Node* node) { return node->overload().empty(); });
}

uint64_t nested_bytes(const ir::Graph& graph) {
  uint64_t bytes = 0;
  for (const ir::Node* node : graph.nodes()) {
    if (node->constant()) bytes += node->constant()->num_bytes();
    for (const ir::Graph* inner : node->subgraphs()) {
      for (const ir::Value* value : inner->initializers()) bytes += value->initializer()->num_bytes();
      bytes += nested_bytes(*inner);
    }
  }
  return bytes;
}

bool is_false(const ir::Value* value) {
  const ir::Tensor* tensor = constant_of(value);
  return tensor && tensor->num_elements() == 1 && tensor->data_type == ir::DataType::kBool &&
         tensor->to_int64()[0] == 0;
}

// Whether what it collects from each round is read: of no rounds, that is a tensor without elements, whose other sizes only the
// body tells.
bool reads_collected(const ir::Node& node, size_t carried) {
  const auto outputs = node.outputs();
  return std::any_of(outputs.begin() + static_cast<ptrdiff_t>(std::min(carried, outputs.size())), outputs.end(),
                     [](const ir::Value* output) { return output && (output->is_used() || output->is_output()); });
}

struct KnownLoop {
  ir::Node* node = nullptr;
  std::shared_ptr<ir::Graph> body;
  int64_t rounds = 0;
  size_t carried = 0;  // values that a round passes to the next
};

std::optional<KnownLoop> known_loop(ir::Node& node, const Constants& frozen) {
  if (node.op_type() != "Loop" || !node.domain().empty() || node.inputs().size() < 2) return std::nullopt;
  const ir::Attribute* attribute = node.attribute("body");
  const auto* body = attribute ? attribute->as<std::shared_ptr<ir::Graph>>() : nullptr;
  const ir::Tensor* count = constant_of(node.input(0));
  const bool is_counted =
      count && !frozen.contains(node.input(0)) && count->num_elements() == 1 && ir::is_integer(count->data_type);
  const size_t carried = node.inputs().size() - 2;
  if (body && (is_false(node.input(1)) || (is_counted && count->to_int64()[0] <= 0)) && !reads_collected(node, carried))
    return std::ranges::all_of(node.inputs().subspan(2), [](const ir::Value* value) { return value != nullptr; })
               ? std::optional(KnownLoop{&node, *body, 0, carried})
               : std::nullopt;
  if (!body || !is_counted || (node.input(1) && !is_true(node.input(1)))) return std::nullopt;
  const ir::Graph& graph = **body;
  const int64_t rounds = count->to_int64()[0];
  if (rounds < 1 || rounds > kMostUnrolledRounds || graph.inputs().size() != carried + 2 ||
      graph.outputs().size() < carried + 1 || node.outputs().size() > graph.outputs().size() - 1)
    return std::nullopt;
  const bool is_small = graph.num_nodes() * static_cast<size_t>(rounds) <= kMostUnrolledNodes &&
                        nested_bytes(graph) <= kMostNestedBytes && holds_nothing_odd(graph);
  if (!is_small || returns_its_number(graph) || !goes_on(graph)) return std::nullopt;
  return KnownLoop{&node, *body, rounds, carried};
}

// Constants of the body stand once, in the graph around it.
void hoist_constants(const KnownLoop& loop) {
  ir::Graph& outer = *loop.node->graph();
  for (ir::Value* value : std::vector<ir::Value*>(loop.body->initializers())) {
    ir::Tensor tensor = *value->initializer();
    loop.body->rename(value, outer.unique_name(tensor.name + "_inside"));
    tensor.name = outer.unique_name(tensor.name);
    loop.body->replace_uses(value, outer.add_initializer(std::move(tensor)));
    loop.body->remove_initializer(value);
  }
}

// One round before the loop; returns what the body returns but for its condition.
std::vector<ir::Value*> write_round(const KnownLoop& loop, int64_t round, const std::vector<ir::Value*>& carried,
                                    const ops::Emit& at) {
  const std::shared_ptr<ir::Graph> body = ir::clone(*loop.body);
  loop.node->set_attribute({"round", body});  // as a subgraph it sees the values around it
  std::vector<ir::Value*> actual{ops::takes_list_of_one(*body, 0) ? at.list({round}) : at.integer(round), nullptr};
  actual.insert(actual.end(), carried.begin(), carried.end());
  const std::vector<int64_t> own = ops::takes_list_of_one(*body, 1) ? std::vector<int64_t>{1} : std::vector<int64_t>{};
  body->remove_output(0);
  for (size_t i = 0; i < actual.size(); ++i) {
    ir::Value* formal = body->inputs().front();
    if (i == 1 && !formal->uses().empty()) {
      const std::byte yes{1};
      actual[i] = at.writer().constant(ir::Tensor::from_bytes({}, ir::DataType::kBool, own, {yes}));
    }
    if (actual[i]) body->replace_uses(formal, actual[i]);
    body->remove_input(formal);
  }
  rewrite::splice(*body, loop.node, fmt::format("{}/{}", rewrite::name_of(*loop.node), round));
  std::vector<ir::Value*> results = body->outputs();
  loop.node->remove_attribute("round");
  return results;
}

// Of no rounds: what it begins with.
void skip(const KnownLoop& loop) {
  const auto inputs = loop.node->inputs();
  rewrite::replace_node(loop.node, {inputs.begin() + 2, inputs.end()});
}

void unroll(ir::Model& model, const KnownLoop& loop) {
  if (loop.rounds == 0) return skip(loop);
  hoist_constants(loop);
  rewrite::Emitter emitter(model, {});
  emitter.set_origin(rewrite::name_of(*loop.node));
  const ops::Emit at = emitter.before(loop.node);
  std::vector<ir::Value*> carried(loop.node->inputs().begin() + 2, loop.node->inputs().end());
  std::vector<std::vector<ir::Value*>> scanned(loop.node->outputs().size() -
                                               std::min(loop.node->outputs().size(), loop.carried));
  for (int64_t round = 0; round < loop.rounds; ++round) {
    const std::vector<ir::Value*> results = write_round(loop, round, carried, at);
    carried.assign(results.begin(), results.begin() + static_cast<ptrdiff_t>(loop.carried));
    for (size_t i = 0; i < scanned.size(); ++i) {
      const ir::Value* output = loop.node->output(static_cast<int>(loop.carried + i));
      if (output && output->is_used()) scanned[i].push_back(at.unsqueeze(results[loop.carried + i], {0}));
    }
  }
  std::vector<ir::Value*> results = carried;
  for (const std::vector<ir::Value*>& parts : scanned)  // what nothing reads may be anything
    results.push_back(parts.empty() ? loop.node->input(0) : at.concat(parts, 0));
  results.resize(loop.node->outputs().size());
  rewrite::replace_node(loop.node, results);
}

void collect_loops(const ir::Graph& graph, const Constants& frozen, std::vector<KnownLoop>& loops) {
  for (ir::Node* node : graph.nodes()) {
    if (auto loop = known_loop(*node, frozen)) {
      loops.push_back(std::move(*loop));  // those inside it wait for the next round of passes
      continue;
    }
    for (const ir::Graph* inner : node->subgraphs()) collect_loops(*inner, frozen, loops);
  }
}

}  // namespace

int unroll_loops(Context& context) {
  std::vector<KnownLoop> loops;
  collect_loops(*context.model.graph, context.frozen(), loops);
  size_t nodes = context.model.graph->num_nodes();
  std::erase_if(loops, [&](const KnownLoop& loop) {
    const size_t more = loop.body->num_nodes() * static_cast<size_t>(loop.rounds);
    if (nodes + more > context.most_nodes()) return true;
    nodes += more;
    return false;
  });
  if (loops.empty()) return 0;
  rewrite::edit_as_one(context, [&] {
    for (const KnownLoop& loop : loops) {
      context.changes.made.push_back(
          {.kind = "unroll a loop",
           .location = loop.node->describe(),
           .replaced = {
               {"Loop", loop.rounds == 0 ? "what it begins with" : fmt::format("its {} rounds", loop.rounds)}}});
      unroll(context.model, loop);
    }
    return static_cast<int>(loops.size());
  });
  context.look_again();  // the bodies' constants have moved
  return static_cast<int>(loops.size());
}

}  // namespace thaw::optimizing
