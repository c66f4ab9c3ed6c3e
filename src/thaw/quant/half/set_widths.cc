#include "thaw/quant/half/set_widths.h"

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "thaw/quant/half/narrowed.h"
#include "thaw/quant/samples/memo_cache.h"

namespace thaw::quantizing {
namespace {

using ir::DataType;

class Narrower {
 public:
  Narrower(ir::Model& model, const HalfOptions& options, const infer::Result& facts, Float32Fallback& fallback)
      : model_(model), options_(options), facts_(facts), fallback_(fallback) {}

  void run(const std::vector<HalfCandidate>& candidates) {
    if (options_.convert_io)
      for (ir::Value* input : model_.graph->inputs())
        if (is_float(input)) narrow_.insert(input);
    for (const HalfCandidate& candidate : candidates)
      if (candidate.is_narrow)
        for (const int o : candidate.operands.outputs) narrow_.insert(candidate.node->output(o));
    for (const HalfCandidate& candidate : candidates)
      if (candidate.is_narrow)
        for (const int i : candidate.operands.inputs) ++narrow_reads_[candidate.node->input(i)];
    for (const HalfCandidate& candidate : candidates) read(candidate);
    for (const HalfCandidate& candidate : candidates)
      if (candidate.is_narrow) set_type_attribute(candidate);
    give_back(*model_.graph, options_.convert_io);
    for (const HalfCandidate& candidate : candidates)
      for (ir::Graph* inner : candidate.node->subgraphs()) give_back(*inner, false);
    for (ir::Value* value : narrow_) declare(value);  // any order: each has a type of its own
    drop_wide_constants();
  }

 private:
  bool is_float(const ir::Value* value) const {
    const ops::Fact& fact = facts_.fact(value);
    return fact.is_tensor() && fact.dtype == DataType::kFloat;
  }

  void read(const HalfCandidate& candidate) {
    ir::Node& node = *candidate.node;
    const auto read_as = [&](int i, bool narrow) {
      ir::Value* value = node.input(i);
      if (is_fixed(*value)) {
        if (narrow)
          node.set_input(i, stays_wide(*value) ? cast(*value, true)
                                               : narrow_constant(*value, saturation_at(node, i, options_.to)));
      } else if (narrow_.contains(value) != narrow) {
        node.set_input(i, cast(*value, narrow));
      }
    };
    for (const int i : candidate.operands.inputs) read_as(i, candidate.is_narrow);
    for (const int i : candidate.operands.fixed_inputs) read_as(i, false);
  }

  // Whether something else goes on reading a weight in float32: it is not stored in the other type as well, but cast.
  bool stays_wide(const ir::Value& value) {
    constexpr size_t kSmall = size_t{1} << 12;  // bytes
    if (value.constant()->num_bytes() <= kSmall || fallback_.range(value).too_large > 0) return false;
    const auto [at, fresh] = stay_wide_.try_emplace(&value);
    if (fresh) at->second = value.is_output() || narrow_reads_[&value] < value.uses().size();
    return at->second;
  }

  void set_type_attribute(const HalfCandidate& candidate) {
    const std::string& name = candidate.operands.attribute;
    if (name.empty()) return;
    ir::Node& node = *candidate.node;
    const ir::Attribute* set = node.attribute(name);
    if (name != "value") {
      node.set_attribute({.name = name, .value = static_cast<int64_t>(options_.to)});
      return;
    }
    const std::shared_ptr<ir::Tensor> tensor = set && set->as<std::shared_ptr<ir::Tensor>>()
                                                   ? *set->as<std::shared_ptr<ir::Tensor>>()
                                                   : std::make_shared<ir::Tensor>(zero());
    node.set_attribute({.name = name,
                        .value = std::make_shared<ir::Tensor>(
                            narrowed(*tensor, tensor->name, options_.to, saturation_at(node, -1, options_.to)))});
  }

  static ir::Tensor zero() { return ir::Tensor::from_float("", {1}, std::vector<float>{0}); }

  // One of each width for all that read it, behind what makes it.
  ir::Value* cast(ir::Value& value, bool narrow) {
    ir::Value*& made = casts_[{&value, narrow}];
    if (made) return made;
    ir::Graph& graph = *value.graph();
    ir::Node* before = value.producer() ? graph.next(value.producer()) : first_node(graph);
    made = add_cast(graph, value, narrow, before, value.name() + (narrow ? suffix() : "_f32"));
    return made;
  }

