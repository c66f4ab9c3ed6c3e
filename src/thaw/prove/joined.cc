#include "thaw/prove/joined.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/prove/expand_calls.h"

namespace thaw::proving {
namespace {

[[noreturn]] void refuse(const char* what, const char* expected) {
  throw Error(ErrorCode::kUnsupported, {.what = what, .where = "the parts", .expected = expected});
}

bool has_call(const ir::Model& model, const ir::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const ir::Node* node) {
    if (model.find_function(node->domain(), node->op_type(), node->overload()) || !node->overload().empty())
      return true;
    return std::ranges::any_of(node->subgraphs(), [&](const ir::Graph* inner) { return has_call(model, *inner); });
  });
}

// Writes the nodes of one part behind those that are there.
class Joiner {
 public:
  Joiner(ir::Graph& to, const ir::Graph& part) : to_(to), part_(part) {}

  void run() {
    if (!part_.sparse_initializers().empty()) refuse("a part has sparse weights", "parts whose weights are dense");
    for (const ir::Value* input : part_.inputs()) now_[input] = input_named(*input);
    for (const ir::Value* value : part_.initializers()) {
      ir::Tensor tensor = *value->initializer();
      if (value->is_input()) {
        if (!now_[value]->initializer()) to_.replace_initializer(now_[value], std::move(tensor));
        continue;
      }
      tensor.name = to_.unique_name(value->name());
      now_[value] = to_.add_initializer(std::move(tensor));
    }
    for (const ir::Node* node : part_.nodes()) copy(*node);
    for (const ir::Value* output : part_.outputs()) {
      ir::Value* value = now_.at(output);
      if (value->is_output()) continue;  // of a part before, handed on
      if (value->name() != output->name()) {
        free_name(output->name());
        to_.rename(value, output->name());
      }
      to_.add_output(value);
    }
  }

 private:
  // No value inside keeps others from this name.
  void free_name(const std::string& name) {
    if (ir::Value* other = to_.find(name)) to_.rename(other, to_.unique_name(name + " inside"));
  }

  ir::Value* input_named(const ir::Value& input) {
    ir::Value* same = to_.find(input.name());
    if (same && (same->is_input() || same->is_output())) return same;
    free_name(input.name());
    return to_.add_input(input.name(), input.type);
  }

  void copy(const ir::Node& node) {
    std::vector<ir::Value*> inputs, outputs;
    for (const ir::Value* input : node.inputs()) inputs.push_back(input ? now_.at(input) : nullptr);
    for (const ir::Value* output : node.outputs()) {
      outputs.push_back(output ? to_.add_value(to_.unique_name(output->name())) : nullptr);
      if (output) now_[output] = outputs.back();
    }
    ir::Node* made = to_.add_node(node.op_type(), node.domain(), inputs, outputs, node.name);
    const std::vector<ir::Attribute> attributes(node.attributes().begin(), node.attributes().end());
    for (const ir::Attribute& attribute : attributes) made->set_attribute(attribute);  // graphs leave the part
    for (ir::Graph* inner : made->subgraphs()) read_here(*inner);
  }

  // What a graph inside reads of the part around it.
  void read_here(ir::Graph& inner) {
    for (ir::Node* node : inner.nodes()) {
      for (ir::Graph* deeper : node->subgraphs()) read_here(*deeper);
      for (size_t i = 0; i < node->inputs().size(); ++i)
        if (const auto found = now_.find(node->inputs()[i]); found != now_.end())
          node->set_input(static_cast<int>(i), found->second);
    }
    for (size_t i = 0; i < inner.outputs().size(); ++i)
      if (const auto found = now_.find(inner.outputs()[i]); found != now_.end())
        inner.set_output(static_cast<int>(i), found->second);
  }

  ir::Graph& to_;
  const ir::Graph& part_;
  std::unordered_map<const ir::Value*, ir::Value*> now_;
};

}  // namespace

std::unique_ptr<ir::Model> join(std::span<const ir::Model* const> parts) {
  std::unique_ptr<ir::Model> whole = ir::clone(*parts.front());
  ir::begin_own_run(*whole);
  for (const ir::Model* given : parts.subspan(1)) {
    const std::unique_ptr<ir::Model> part = ir::clone(*given);
    ir::begin_own_run(*part);
    expand_calls(*part);
    ir::tell_names_apart(*part);
    if (has_call(*part, *part->graph))
      refuse("a later part calls a function", "functions that are plain lists of nodes");
    for (const ir::OpsetImport& import : part->opset_imports) {
      const auto known = whole->opset(import.domain);
      if (known && *known != import.version) refuse("two parts are of different opsets", "parts of one model");
      if (!known) whole->opset_imports.push_back(import);
    }
    Joiner(*whole->graph, *part->graph).run();
    whole->owners.insert(whole->owners.end(), part->owners.begin(), part->owners.end());
  }
  return whole;
}

}  // namespace thaw::proving
