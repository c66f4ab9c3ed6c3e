#include "thaw/rewrite/emitter.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace thaw::rewrite {
namespace {

constexpr size_t kMostShared = 1024;  // bytes of a constant that is looked for among those that there are
constexpr size_t kMostNamed = 6;      // integers that stand in the name of a constant

bool is_list(const ir::Tensor& tensor) { return !tensor.dims.empty(); }

// The constant as the attribute that says the same; nullopt where it is no constant, or of another type.
std::optional<ir::Attribute> as_attribute(const std::string& name, const ir::Value& value) {
  const ir::Tensor* tensor = value.fixed_constant();
  if (!tensor) return std::nullopt;
  if (ir::is_integer(tensor->data_type)) {
    const std::vector<int64_t> values = tensor->to_int64();
    return is_list(*tensor) ? ir::Attribute{name, values} : ir::Attribute{name, values.front()};
  }
  if (!ir::is_floating(tensor->data_type)) return std::nullopt;
  const std::vector<double> values = tensor->to_double();
  if (!is_list(*tensor)) return ir::Attribute{name, static_cast<float>(values.front())};
  return ir::Attribute{name, std::vector<float>(values.begin(), values.end())};
}

// What a constant is called: its type, and its numbers where they are few.
std::string label_of(const ir::Tensor& tensor) {
  const auto count = static_cast<size_t>(tensor.num_elements());
  if (ir::is_integer(tensor.data_type) && count > 0 && count <= kMostNamed) {
    std::string text = fmt::format("{}_{}", is_list(tensor) ? "ints" : "int", fmt::join(tensor.to_int64(), "_"));
    std::ranges::replace(text, '-', 'm');
    return text;
  }
  if (ir::is_integer(tensor.data_type)) return "ints";
  if (count != 1 || !ir::is_floating(tensor.data_type)) return "table";
  return fmt::format("{}_{}", ir::name_of(tensor.data_type), static_cast<float>(tensor.to_double().front()));
}

// "Gather axis=1", for what is the same where it reads the same; nullopt where an attribute is no integer.
std::optional<std::string> text_of(std::string_view op, const ops::Attributes& attributes) {
  std::string text(op);
  for (const ir::Attribute& attribute : attributes) {
    const auto* value = attribute.as<int64_t>();
    if (!value) return std::nullopt;
    text += fmt::format(" {}={}", attribute.name, *value);
  }
  return text;
}

}  // namespace

std::string attribute_of(const std::string& operand) {
  if (operand == "constant_value") return "value";  // Pad
  if (operand == "K") return "k";                   // TopK
  return operand;
}

Emitter::Emitter(ir::Model& model, std::string prefix)
    : model_(model),
      prefix_(std::move(prefix)),
      opset_(model.opset("").value_or(0)),
      top_(model.graph->nodes().empty() ? nullptr : model.graph->nodes().front()) {}

std::string Emitter::name_of(std::string_view what) const {
  std::string name = origin_.empty() ? std::string() : origin_ + "/";
  if (!prefix_.empty()) name.append(prefix_).append("_");
  return name.append(what);
}

const Emitter::Form& Emitter::form_of(const std::string& op) {
  const auto [at, is_new] = forms_.try_emplace(op);
  if (is_new) {
    auto here = ir::find_schema("", op, opset_);
    auto asked = ir::find_schema("", op, asked_opset_ == 0 ? ir::newest_opset() : asked_opset_);
    if (!here || here->deprecated) {
      forms_.erase(at);
      const auto first = ir::first_opset("", op);
      throw ops::CannotWrite{first && *first > opset_ ? fmt::format("that takes {}, as from opset {} on", op, *first)
                                                      : fmt::format("that takes {}, which opset {} lacks", op, opset_)};
    }
    at->second.asked = asked ? std::move(*asked) : *here;
    at->second.here = std::move(*here);
  }
  return at->second;
}