  ir::Node* first_node(ir::Graph& graph) const { return graph.nodes().front(); }

  ir::Value* add_cast(ir::Graph& graph, ir::Value& value, bool narrow, ir::Node* before, const std::string& name) {
    ir::Value* result = graph.add_value(graph.unique_name(name));
    ir::Node* node = graph.add_node("Cast", "", {&value}, {result}, graph.unique_name(name + "_Cast"), before);
    const DataType to = narrow ? options_.to : DataType::kFloat;
    node->set_attribute({.name = "to", .value = static_cast<int64_t>(to)});
    if (narrow) narrow_.insert(result);
    return result;
  }

  std::string suffix() const { return options_.to == DataType::kFloat16 ? "_f16" : "_bf16"; }

  ir::Value* narrow_constant(ir::Value& value, Saturation limits) {
    if (fallback_.range(value).too_large == 0) limits = {};
    ir::Value*& made = constants_[{&value, limits.lowest}];
    if (made) return made;
    ir::Graph& graph = *value.graph();
    const ir::Tensor& wide = *value.constant();
    MemoKey key("16 bits", wide);
    key.add(options_.to).add(limits.lowest).add(limits.highest);
    ir::Tensor narrow =
        memoized(options_.known, key, [&] { return std::vector{narrowed(wide, {}, options_.to, limits)}; }).front();
    narrow.name = graph.unique_name(value.name() + suffix());
    made = graph.add_initializer(std::move(narrow));
    if (narrowed_.insert(&value).second) replaced_.emplace_back(&value, made);
    return made;
  }

  // Where nothing reads a constant as it was any more, what took its place has its name.
  void drop_wide_constants() {
    for (const auto& [value, narrow] : replaced_) {
      if (value->is_used()) continue;
      const std::string name = value->name();
      ir::Graph& graph = *value->graph();
      if (ir::Node* node = value->producer()) {
        graph.remove_node(node);
      } else {
        graph.remove_initializer(value);
      }
      graph.rename(narrow, name);
    }
  }

  // What a graph returns is what it was.
  void give_back(ir::Graph& graph, bool narrow) {
    std::map<ir::Value*, ir::Value*> done;
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      ir::Value* value = graph.outputs()[i];
      if (!value || narrow_.contains(value) == narrow || !(narrow_.contains(value) || is_float(value))) continue;
      if (is_fixed(*value) || (value->is_input() && !narrow)) continue;
      ir::Value*& result = done[value];
      if (!result) {
        const std::string name = value->name();
        const ir::Type type = value->type;
        const bool is_own = value->graph() == &graph;
        result = add_cast(graph, *value, narrow, nullptr, name + (narrow ? suffix() : "_f32"));
        if (type.kind != ir::Type::Kind::kNone) result->set_type(type);
        for (size_t j = i; j < graph.outputs().size(); ++j)
          if (graph.outputs()[j] == value) graph.set_output(static_cast<int>(j), result);
        if (is_own && !value->is_input()) {
          graph.rename(value, graph.unique_name(name + (narrow ? "_f32" : suffix())));
          graph.rename(result, name);
        }
      }
    }
  }

  void declare(ir::Value* value) {
    if (value->type.kind != ir::Type::Kind::kTensor || value->type.elem_type != DataType::kFloat) return;
    ir::Type type = value->type;
    type.elem_type = options_.to;
    value->set_type(std::move(type));
  }

  ir::Model& model_;
  const HalfOptions& options_;
  const infer::Result& facts_;
  Float32Fallback& fallback_;
  std::unordered_set<ir::Value*> narrow_;  // values of the type
  std::unordered_set<const ir::Value*> narrowed_;
  std::unordered_map<const ir::Value*, size_t> narrow_reads_;  // how often nodes of the type read a value
  std::unordered_map<const ir::Value*, bool> stay_wide_;       // constants; found before any of their reads changes
  std::map<std::pair<const ir::Value*, bool>, ir::Value*> casts_;
  std::map<std::pair<const ir::Value*, double>, ir::Value*> constants_;
  std::vector<std::pair<ir::Value*, ir::Value*>> replaced_;  // constants, the first of each in the place of what it was
};

}  // namespace

void set_widths(ir::Model& model, const HalfOptions& options, const infer::Result& facts, Float32Fallback& fallback,
                const std::vector<HalfCandidate>& candidates) {
  Narrower(model, options, facts, fallback).run(candidates);
}

}  // namespace thaw::quantizing
