#include "thaw/report/model_diff.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/location.h"
#include "thaw/report/attribute_text.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/findings.h"
#include "thaw/report/inspection.h"
#include "thaw/report/interface_diff.h"
#include "thaw/report/node_pairs.h"
#include "thaw/report/weight_diff.h"

namespace thaw::report {
namespace {

std::string node_name(const ir::Node& node, const std::string& path) {
  Location location = ir::location_of(node);
  location.graph = path;
  return describe(location);
}

std::string value_name(const ir::Value* value) {
  return value == nullptr ? std::string("nothing") : "'" + value->name() + "'";
}

// Two graphs that stand for each other: the models' own, subgraphs of paired nodes, bodies of functions.
struct GraphPair {
  const ir::Graph* a;
  const ir::Graph* b;
  std::string path;
};

class Comparison {
 public:
  Comparison(const ir::Model& a, const ir::Model& b, const DiffOptions& options) : a_(a), b_(b), options_(options) {}

  ModelDiff run() {
    diff_.weights_compared = options_.weights;
    if (options_.progress) bytes_total_ = weigh(a_).bytes;
    compare_interfaces(a_, b_, diff_);
    pair_functions();
    todo_.push_back({a_.graph.get(), b_.graph.get(), ""});
    while (!todo_.empty()) {
      const GraphPair pair = std::move(todo_.back());
      todo_.pop_back();
      compare_graphs(pair);
    }
    compare_declarations();
    if (options_.infer) compare_inferred();
    pairs_->values = std::move(partners_);
    diff_.pairs = std::move(pairs_);
    return std::move(diff_);
  }

 private:
  void pair_functions() {
    const auto full_name = [](const ir::Function& function) {
      return function.domain + "." + function.name + (function.overload.empty() ? "" : ":" + function.overload);
    };
    std::unordered_map<std::string, const ir::Function*> in_b;
    for (const auto& function : b_.functions) in_b.emplace(full_name(*function), function.get());
    std::unordered_set<std::string> in_a;
    for (const auto& function : a_.functions) {
      const std::string name = full_name(*function);
      in_a.insert(name);
      const auto partner = in_b.find(name);
      if (partner == in_b.end()) {
        diff_.header.push_back({"function " + name, "there", "", {}});
      } else {
        todo_.push_back({function->body.get(), partner->second->body.get(), "function " + name});
      }
    }
    for (const auto& function : b_.functions)
      if (const std::string name = full_name(*function); !in_a.contains(name))
        diff_.header.push_back({"function " + name, "", "there", {}});
  }

  void compare_graphs(const GraphPair& graphs) {
    pairs_->graphs.emplace(graphs.b, graphs.a);
    const auto& inputs = graphs.a->inputs();
    const auto& others = graphs.b->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::Value* by_name = graphs.b->find(inputs[i]->name());
      if (by_name != nullptr && by_name->is_input()) {
        partner(inputs[i], by_name);
      } else if (i < others.size() && graphs.a->find(others[i]->name()) == nullptr) {
        partner(inputs[i], others[i]);
      }
    }
    pair_weights(graphs);
    const NodePairs pairs = pair_nodes(*graphs.a, *graphs.b);
    for (size_t i = 0; i < pairs.a.size(); ++i) {
      if (!pairs.b_of_a[i]) continue;
      const ir::Node& a = *pairs.a[i];
      const ir::Node& b = *pairs.b[*pairs.b_of_a[i]];
      for (size_t k = 0; k < std::min(a.outputs().size(), b.outputs().size()); ++k) {
        if (a.outputs()[k] != nullptr && b.outputs()[k] != nullptr) partner(a.outputs()[k], b.outputs()[k]);
      }
    }
    for (size_t i = 0; i < pairs.a.size(); ++i) {
      if (pairs.b_of_a[i]) {
        compare_nodes(*pairs.a[i], *pairs.b[*pairs.b_of_a[i]], graphs.path);
      } else {
        diff_.nodes.push_back({node_name(*pairs.a[i], graphs.path), DiffKind::kRemoved, {}});
      }
    }
    for (size_t j = 0; j < pairs.b.size(); ++j) {
      if (!pairs.a_of_b[j]) diff_.nodes.push_back({node_name(*pairs.b[j], graphs.path), DiffKind::kAdded, {}});
    }
    compare_results(graphs);
    report_lone_weights(graphs);
  }

