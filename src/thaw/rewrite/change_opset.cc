#include "thaw/rewrite/change_opset.h"

#include <algorithm>
#include <climits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/infer/facts_view.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/rewrite/emitter.h"
#include "thaw/rewrite/replace.h"
#include "thaw/rewrite/supported_types.h"

namespace thaw::rewrite {
namespace {

using ir::OperatorSchema;

// The first IR version whose readers know an opset (ONNX, docs/Versioning.md).
constexpr std::pair<int64_t, int64_t> kIrOfOpset[] = {{9, 4},  {10, 5},  {11, 6},  {12, 7}, {15, 8},
                                                      {19, 9}, {21, 10}, {23, 11}, {25, 12}};

// Attributes that never meant anything to who runs a model.
constexpr std::string_view kMeaningless[] = {"consumed_inputs", "is_test"};

// Of one number, a list is asked for: TopK's k.
bool wants_list(std::string_view attribute) { return attribute == "k"; }

// Where the operand stands that an attribute became; -1 where it became none.
int operand_of(const OperatorSchema& schema, const std::string& attribute) {
  const auto found = std::ranges::find(schema.inputs, attribute, attribute_of);
  return found == schema.inputs.end() ? -1 : static_cast<int>(found - schema.inputs.begin());
}

class Changer {
 public:
  Changer(ir::Model& model, int64_t from, int64_t to, const infer::Result& facts)
      : model_(model), from_(from), to_(to), facts_(facts), emitter_(model, ""), forms_(model, "") {
    forms_.ask_as_of(from);
  }

  // What was written has types of its own, so that all is inferred once more.
  void require_supported_types() const {
    dim::Scope scope;
    const infer::Result facts = infer::infer(model_, scope);
    if (const auto found = find_unsupported_type(*model_.graph, facts, from_, to_)) refuse(*found->node, found->why);
  }

  // How many nodes changed.
  int change(ir::Graph& graph) {
    int count = 0;
    for (ir::Node* node : graph.nodes()) {
      for (ir::Graph* inner : node->subgraphs()) count += change(*inner);
      if (!node->domain().empty()) continue;
      try {
        count += change(*node) ? 1 : 0;
      } catch (const ops::NoEqual& none) {
        refuse(*node, none.why);
      } catch (const ops::CannotWrite& cannot) {
        refuse(*node, cannot.why);
      }
    }
    return count;
  }

 private:
  [[noreturn]] void refuse(const ir::Node& node, const std::string& why) const {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("{} has no equal in opset {}: {}", node.describe(), to_, why),
                 .where = model_.path.string(),
                 .expected = "nodes whose meaning is the same in both opsets",
                 .next = "ask for another opset"});
  }

  bool is_raised() const { return to_ > from_; }

  bool change(ir::Node& node) {
    const auto before = ir::find_schema("", node.op_type(), from_);
    if (!before) return false;  // ONNX Runtime's own, which it registers in ONNX's domain
    auto after = ir::find_schema("", node.op_type(), to_);
    const bool is_missing = !after || after->deprecated;
    if (!is_missing && before->since_version == after->since_version) return false;
    const ops::Operator* op = ops::registry().find(node);
    if (const ops::AdapterRule rule = !op ? nullptr : is_raised() ? op->newer : op->older) {
      const ops::Emit at = emitter_.before(&node);
      infer::FactsView<ops::AdapterContext> view(facts_, node, from_);
      view.begin(node, at, before->since_version, !is_missing ? after->since_version : is_raised() ? INT_MAX : 0);
      rule(view);
      if (!view.replacements().empty()) return replace(node, view.replacements());
      after = ir::find_schema("", node.op_type(), to_);  // it may have another name
    }
    if (!after || after->deprecated) throw ops::NoEqual{is_raised() ? "it is gone" : "there is none yet"};
    if (is_raised()) {
      move_attributes(node, *before, *after);
      keep_defaults(node, *before, *after);
    } else {
      write_older(node, *before, *after);
    }
    return true;
  }

  bool replace(ir::Node& node, const std::vector<ir::Value*>& replacements) {
    for (size_t i = 0; i < replacements.size(); ++i) {
      ir::Value* old = node.output(static_cast<int>(i));
      if (!replacements[i] || !old) continue;
      const bool fits = can_replace(*old, *replacements[i]);
      replace_value(*old, fits ? *replacements[i] : *emitter_.before(&node).emit("Identity", {replacements[i]}));
    }
    node.graph()->remove_node(&node);
    return true;
  }

  // Operands that are attributes there, and attributes that say what holds there anyway.
  void write_older(ir::Node& node, const OperatorSchema& before, const OperatorSchema& after) {
    for (const auto& [name, value] : before.integer_defaults)
      if (!after.has_attribute(name) && node.attribute_int(name, value) == value) node.remove_attribute(name);
    if (before.inputs == after.inputs && std::ranges::all_of(node.attributes(), [&](const ir::Attribute& attribute) {
          return after.has_attribute(attribute.name);
        }))
      return;
    std::vector<bool> outputs;
    for (const ir::Value* output : node.outputs()) outputs.push_back(output != nullptr);
    replace(node, forms_.write(*node.graph(), &node,
                               {.op = node.op_type(),
                                .inputs = {node.inputs().begin(), node.inputs().end()},
                                .attributes = {node.attributes().begin(), node.attributes().end()},
                                .outputs = std::move(outputs)}));
  }

