#include "thaw/rewrite/fold.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/rewrite/node_key.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/run/session.h"

namespace thaw::rewrite {
namespace {

constexpr uint64_t kSmall = 64;  // bytes of a constant that is worth a node: it takes no more room in the file

bool is_constant(const ir::Value& value) { return value.fixed_constant() != nullptr; }

class Folder {
 public:
  Folder(PassContext& context, const FoldOptions& options)
      : model_(context.model),
        graph_(*context.model.graph),
        facts_(context.facts()),
        options_(options),
        changes_(context.changes) {}

  int run() {
    find_foldable(graph_);
    number_foldable();
    choose();
    if (chosen_.empty()) return 0;
    compute();
    return write();
  }

 private:
  bool is_foldable(const ir::Node& node) const {
    const ops::Operator* op = ops::registry().find(node);
    if (!op || op->evaluation == ops::Evaluation::kNever || node.inputs().empty() || node.constant()) return false;
    for (const ir::Value* input : node.inputs())
      if (input && ((!is_constant(*input) && !folded_.contains(input)) || options_.keep.contains(input))) return false;
    return std::ranges::all_of(node.outputs(), [&](const ir::Value* output) {
      return !output || (facts_.fact(output).is_tensor() && facts_.fact(output).dtype != ir::DataType::kUndefined);
    });
  }

  // Subgraphs too, each where its node stands: what it reads comes before.
  void find_foldable(const ir::Graph& graph) {
    for (ir::Node* node : graph.nodes()) {
      for (const ir::Graph* inner : node->subgraphs()) find_foldable(*inner);
      if (!is_foldable(*node)) continue;
      nodes_.push_back(node);
      for (const ir::Value* output : node->outputs())
        if (output) folded_.insert(output);
    }
  }

  std::optional<uint64_t> bytes_of(const ir::Value& value) const {
    const ops::Fact& fact = facts_.fact(&value);
    const auto count = fact.num_elements().constant();
    if (!count || fact.dtype == ir::DataType::kString) return std::nullopt;
    return (static_cast<uint64_t>(*count) * ir::bits_of(fact.dtype) + 7) / 8;
  }

  // What is computed from the same constants in the same way is one value, also in branches beside each other.
  void number_foldable() {
    std::unordered_map<std::string, int> numbers;
    const auto append = [&](std::string& key, const ir::Value* operand) {
      if (const auto found = number_.find(operand); found != number_.end()) {
        key = "number";
        append_number(key, found->second);
      } else if (!operand || !is_constant(*operand) || !append_tensor(key, *operand->constant())) {
        key.clear();
        append_address(key, operand);
      }
    };
    for (const ir::Node* node : nodes_) {
      const std::string key = key_of(*node, append);
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        std::string result = key;
        append_number(result, static_cast<int>(i));
        const int next = static_cast<int>(numbers.size() + number_.size());
        if (node->outputs()[i])
          number_[node->outputs()[i]] = key.empty() ? -1 - next : numbers.try_emplace(result, next).first->second;
      }
    }
  }

  static void append_number(std::string& key, int number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof number);
  }

  // The constants that only the nodes behind these values read, each once or several times: what goes when they are folded.
  uint64_t bytes_behind(const std::vector<ir::Value*>& values) const {
    uint64_t bytes = 0;
    std::unordered_map<const ir::Value*, size_t> reads;  // by nodes that go
    const auto is_read_by_those = [&](const ir::Value* at) {
      return !at || (!at->is_output() && !is_result_of_subgraph(*at) && reads[at] == at->uses().size());
    };
    std::vector<const ir::Node*> gone;
    for (const ir::Value* value : values) gone.push_back(value->producer());
    while (!gone.empty()) {
      const ir::Node* node = gone.back();
      gone.pop_back();
      for (const ir::Value* input : node->inputs()) {
        if (!input) continue;
        ++reads[input];
        if (!is_read_by_those(input)) continue;
        if (is_constant(*input)) {
          bytes += input->constant()->num_bytes();
        } else if (std::ranges::all_of(input->producer()->outputs(), is_read_by_those)) {
          gone.push_back(input->producer());
        }
      }
    }
    return bytes;
  }

  // Runtimes do not take a constant there.
  bool is_result_of_subgraph(const ir::Value& value) const {
    return (value.is_output() && value.graph() != &graph_) || !value.graph()->returned_by(&value).empty();
  }

  void choose() {
    struct Candidate {
      std::vector<ir::Value*> values;  // that are equal
      int64_t growth = 0;
    };
    std::vector<Candidate> candidates;
    std::unordered_map<int, size_t> location_of;  // of a number, in `candidates`
    std::unordered_set<const ir::Node*> nodes(nodes_.begin(), nodes_.end());
    for (ir::Node* node : nodes_) {
      for (ir::Value* output : node->outputs()) {
        if (!output || !output->is_used() || is_result_of_subgraph(*output)) continue;
        const bool read_outside =
            output->is_output() || output->uses().empty() ||
            std::ranges::any_of(output->uses(), [&](const ir::Use& use) { return !nodes.contains(use.node); });
        if (!read_outside || !bytes_of(*output)) continue;
        // Each output of the model has a value of its own.
        const int own = std::numeric_limits<int>::min() + static_cast<int>(candidates.size());
        const auto [location, fresh] =
            location_of.try_emplace(output->is_output() ? own : number_.at(output), candidates.size());
        if (fresh) candidates.emplace_back();
        candidates[location->second].values.push_back(output);
      }
    }
    for (Candidate& one : candidates)
      if (const uint64_t bytes = *bytes_of(*one.values.front()); bytes > kSmall)
        one.growth = static_cast<int64_t>(bytes) - static_cast<int64_t>(bytes_behind(one.values));
    std::ranges::stable_sort(candidates, {}, &Candidate::growth);
    int64_t growth = 0;
    for (Candidate& candidate : candidates) {
      if (growth + candidate.growth > static_cast<int64_t>(options_.most_growth)) continue;
      growth += candidate.growth;
      chosen_.push_back(candidate.values.front());
      equal_.emplace(candidate.values.front(), std::move(candidate.values));
    }
  }