  // What a subgraph or function returns; the model's own outputs are compared by name already, their makers here.
  void compare_results(const GraphPair& graphs) {
    const auto& a = graphs.a->outputs();
    const auto& b = graphs.b->outputs();
    const std::string where = graphs.path.empty() ? std::string("the model") : graphs.path;
    DiffItem item{where, DiffKind::kChanged, {}};
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const ir::Value* x = i < a.size() ? a[i] : nullptr;
      const ir::Value* y = i < b.size() ? b[i] : nullptr;
      const bool same_names = x != nullptr && y != nullptr && x->name() == y->name() && graphs.path.empty();
      if (!same_names && !are_partners(x, y))
        note_difference(item.differences, fmt::format("result {}", i), value_name(x), value_name(y));
    }
    // Outputs that are called otherwise, or stand in another order, are the interface's difference already.
    if (!item.differences.empty() && (!graphs.path.empty() || diff_.outputs.empty()))
      diff_.nodes.push_back(std::move(item));
  }

  void partner(const ir::Value* a, const ir::Value* b) {
    if (!partners_.emplace(a, b).second) return;
    if (a->name() != b->name()) diff_.renamed.emplace_back(a->name(), b->name());
  }

  bool are_partners(const ir::Value* a, const ir::Value* b) const {
    if (a == nullptr || b == nullptr) return a == b;
    const auto it = partners_.find(a);
    return it != partners_.end() && it->second == b;
  }

  static const ir::Tensor* weight_of(const ir::Value* value) {
    return value == nullptr ? nullptr : value->initializer();
  }

  void pair_weights(const GraphPair& graphs) {
    for (const ir::Value* value : graphs.a->initializers()) {
      const ir::Value* other = graphs.b->find(value->name());
      if (other != nullptr && other->initializer() != nullptr) compare_weights(value, other, graphs.path);
    }
    for (const ir::Value* value : graphs.a->sparse_initializers()) {
      const ir::Value* other = graphs.b->find(value->name());
      if (other != nullptr && other->sparse_initializer() != nullptr) compare_sparse(value, other, graphs.path);
    }
  }

  void compare_sparse(const ir::Value* a, const ir::Value* b, const std::string& path) {
    partner(a, b);
    weights_of_a_.insert(a);
    weights_of_b_.insert(b);
    const ir::SparseTensor& x = *a->sparse_initializer();
    const ir::SparseTensor& y = *b->sparse_initializer();
    DiffItem item{fmt::format("'{}'{}", a->name(), path.empty() ? "" : " in " + path), DiffKind::kChanged, {}};
    note_difference(item.differences, "dims", fmt::format("[{}]", fmt::join(x.dims, ", ")),
                    fmt::format("[{}]", fmt::join(y.dims, ", ")));
    for (const auto& [name, part] :
         {std::pair("values", &ir::SparseTensor::values), std::pair("indices", &ir::SparseTensor::indices)}) {
      for (Difference& found :
           compare({x.*part, a_.path.parent_path()}, {y.*part, b_.path.parent_path()}, options_.weights)) {
        found.what = fmt::format("{} of {}", found.what, name);
        item.differences.push_back(std::move(found));
      }
    }
    add_weight(b, std::move(item));
  }

  void add_weight(const ir::Value* b, DiffItem item) {
    if (item.differences.empty()) return;
    pairs_->weights.emplace(b, diff_.weights.size());
    diff_.weights.push_back(std::move(item));
  }

