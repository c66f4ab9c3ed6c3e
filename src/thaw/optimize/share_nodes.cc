#include <algorithm>
#include <string>
#include <unordered_map>

#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/share.h"
#include "thaw/rewrite/patch.h"

namespace thaw::optimizing {
namespace {

constexpr uint64_t kMostBytes = 1024;  // of a tensor in an attribute that is compared

template <typename T>
void append_raw(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
void append_list(std::string& key, const std::vector<T>& list) {
  append_raw(key, list.size());
  for (const T& item : list) append_raw(key, item);
}

void append_text(std::string& key, std::string_view text) {
  append_raw(key, text.size());
  key.append(text);
}

// False where the payload is nothing that is compared.
bool append_payload(std::string& key, const ir::Attribute& attribute) {
  append_raw(key, attribute.value.index());
  if (const auto* number = attribute.as<float>()) {
    append_raw(key, *number);
  } else if (const auto* integer = attribute.as<int64_t>()) {
    append_raw(key, *integer);
  } else if (const auto* text = attribute.as<std::string>()) {
    append_text(key, *text);
  } else if (const auto* numbers = attribute.as<std::vector<float>>()) {
    append_list(key, *numbers);
  } else if (const auto* integers = attribute.as<std::vector<int64_t>>()) {
    append_list(key, *integers);
  } else if (const auto* texts = attribute.as<std::vector<std::string>>()) {
    append_raw(key, texts->size());
    for (const std::string& one : *texts) append_text(key, one);
  } else if (const auto* tensor = attribute.as<std::shared_ptr<ir::Tensor>>()) {
    if (!*tensor || (*tensor)->data_type == ir::DataType::kString || (*tensor)->num_bytes() > kMostBytes) return false;
    append_raw(key, (*tensor)->data_type);
    append_list(key, (*tensor)->dims);
    const auto bytes = (*tensor)->bytes();
    key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  } else {
    return false;
  }
  return true;
}

class NodeSharer {
 public:
  NodeSharer(ir::Model& model, rewrite::Changes& changes) : model_(model), changes_(changes) {}

  int run() {
    visit(*model_.graph);
    return count_;
  }

 private:
  using Known = std::unordered_map<std::string, ir::Node*>;

  void visit(ir::Graph& graph) {
    known_.emplace_back();
    for (ir::Node* node : graph.nodes()) {
      for (ir::Graph* inner : node->subgraphs()) visit(*inner);
      const std::string key = key_of(*node);
      if (key.empty()) continue;
      if (ir::Node* first = find(key)) {
        share(*node, *first);
      } else {
        known_.back().emplace(key, node);
      }
    }
    known_.pop_back();
  }

  ir::Node* find(const std::string& key) const {
    for (auto scope = known_.rbegin(); scope != known_.rend(); ++scope)
      if (const auto found = scope->find(key); found != scope->end()) return found->second;
    return nullptr;
  }

  // Equal keys, equal results; empty where that cannot be said.
  static std::string key_of(const ir::Node& node) {
    const ops::Operator* op = ops::registry().find(node);
    if (!op || !op->deterministic || op->op_class == ops::OpClass::kControl || !node.overload().empty()) return {};
    std::string key;
    append_text(key, node.op_type());
    append_text(key, node.domain());
    auto inputs = node.inputs();
    while (!inputs.empty() && !inputs.back()) inputs = inputs.first(inputs.size() - 1);
    append_raw(key, inputs.size());
    if (op->commutes && inputs.size() == 2) {
      append_raw(key, std::min(inputs[0], inputs[1], std::less<>()));
      append_raw(key, std::max(inputs[0], inputs[1], std::less<>()));
    } else {
      for (const ir::Value* input : inputs) append_raw(key, input);
    }
    append_raw(key, node.outputs().size());
    std::vector<const ir::Attribute*> attributes;
    for (const ir::Attribute& attribute : node.attributes()) attributes.push_back(&attribute);
    std::ranges::sort(attributes, {}, [](const ir::Attribute* a) -> const std::string& { return a->name; });
    for (const ir::Attribute* attribute : attributes) {
      append_text(key, attribute->name);
      if (!attribute->ref_attr_name.empty() || !append_payload(key, *attribute)) return {};
    }
    return key;
  }

  void share(ir::Node& node, ir::Node& first) {
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const ir::Value *old = node.outputs()[i], *now = first.outputs()[i];
      if (old && old->is_used() && (!now || !rewrite::can_replace(*old, *now))) return;
    }
    for (size_t i = 0; i < node.outputs().size(); ++i)
      if (ir::Value* old = node.outputs()[i]; old && old->is_used()) rewrite::replace_value(*old, *first.outputs()[i]);
    changes_.made.push_back({.kind = "compute once",
                             .place = node.describe(),
                             .replaced = {{node.op_type(), "what " + first.describe() + " computes"}}});
    node.graph()->remove_node(&node);
    ++count_;
  }

  ir::Model& model_;
  rewrite::Changes& changes_;
  std::vector<Known> known_;  // of the graphs around, outermost first
  int count_ = 0;
};

}  // namespace

int share_nodes(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes) {
  return rewrite::edit_as_one(model, facts, [&] { return NodeSharer(model, changes).run(); });
}

}  // namespace thaw::optimizing
