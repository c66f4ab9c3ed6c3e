#include "thaw/quant/int8/chosen.h"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/target/planned_node.h"
#include "thaw/rewrite/sites.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing::int8 {
namespace {

using ops::Int8Kernel;

bool is_computed(const ir::Value* value) { return value && !(value->constant() && !value->is_input()); }

// The table that rows are looked up in.
std::optional<StoredWeight> looked_up(const ir::Node& node) {
  if (!ops::looks_up_rows(node) || !node.input(1) || !node.output(0)) return std::nullopt;
  const auto table = stored_weight(node.input(0));
  const auto is_taken = [](ir::DataType type) {
    return type == ir::DataType::kFloat || type == ir::DataType::kFloat16 || type == ir::DataType::kBfloat16;
  };
  const bool is_one = table && !table->transposed && is_taken(table->tensor->data_type) &&
                      table->tensor->dims.size() >= 2 && table->tensor->num_elements() > 0;
  return is_one ? table : std::nullopt;
}

class TensorChooser {
 public:
  // `graphs`: those that are measured, each before those inside it.
  TensorChooser(std::vector<ir::Graph*> graphs, const infer::Result& facts, const Wanted& wanted, Chosen& chosen)
      : graphs_(std::move(graphs)), facts_(facts), wanted_(wanted), chosen_(chosen) {}

  void run() {
    for (ChosenNode& node : chosen_.nodes) mark(node);
    for (const ActivationProduct& product : chosen_.products)
      for (const int i : {0, 1}) mark_read(*product.node, i, product.options);
    for (const ir::Graph* graph : graphs_)
      for (ir::Node* node : graph->nodes()) can_pass(*node);
    std::vector<ir::Node*> backwards(can_.rbegin(), can_.rend());
    for (ir::Node* node : backwards) want(*node);
    for (ir::Node* node : can_) pass(*node);
    collect();
  }

 private:
  struct Mark {
    const Int8Options* options = nullptr;
    ir::Value* scale_of = nullptr;
    bool for_all = false;
    std::vector<ir::Use> readers = {};
  };

  // What of a node's result is quantized: where nothing but a Relu or Clip reads it, what that makes of it.
  static ir::Value* final_of(const ir::Node& node, int output = 0) {
    ir::Value* value = node.output(output);
    if (value->uses().size() != 1 || value->is_output() || !node.graph()->returned_by(value).empty()) return value;
    const ir::Node* reader = value->uses()[0].node;
    const bool is_cut = reader->graph() == node.graph() && value->uses()[0].index == 0 &&
                        ops::int8_kernel(*reader) == Int8Kernel::kCut && reader->output(0);
    return is_cut ? reader->output(0) : value;
  }

  void mark(ChosenNode& node) {
    if (node.weighted.kernel == Int8Kernel::kRecurrent || node.weights_alone) return;
    mark_read(*node.weighted.node, node.weighted.data, node.options);
    // Only what is read from a pair is in 8 bits by then.
    if (node.weighted.kernel == Int8Kernel::kConvolution) mark_made(final_of(*node.weighted.node), node.options);
  }

  void mark_read(ir::Node& node, int operand, const Int8Options* options) {
    ir::Value* data = node.input(operand);
    if (is_coded(data)) return;
    Mark& read = marks_[data];
    if (!read.options) read.options = options;
    read.readers.push_back({&node, operand});
  }

  void mark_made(ir::Value* value, const Int8Options* options) {
    if (already_paired(value)) return;
    Mark& made = marks_[value];
    if (!made.options) made.options = options;
    made.for_all = true;
  }

  // Whether a QuantizeLinear reads it, and nothing else does.
  static bool already_paired(const ir::Value* value) {
    return value->uses().size() == 1 && value->uses()[0].node->op_type() == ops::kQuantize;
  }

  // Operands that hold what is computed with: the first of what moves, all of float32 else.
  std::vector<int> passed_operands(const ir::Node& node) const {
    const ops::Operator* op = ops::registry().find(node);
    std::vector<int> found;
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      if (!node.input(i)) continue;
      const ops::Role role = op ? op->operands[i] : ops::Role::kData;
      if (role != ops::Role::kData && role != ops::Role::kWeight) continue;
      found.push_back(i);
      if (ops::int8_kernel(node) == Int8Kernel::kSameScale) break;
    }
    return found;
  }