  void compare_weights(const ir::Value* a, const ir::Value* b, const std::string& path) {
    partner(a, b);
    weights_of_a_.insert(a);
    weights_of_b_.insert(b);
    if (options_.progress) {
      options_.progress(bytes_done_, bytes_total_);
      bytes_done_ += a->initializer()->num_bytes();
    }
    DiffItem item{fmt::format("'{}'{}", a->name(), path.empty() ? "" : " in " + path), DiffKind::kChanged, {}};
    item.differences = compare({*a->initializer(), a_.path.parent_path()}, {*b->initializer(), b_.path.parent_path()},
                               options_.weights);
    add_weight(b, std::move(item));
  }

  void report_lone_weights(const GraphPair& graphs) {
    const std::string suffix = graphs.path.empty() ? "" : " in " + graphs.path;
    const auto text = [&](const ir::Value* value) {
      const bool dense = value->initializer() != nullptr;
      const std::string type =
          dense ? describe(*value->initializer()) : "sparse " + describe(value->sparse_initializer()->values);
      return fmt::format("'{}' {}{}", value->name(), type, suffix);
    };
    for (const auto* list : {&graphs.a->initializers(), &graphs.a->sparse_initializers()}) {
      for (const ir::Value* value : *list) {
        if (!weights_of_a_.contains(value)) diff_.weights.push_back({text(value), DiffKind::kRemoved, {}});
      }
    }
    for (const auto* list : {&graphs.b->initializers(), &graphs.b->sparse_initializers()}) {
      for (const ir::Value* value : *list) {
        if (!weights_of_b_.contains(value)) diff_.weights.push_back({text(value), DiffKind::kAdded, {}});
      }
    }
  }

  void compare_nodes(const ir::Node& a, const ir::Node& b, const std::string& path) {
    ++diff_.matched_nodes;
    pairs_->b_of_a.emplace(&a, &b);
    pairs_->a_of_b.emplace(&b, &a);
    DiffItem item{node_name(a, path), DiffKind::kChanged, {}};
    compare_attributes(a, b, item);
    const size_t inputs = std::max(a.inputs().size(), b.inputs().size());
    for (size_t i = 0; i < inputs; ++i) {
      const ir::Value* x = a.input(static_cast<int>(i));
      const ir::Value* y = b.input(static_cast<int>(i));
      // Weights that no name pairs are paired by the nodes that read them.
      if (weight_of(x) != nullptr && weight_of(y) != nullptr && !partners_.contains(x) && !weights_of_b_.contains(y)) {
        compare_weights(x, y, path);
      }
      if (!are_partners(x, y))
        note_difference(item.differences, fmt::format("input {}", i), value_name(x), differing_name(x, y));
    }
    if (a.outputs().size() != b.outputs().size()) {
      note_difference(item.differences, "outputs", std::to_string(a.outputs().size()),
                      std::to_string(b.outputs().size()));
    }
    if (a.name != b.name) diff_.renamed.emplace_back(a.name, b.name);
    if (!item.differences.empty()) {
      pairs_->changed.emplace(&b, diff_.nodes.size());
      diff_.nodes.push_back(std::move(item));
    }
    compare_subgraphs(a, b, path);
  }

  // Two values may have one name and not be each other's partners: say so, or nothing would seem to differ.
  static std::string differing_name(const ir::Value* x, const ir::Value* y) {
    const bool alike = x != nullptr && y != nullptr && x->name() == y->name();
    return value_name(y) + (alike ? " (made otherwise)" : "");
  }

  void compare_attributes(const ir::Node& a, const ir::Node& b, DiffItem& item) {
    const SameValue same{a_.path.parent_path(), b_.path.parent_path(), options_.weights};
    for (const ir::Attribute& attribute : a.attributes()) {
      const ir::Attribute* other = b.attribute(attribute.name);
      if (other != nullptr && same(attribute, *other)) continue;
      Difference difference{"attribute " + attribute.name,
                            attribute_text(attribute),
                            other == nullptr ? std::string() : attribute_text(*other),
                            {}};
      if (difference.a == difference.b) difference.note = "another value of " + difference.a;
      item.differences.push_back(std::move(difference));
    }
    for (const ir::Attribute& attribute : b.attributes()) {
      if (a.attribute(attribute.name) == nullptr) {
        item.differences.push_back({"attribute " + attribute.name, "", attribute_text(attribute), {}});
      }
    }
  }