  // Attributes that are operands now.
  void move_attributes(ir::Node& node, const OperatorSchema& before, const OperatorSchema& after) {
    std::vector<ir::Attribute> moved;
    for (const ir::Attribute& attribute : node.attributes())
      if (!after.has_attribute(attribute.name)) moved.push_back(attribute);
    for (const auto& [name, value] : before.integer_defaults)
      if (!after.has_attribute(name) && operand_of(after, name) >= 0 && !node.attribute(name))
        moved.push_back({name, value});
    const bool reorders = before.inputs.size() <= after.inputs.size() &&
                          !std::equal(before.inputs.begin(), before.inputs.end(), after.inputs.begin());
    if (reorders && before.max_inputs <= static_cast<int>(before.inputs.size())) reorder_operands(node, before, after);
    for (const ir::Attribute& attribute : moved) {
      const int location = operand_of(after, attribute.name);
      node.remove_attribute(attribute.name);
      if (location >= 0) {
        set_operand(node, location, constant_of(node, attribute));
      } else if (std::ranges::find(kMeaningless, attribute.name) == std::end(kMeaningless)) {
        throw ops::NoEqual{fmt::format("it has no attribute '{}' there", attribute.name)};
      }
    }
  }

  static void reorder_operands(ir::Node& node, const OperatorSchema& before, const OperatorSchema& after) {
    std::vector<ir::Value*> placed;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      size_t to = i;
      if (i < before.inputs.size()) {
        const auto found = std::ranges::find(after.inputs, before.inputs[i]);
        if (found != after.inputs.end()) to = static_cast<size_t>(found - after.inputs.begin());
      }
      placed.resize(std::max(placed.size(), to + 1));
      placed[to] = node.input(static_cast<int>(i));
    }
    node.set_inputs(placed);
  }

  static void set_operand(ir::Node& node, int location, ir::Value* value) {
    for (int i = static_cast<int>(node.inputs().size()); i < location; ++i) node.set_input(i, nullptr);
    node.set_input(location, value);
  }

  // Floats have the type of the data, but for a ratio.
  ir::Value* constant_of(ir::Node& node, const ir::Attribute& attribute) {
    const ops::Emit at = emitter_.before(&node);
    if (const auto* list = attribute.as<std::vector<int64_t>>()) return at.list(*list);
    if (const auto* number = attribute.as<int64_t>())
      return wants_list(attribute.name) ? at.list({*number}) : at.integer(*number);
    if (const auto* number = attribute.as<float>()) {
      const ir::DataType type = facts_.fact(node.input(0)).dtype;
      if (!ir::is_floating(type)) throw ops::NoEqual{fmt::format("the type of '{}' is not known", attribute.name)};
      return at.scalar(*number, attribute.name == "ratio" ? ir::DataType::kFloat : type);
    }
    throw ops::NoEqual{fmt::format("its attribute '{}' is an operand there", attribute.name)};
  }

  // What an attribute meant where it was left out.
  static void keep_defaults(ir::Node& node, const OperatorSchema& before, const OperatorSchema& after) {
    for (const auto& [name, value] : before.integer_defaults) {
      if (!after.has_attribute(name) || node.attribute(name)) continue;
      const auto now = std::ranges::find(after.integer_defaults, name, &std::pair<std::string, int64_t>::first);
      if (now == after.integer_defaults.end() || now->second != value) node.set_attribute({name, value});
    }
  }

  ir::Model& model_;
  int64_t from_, to_;
  const infer::Result& facts_;
  Emitter emitter_, forms_;  // forms_: of nodes as the model has them
};

}  // namespace

void change_opset(PassContext& context, int64_t opset) {
  ir::Model& model = context.model;
  const auto import = std::ranges::find(model.opset_imports, std::string(), &ir::OpsetImport::domain);
  if (import == model.opset_imports.end() || import->version == opset) return;
  const int64_t from = import->version, oldest = std::min(from, kOldestAimedAt);
  if (opset < oldest || opset > ir::newest_opset())
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("opset {} is asked for", opset),
                                              .where = model.path.string(),
                                              .expected = fmt::format("{} to {}", oldest, ir::newest_opset()),
                                              .next = "ask for one of these, or for none to keep the model's"});
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  ir::Transaction edit(model);
  import->version = opset;
  Changer changer(model, from, opset, facts);
  const int count = changer.change(*model.graph);
  changer.require_supported_types();
  edit.keep();
  context.forget_facts();
  for (const auto& [first, version] : kIrOfOpset)
    if (opset >= first) model.ir_version = std::max(model.ir_version, version);
  context.changes.made.push_back({.kind = "change the opset",
                                  .location = "the model",
                                  .part = {},
                                  .replaced = {{fmt::format("opset {}", from), fmt::format("{}", opset)}},
                                  .nodes = count});
}

}  // namespace thaw::rewrite