  void can_pass(ir::Node& node) {
    const Int8Kernel kernel = ops::int8_kernel(node);
    if ((kernel != Int8Kernel::kSameScale && kernel != Int8Kernel::kOwnScale) || !wanted_(node)) return;
    const std::vector<int> operands = passed_operands(node);
    if (operands.empty()) return;
    for (const int i : operands) {
      const ir::Value* value = node.input(i);
      if (facts_.fact(value).dtype != ir::DataType::kFloat || !is_computed(value)) return;
      if (!marks_.contains(node.input(i)) && !can_be_.contains(value)) return;
    }
    can_.push_back(&node);
    for (int o = 0; o < static_cast<int>(node.outputs().size()); ++o)
      if (node.output(o)) can_be_.insert(result_of(node, o));
  }

  // What moves numbers has no range of its own that a Relu behind it could share.
  static ir::Value* result_of(const ir::Node& node, int output) {
    return ops::int8_kernel(node) == Int8Kernel::kSameScale ? node.output(output) : final_of(node, output);
  }

  void want(ir::Node& node) {
    bool is_wanted = false;
    for (int o = 0; o < static_cast<int>(node.outputs().size()); ++o)
      is_wanted = is_wanted || (node.output(o) && is_wanted_[result_of(node, o)]) ||
                  (node.output(o) && is_read(result_of(node, o)));
    if (!is_wanted) return;
    wanted_nodes_.insert(&node);
    for (const int i : passed_operands(node)) is_wanted_[node.input(i)] = true;
  }

  // By a product.
  bool is_read(ir::Value* value) const {
    const auto mark = marks_.find(value);
    return mark != marks_.end() && !mark->second.readers.empty();
  }

  void pass(ir::Node& node) {
    if (!wanted_nodes_.contains(&node)) return;
    const std::vector<int> operands = passed_operands(node);
    const Mark* first = nullptr;
    for (const int i : operands) {
      Mark& read = marks_.at(node.input(i));
      read.readers.push_back({&node, i});
      if (!first) first = &read;
    }
    chosen_.passing.push_back(&node);
    const Int8Options* options = first->options;
    ir::Value* root = first->scale_of ? first->scale_of : node.input(operands.front());
    for (int o = 0; o < static_cast<int>(node.outputs().size()); ++o) {
      if (!node.output(o)) continue;
      ir::Value* result = result_of(node, o);
      mark_made(result, options);
      const auto mark = marks_.find(result);
      if (mark == marks_.end() || ops::int8_kernel(node) != Int8Kernel::kSameScale) continue;
      mark->second.scale_of = root;
      mark->second.options = options;
    }
  }

  void collect() {
    const auto add = [&](ir::Value* value) {
      const auto at = marks_.find(value);
      if (at == marks_.end()) return;
      const Mark& mark = at->second;
      chosen_.tensors.push_back(
          {value, mark.scale_of ? mark.scale_of : value, mark.options, mark.for_all, mark.readers});
    };
    for (const ir::Graph* graph : graphs_) {
      for (ir::Value* input : graph->inputs()) add(input);
      for (ir::Node* node : graph->nodes())
        for (ir::Value* output : node->outputs())
          if (output) add(output);
    }
  }

  std::vector<ir::Graph*> graphs_;
  const infer::Result& facts_;
  const Wanted& wanted_;
  Chosen& chosen_;
  std::unordered_map<ir::Value*, Mark> marks_;
  std::unordered_set<const ir::Value*> can_be_;
  std::vector<ir::Node*> can_;
  std::unordered_set<ir::Node*> wanted_nodes_;
  std::unordered_map<ir::Value*, bool> is_wanted_;
};

}  // namespace

std::vector<ChosenNode> choose_weighted(ir::Model& model, const infer::Result& facts, const Wanted& wanted,
                                        std::vector<LeftNode>& left) {
  std::vector<ChosenNode> nodes;
  for (const ir::Graph* graph : rewrite::all_graphs(*model.graph))
    for (ir::Node* node : graph->nodes()) {
      const Int8Options* options = wanted(*node);
      if (!options) continue;
      Considered considered = consider(*node, model, facts);
      if (considered.found) {
        nodes.push_back({std::move(*considered.found), options});
      } else if (!considered.why_not.empty()) {
        left.push_back({node, std::move(considered.why_not)});
      }
    }
  return nodes;
}