// From the form that is asked for to the one that the model's opset has.
void Emitter::lower(std::string_view op, std::vector<ir::Value*>& inputs, ops::Attributes& attributes) {
  if (asked_opset_ != 0 && opset_ >= asked_opset_) return;
  if (!ir::first_opset("", std::string(op))) return;  // ONNX Runtime's own, which it registers in ONNX's domain
  const auto& [here, asked] = form_of(std::string(op));
  for (const ir::Attribute& attribute : attributes)
    if (!here.has_attribute(attribute.name))
      throw ops::CannotWrite{fmt::format("that takes {} with {}, which opset {} lacks", op, attribute.name, opset_)};
  if (here.since_version == asked.since_version) return;
  std::vector<ir::Value*> placed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_formal = i < asked.inputs.size();
    const std::string name = is_formal ? asked.inputs[i] : asked.inputs.back();
    size_t to = std::ranges::find(here.inputs, name) - here.inputs.begin();
    if (to == here.inputs.size() || !is_formal) to = i;
    const bool has_input = here.has_input(name) || static_cast<int>(i) < here.max_inputs;
    const std::string attribute = attribute_of(name);
    if (!here.has_input(name) && here.has_attribute(attribute)) {
      if (!inputs[i]) continue;
      auto constant = as_attribute(attribute, *inputs[i]);
      if (!constant)
        throw ops::CannotWrite{fmt::format("{} takes constant {} before opset {}", op, name, asked.since_version)};
      attributes.push_back(std::move(*constant));
    } else if (has_input) {
      placed.resize(std::max(placed.size(), to + 1));
      placed[to] = inputs[i];
    } else if (inputs[i]) {
      throw ops::CannotWrite{fmt::format("that takes {} with {}, which opset {} lacks", op, name, opset_)};
    }
  }
  inputs = std::move(placed);
}

ir::Value* Emitter::write(ir::Graph& graph, ir::Node* before, std::string_view op, std::vector<ir::Value*> inputs,
                          ops::Attributes attributes) {
  lower(op, inputs, attributes);
  const std::optional<std::string> text = shares_ ? text_of(op, attributes) : std::nullopt;
  if (!text)
    return add(graph, before, {.op = op, .inputs = std::move(inputs), .attributes = std::move(attributes)}).front();
  ir::Value*& made = made_[{&graph, before, *text, inputs}];
  if (!made)
    made = add(graph, before, {.op = op, .inputs = std::move(inputs), .attributes = std::move(attributes)}).front();
  return made;
}

std::vector<ir::Value*> Emitter::write(ir::Graph& graph, ir::Node* before, NodeSpec node) {
  if (!node.domain.empty() && !model_.opset(node.domain))
    model_.opset_imports.push_back({std::string(node.domain), 1, {}});
  if (node.domain.empty() && !node.as_it_is) lower(node.op, node.inputs, node.attributes);
  return add(graph, before, std::move(node));
}

// The node is called as its first output is.
std::vector<ir::Value*> Emitter::add(ir::Graph& graph, ir::Node* before, NodeSpec node) {
  ++num_nodes_;
  const std::string stem = name_of(node.op);
  std::vector<ir::Value*> outputs;
  for (const bool there : node.outputs) outputs.push_back(there ? graph.add_value(graph.unique_name(stem)) : nullptr);
  const auto named = std::ranges::find_if(outputs, [](const ir::Value* value) { return value != nullptr; });
  ir::Node* made = graph.add_node(std::string(node.op), std::string(node.domain), std::move(node.inputs), outputs,
                                  named == outputs.end() ? std::string() : (*named)->name(), before);
  for (ir::Attribute& attribute : node.attributes) made->set_attribute(std::move(attribute));
  return outputs;
}

ir::Value* Emitter::constant(ir::Tensor tensor) {
  const auto bytes = tensor.bytes();
  std::string key;
  if (bytes.size() <= kMostShared) {
    const auto append = [&](const void* data, size_t size) { key.append(static_cast<const char*>(data), size); };
    append(&tensor.data_type, sizeof(tensor.data_type));
    append(tensor.dims.data(), tensor.dims.size() * sizeof(int64_t));
    append("|", 1);
    append(bytes.data(), bytes.size());
    if (const auto known = constants_.find(key); known != constants_.end()) return known->second;
  }
  if (tensor.name.empty()) tensor.name = prefix_.empty() ? label_of(tensor) : prefix_ + "_" + label_of(tensor);
  tensor.name = model_.graph->unique_name(tensor.name);
  ir::Value* made = model_.graph->add_initializer(std::move(tensor));
  if (!key.empty()) constants_.emplace(std::move(key), made);
  return made;
}

std::vector<ir::Value*> emit_node(const ops::Emit& at, NodeSpec node) {
  return dynamic_cast<Emitter&>(at.writer()).write(at.graph(), at.before(), std::move(node));
}

}  // namespace thaw::rewrite