  // Integers that the value rules know.
  std::optional<ir::Tensor> by_rule(const ir::Value& value) const {
    const ops::Fact& fact = facts_.fact(&value);
    const ops::Operator* op = ops::registry().find(*value.producer());
    if (op->evaluation != ops::Evaluation::kByRule || fact.dtype != ir::DataType::kInt64) return std::nullopt;
    return ops::known_numbers(fact);
  }

  void compute() {
    std::vector<ir::Value*> left;
    for (ir::Value* value : chosen_) {
      if (auto tensor = by_rule(*value)) {
        computed_.emplace(value, std::move(*tensor));
      } else {
        left.push_back(value);
      }
    }
    if (left.empty()) return;
    try {
      run_nodes(left);
    } catch (const run::RunTimedOut&) {
      // What takes that long is not worth folding.
    } catch (const Error&) {
      // One node that ONNX Runtime does not run should not keep the others.
      for (ir::Value* value : left) {
        try {
          run_nodes({value});
        } catch (const run::RunTimedOut&) {
          return;
        } catch (const Error&) {
          continue;
        }
      }
    }
  }

  // A model of the nodes behind the values, run.
  void run_nodes(const std::vector<ir::Value*>& values) {
    std::unordered_set<const ir::Node*> needed;
    std::vector<const ir::Value*> open(values.begin(), values.end());
    while (!open.empty()) {
      const ir::Value* value = open.back();
      open.pop_back();
      if (!value || is_constant(*value) || !needed.insert(value->producer()).second) continue;
      open.insert(open.end(), value->producer()->inputs().begin(), value->producer()->inputs().end());
    }
    ir::Model model;
    model.ir_version = model_.ir_version;
    model.opset_imports = model_.opset_imports;
    model.path = model_.path;
    model.graph = std::make_unique<ir::Graph>();
    model.graph->name = "constants";
    std::unordered_map<const ir::Value*, ir::Value*> made;
    const auto copied = [&](ir::Value* value) -> ir::Value* {
      if (!value) return nullptr;
      ir::Value*& copy = made[value];
      if (!copy) {
        ir::Tensor tensor = *value->constant();
        tensor.name = model.graph->unique_name(value->name());  // subgraphs beside each other may have the same names
        copy = model.graph->add_initializer(std::move(tensor));
      }
      return copy;
    };
    for (ir::Node* node : nodes_) {
      if (!needed.contains(node)) continue;
      std::vector<ir::Value*> inputs, outputs;
      for (ir::Value* input : node->inputs()) inputs.push_back(copied(input));
      for (ir::Value* output : node->outputs()) {
        outputs.push_back(output ? model.graph->add_value(model.graph->unique_name(output->name())) : nullptr);
        if (output) made[output] = outputs.back();
      }
      ir::Node* copy = model.graph->add_node(node->op_type(), node->domain(), inputs, outputs);
      for (const ir::Attribute& attribute : node->attributes()) copy->set_attribute(attribute);
    }
    for (const ir::Value* value : values) {
      made.at(value)->set_type(ir::Type::tensor(facts_.fact(value).dtype));
      model.graph->add_output(made.at(value));
    }
    run::Session session(model, {.optimization = Optimization::kNone});
    Arrays arrays = session.run({});
    for (ir::Value* value : values) {
      Array& array = arrays.at(made.at(value)->name());
      if (!array.is_string())
        computed_.emplace(value, ir::Tensor::from_bytes({}, array.dtype, array.dims, std::move(array.bytes)));
    }
  }

  int write() {
    Patch patch(model_, "folded");
    int count = 0;
    for (ir::Value* value : chosen_) {
      const auto found = computed_.find(value);
      if (found == computed_.end()) continue;
      const std::vector<ir::Value*>& values = equal_.at(value);
      const bool is_in_one =
          std::ranges::all_of(values, [&](const ir::Value* other) { return other->graph() == value->graph(); });
      ir::Graph& graph = is_in_one ? *value->graph() : graph_;
      ir::Tensor tensor = std::move(found->second);
      tensor.name = graph.unique_name(value->name() + "_folded");
      ir::Value* folded = graph.add_initializer(std::move(tensor));
      for (ir::Value* other : values) {
        changes_.made.push_back({.kind = "fold",
                                 .location = other->producer()->describe(),
                                 .replaced = {{other->producer()->op_type(), "a constant"}}});
        patch.replace(other, folded);
        ++count;
      }
    }
    remove_unused(model_);
    patch.apply(facts_);
    return count;
  }

  ir::Model& model_;
  ir::Graph& graph_;
  infer::Inference& facts_;
  const FoldOptions& options_;
  Changes& changes_;
  std::vector<ir::Node*> nodes_;  // foldable, in order
  std::unordered_set<const ir::Value*> folded_;
  std::unordered_map<const ir::Value*, int> number_;  // of foldable values: equal ones, equal numbers
  std::vector<ir::Value*> chosen_;
  std::unordered_map<const ir::Value*, std::vector<ir::Value*>> equal_;  // those of each chosen one, itself first
  std::unordered_map<const ir::Value*, ir::Tensor> computed_;
};

}  // namespace

int fold_constants(PassContext& context, const FoldOptions& options) { return Folder(context, options).run(); }

}  // namespace thaw::rewrite