  void compare_subgraphs(const ir::Node& a, const ir::Node& b, const std::string& path) {
    for (const ir::Attribute& attribute : a.attributes()) {
      const ir::Attribute* other = b.attribute(attribute.name);
      const auto* x = attribute.as<std::shared_ptr<ir::Graph>>();
      const auto* y = other == nullptr ? nullptr : other->as<std::shared_ptr<ir::Graph>>();
      if (x == nullptr || y == nullptr || !*x || !*y) continue;
      std::string inner = ir::path_of(**x);
      if (path.starts_with("function ")) inner = fmt::format("{} / {}", path, inner);
      todo_.push_back({x->get(), y->get(), std::move(inner)});
    }
  }

  void compare_declarations() {
    for (const ir::Value* value : a_.graph->value_infos()) {
      const auto it = partners_.find(value);
      if (it == partners_.end() || value->is_output()) continue;
      DiffItem item{fmt::format("'{}'", value->name()), DiffKind::kChanged, {}};
      note_difference(item.differences, "declared", declared_text(value->type), declared_text(it->second->type));
      if (!item.differences.empty()) diff_.value_info.push_back(std::move(item));
    }
    std::unordered_map<const ir::Value*, const ir::Value*> back;
    // any order: pairs are turned around
    for (const auto& [a, b] : partners_) back.emplace(b, a);
    for (const ir::Value* value : b_.graph->value_infos()) {
      const auto it = back.find(value);
      if (it == back.end() || value->is_output() || it->second->type.kind != ir::Type::Kind::kNone) continue;
      DiffItem item{fmt::format("'{}'", it->second->name()), DiffKind::kChanged, {}};
      note_difference(item.differences, "declared", "none", declared_text(value->type));
      if (!item.differences.empty()) diff_.value_info.push_back(std::move(item));
    }
  }

  void compare_inferred() {
    const Inspection a = inspect(a_);
    const Inspection b = inspect(b_);
    DimText text_a;
    DimText text_b;
    const auto compare_value = [&](const ir::Value& value) {
      const auto it = partners_.find(&value);
      if (it == partners_.end()) return;
      DiffItem item{fmt::format("'{}'", value.name()), DiffKind::kChanged, {}};
      const ops::Fact& x = a.result.fact(&value);
      const ops::Fact& y = b.result.fact(it->second);
      note_difference(item.differences, "inferred", type_text(x) + " " + text_a.show_known(x.shape),
                      type_text(y) + " " + text_b.show_known(y.shape));
      if (item.differences.empty()) return;
      pairs_->inferred.emplace(it->second, diff_.inferred_shapes.size());
      diff_.inferred_shapes.push_back(std::move(item));
    };
    for (const ir::Value* input : a.inputs()) compare_value(*input);
    a.each_value([&](const ir::Value& value, const ir::Node&) { compare_value(value); });
  }

  const ir::Model& a_;
  const ir::Model& b_;
  const DiffOptions& options_;
  ModelDiff diff_;
  std::shared_ptr<DiffPairs> pairs_ = std::make_shared<DiffPairs>();
  std::vector<GraphPair> todo_;
  std::unordered_map<const ir::Value*, const ir::Value*> partners_;   // of a's values, in b
  std::unordered_set<const ir::Value*> weights_of_a_, weights_of_b_;  // that have a partner
  uint64_t bytes_done_ = 0, bytes_total_ = 0;                         // for progress
};

}  // namespace

ModelDiff diff(const ir::Model& a, const ir::Model& b, const DiffOptions& options) {
  return Comparison(a, b, options).run();
}

}  // namespace thaw::report

namespace thaw {

bool ModelDiff::equal_except_names() const {
  return header.empty() && inputs.empty() && outputs.empty() && operators.empty() && nodes.empty() && weights.empty() &&
         value_info.empty() && inferred_shapes.empty();
}

bool ModelDiff::equal() const { return equal_except_names() && renamed.empty(); }

}  // namespace thaw