std::vector<Lookup> choose_lookups(ir::Model& model, const Wanted& wanted) {
  std::vector<Lookup> lookups;
  for (const ir::Graph* graph : rewrite::all_graphs(*model.graph))
    for (ir::Node* node : graph->nodes())
      if (const Int8Options* options = wanted(*node))
        if (const auto table = looked_up(*node)) lookups.push_back({node, *table, options});
  return lookups;
}

void leave_unsupported(std::vector<Lookup>& lookups, const ir::Model& model, const infer::Result& facts,
                       const ops::Target& target, std::vector<LeftNode>& left) {
  const auto why_not = [&](const Lookup& lookup) -> std::string {
    const ir::DataType codes = lookup.options->unsigned_weights ? ir::DataType::kUint8 : ir::DataType::kInt8;
    const ir::DataType indices = facts.fact(lookup.node->input(1)).dtype;
    for (const ops::PlannedNode& node :
         {ops::PlannedNode{.op = ops::kRows, .inputs = {codes, indices}, .outputs = {codes}},
          ops::PlannedNode{.op = ops::kCast, .inputs = {codes}, .outputs = {ir::DataType::kFloat}}})
      if (ops::Taken taken = ops::how_taken(target, node, model.opset("").value_or(1));
          taken.support == Support::kUnsupported)
        return std::move(taken.why);
    return {};
  };
  std::erase_if(lookups, [&](const Lookup& lookup) {
    std::string why = why_not(lookup);
    if (why.empty()) return false;
    left.push_back({lookup.node, std::move(why)});
    return true;
  });
}

void note(const ir::Node& node, const std::string& why, rewrite::Changes& changes) {
  auto& list = why.empty() ? changes.made : changes.left;
  list.push_back(
      {.kind = "int8", .location = rewrite::name_of(node), .part = {}, .replaced = {}, .nodes = 0, .why = why});
}

namespace {

std::vector<ActivationProduct> choose_products(const std::vector<ir::Graph*>& graphs, const infer::Result& facts,
                                               const Wanted& wanted) {
  std::vector<ActivationProduct> products;
  const auto add = [&](ir::Node* node) {
    if (ops::int8_kernel(*node) != Int8Kernel::kProduct || node->inputs().size() != 2 || !node->output(0)) return;
    const Int8Options* options = wanted(*node);
    if (!options || !options->activation_products) return;
    const bool is_one = std::ranges::all_of(node->inputs(), [&](const ir::Value* value) {
      return is_computed(value) && !is_coded(value) && facts.fact(value).dtype == ir::DataType::kFloat;
    });
    if (is_one) products.push_back({node, options});
  };
  for (const ir::Graph* graph : graphs)
    for (ir::Node* node : graph->nodes()) add(node);
  return products;
}

}  // namespace

Chosen choose(ir::Model& model, const infer::Result& facts, const Wanted& wanted, const MeasuredGraphs& measured_of) {
  Chosen chosen;
  chosen.nodes = choose_weighted(model, facts, wanted, chosen.left);
  chosen.lookups = choose_lookups(model, wanted);
  std::vector<ir::Graph*> graphs = rewrite::all_graphs(*model.graph);
  if (graphs.size() > 1) {
    std::set<const ir::Graph*> asked;
    for (const ChosenNode& node : chosen.nodes)
      if (const ir::Graph* graph = node.weighted.node->graph(); graph->parent()) asked.insert(graph);
    std::set<const ir::Graph*> measured{model.graph.get()};
    // Around a graph that runs others do.
    for (const ir::Graph* graph : measured_of(asked))
      for (; graph->parent(); graph = graph->parent()) measured.insert(graph);
    std::erase_if(graphs, [&](const ir::Graph* graph) { return !measured.contains(graph); });
    for (ChosenNode& node : chosen.nodes) node.weights_alone = !measured.contains(node.weighted.node->graph());
  }
  chosen.products = choose_products(graphs, facts, wanted);
  std::unordered_set<const ir::Node*> taken;
  for (const ActivationProduct& product : chosen.products) taken.insert(product.node);
  std::erase_if(chosen.left, [&](const LeftNode& left) { return taken.contains(left.node); });
  TensorChooser(std::move(graphs), facts, wanted, chosen).run();
  return chosen;
}

}  // namespace thaw::quantizing::int8
