#include "thaw/ops/rule/arity.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/bodies.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {
namespace {

// By AttributeProto.AttributeType, which ir::Attribute's alternatives are in the order of.
constexpr std::string_view kAttributeNouns[] = {"",
                                                "a number",
                                                "an integer",
                                                "a text",
                                                "a tensor",
                                                "a graph",
                                                "a list of numbers",
                                                "a list of integers",
                                                "a list of texts",
                                                "a list of tensors",
                                                "a list of graphs",
                                                "a sparse tensor",
                                                "a list of sparse tensors",
                                                "a type",
                                                "a list of types"};
static_assert(std::size(kAttributeNouns) == std::variant_size_v<ir::Attribute::Payload>);

constexpr std::string_view kPermutation = "perm";

std::string counted(size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string bounds(size_t least, size_t most) {
  if (least == most) return fmt::format("{}", least);
  if (most >= static_cast<size_t>(std::numeric_limits<int>::max())) return fmt::format("{} at least", least);
  if (least == 0) return fmt::format("{} at most", most);
  return fmt::format("{} to {}", least, most);
}

// Those that are left out at the end count for nothing.
size_t count_given(std::span<ir::Value* const> values) {
  size_t count = values.size();
  while (count > 0 && !values[count - 1]) --count;
  return count;
}

class ArityCheck {
 public:
  explicit ArityCheck(const ir::Model& model) : model_(model) {}

  std::vector<ArityFault> run() {
    visit(*model_.graph, nullptr);
    for (const auto& function : model_.functions) {
      known_.clear();  // it has opsets of its own
      visit(*function->body, function.get());
    }
    return std::move(faults_);
  }

 private:
  void visit(const ir::Graph& graph, const ir::Function* around) {
    for (const ir::Node* node : graph.nodes()) {
      check(*node, around);
      for (const ir::Attribute& attribute : node->attributes()) {
        if (const auto* one = attribute.as<std::shared_ptr<ir::Graph>>()) visit(**one, around);
        if (const auto* several = attribute.as<std::vector<std::shared_ptr<ir::Graph>>>())
          for (const auto& inner : *several) visit(*inner, around);
      }
    }
  }

  void check(const ir::Node& node, const ir::Function* around) {
    const size_t before = faults_.size();
    const Known& known = known_of(node, around);
    const ir::Function* callee =
        model_.functions.empty() ? nullptr : model_.find_function(node.domain(), node.op_type(), node.overload());
    if (callee) {
      // A call may leave out what stands last.
      check_count(node, node.inputs(), "operand", 0, callee->body->inputs().size());
      check_count(node, node.outputs(), "result", 0, callee->body->outputs().size());
    } else if (known.arity) {
      check_operands(node, node.inputs(), "operand", known.arity->inputs);
      check_operands(node, node.outputs(), "result", known.arity->outputs);
    }
    if (faults_.size() != before) return;
    if (known.bodies)
      for (const BodyArity& body : known.bodies(node, known.opset)) check_body(node, body);
    if (callee || !known.arity || faults_.size() != before) return;
    for (const ir::Arity::Attribute& one : known.arity->attributes)
      if (one.is_required && !node.attribute(one.name))
        return add(node, fmt::format("it has no {}", one.name), "an attribute of that name");
    check_attribute_types(node, *known.arity);
    if (known.permutes && faults_.size() == before) check_permutation(node);
  }

  // A list that is one number would be read as none.
  void check_attribute_types(const ir::Node& node, const ir::Arity& arity) {
    for (const ir::Attribute& attribute : node.attributes()) {
      const auto known = std::ranges::find(arity.attributes, attribute.name, &ir::Arity::Attribute::name);
      const size_t given = attribute.value.index();  // 0: of the function around, or not said
      if (known == arity.attributes.end() || given == 0 || given == static_cast<size_t>(known->type)) continue;
      add(node, fmt::format("its {} is {}", attribute.name, kAttributeNouns[given]),
          std::string(kAttributeNouns[static_cast<size_t>(known->type)]));
    }
  }

  // Whoever turns a tensor looks axes up by it.
  void check_permutation(const ir::Node& node) {
    const auto given = node.attribute_ints(kPermutation);
    std::vector<int64_t> axes(given.begin(), given.end());
    std::ranges::sort(axes);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] == static_cast<int64_t>(i)) continue;
      return add(node, fmt::format("its {} is [{}]", kPermutation, fmt::join(given, ", ")),
                 fmt::format("each axis from 0 to {} once", axes.size() - 1));
    }
  }

  void check_operands(const ir::Node& node, std::span<ir::Value* const> values, std::string_view noun,
                      const ir::Arity::Count& count) {
    if (!check_count(node, values, noun, static_cast<size_t>(count.least), static_cast<size_t>(count.most))) return;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] || !count.requires_number(i)) continue;
      return add(node, fmt::format("its {} {} is left out", noun, i), fmt::format("a name: it is not optional"));
    }
  }

  bool check_count(const ir::Node& node, std::span<ir::Value* const> values, std::string_view noun, size_t least,
                   size_t most) {
    if (values.size() >= least && count_given(values) <= most) return true;
    add(node, fmt::format("it has {}", counted(values.size(), noun)), bounds(least, most));
    return false;
  }

  void check_body(const ir::Node& node, const BodyArity& body) {
    const ir::Attribute* attribute = node.attribute(body.attribute);
    const auto* graph = attribute ? attribute->as<std::shared_ptr<ir::Graph>>() : nullptr;
    if (!graph || !*graph) return add(node, fmt::format("it has no {}", body.attribute), "a graph of that name");
    const size_t takes = (*graph)->inputs().size(), returns = (*graph)->outputs().size();
    if (takes != body.inputs)
      return add(node, fmt::format("its {} takes {}", body.attribute, counted(takes, "value")),
                 bounds(body.inputs, body.inputs));
    if (returns < body.least_outputs || returns > body.most_outputs)
      add(node, fmt::format("its {} returns {}", body.attribute, counted(returns, "value")),
          bounds(body.least_outputs, body.most_outputs));
  }

  // What all nodes of an operator share, in one opset of its domain.
  struct Known {
    int64_t opset = 0;
    std::optional<ir::Arity> arity;
    BodyRule bodies = nullptr;
    bool permutes = false;
  };

  const Known& known_of(const ir::Node& node, const ir::Function* around) {
    auto& of_domain = known_[node.domain()];
    const auto found = of_domain.find(node.op_type());
    if (found != of_domain.end()) return found->second;
    const int64_t opset = opset_of(node.domain(), around);
    const Operator* op = registry().find(node);
    Known known{opset, ir::find_arity(node.domain(), node.op_type(), opset), op ? op->bodies : nullptr,
                op && op->role_of_attribute(kPermutation) == Role::kAxes};
    return of_domain.emplace(node.op_type(), std::move(known)).first->second;
  }

  int64_t opset_of(const std::string& domain, const ir::Function* around) const {
    if (around) {
      for (const ir::OpsetImport& import : around->opset_imports)
        if (import.domain == domain) return import.version;
    }
    return model_.opset(domain).value_or(0);
  }

  void add(const ir::Node& node, std::string what, std::string expected) {
    faults_.push_back({&node, std::move(what), std::move(expected)});
  }

  const ir::Model& model_;
  std::map<std::string_view, std::unordered_map<std::string_view, Known>> known_;  // by domain and operator
  std::vector<ArityFault> faults_;
};

}  // namespace

std::vector<ArityFault> find_arity_faults(const ir::Model& model) { return ArityCheck(model).run(); }

void require_arity(const ir::Model& model) {
  const std::vector<ArityFault> faults = find_arity_faults(model);
  if (faults.empty()) return;
  const ArityFault& fault = faults.front();
  const std::string path = ir::path_of(*fault.node->graph());
  throw Error(ErrorCode::kInvalidFile,
              {.what = fault.what,
               .where = path.empty() ? fault.node->describe() : fmt::format("{} in {}", fault.node->describe(), path),
               .expected = fault.expected,
               .next = "export the model again, or correct the node"});
}

}  // namespace thaw::ops
