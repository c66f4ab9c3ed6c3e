#include "thaw/quant/half/to_half.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "thaw/infer/cost.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/quant/half/fewest_casts.h"
#include "thaw/quant/half/narrowed.h"
#include "thaw/quant/half/strays.h"
#include "thaw/quant/half/typed_operands.h"
#include "thaw/quant/samples/made_once.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

using ir::DataType;

struct Candidate {
  ir::Node* node = nullptr;
  TypedOperands operands;
  std::string stays;     // in float32, because; empty: it may be either
  bool is_asked = true;  // for; what is not needs no reason
  bool is_narrow = false;
};

bool is_constant(const ir::Value& value) { return value.constant() && !value.is_input(); }

// --- Which nodes ---------------------------------------------------------------------------------------------------

class Chooser {
 public:
  Chooser(ir::Model& model, const HalfOptions& options)
      : model_(model),
        options_(options),
        facts_(infer::infer(model, scope_)),
        guards_(*model.graph, options.to, options.seen, options.seen_decides) {
    sizes_ = infer::assumed_sizes(scope_);
    if (options.to == DataType::kFloat16) strays_.emplace(model, facts_, sizes_, guards_, !options.convert_io);
  }

  std::vector<Candidate> run() {
    collect(*model_.graph);
    for (Candidate& candidate : found_) candidate.stays = why_wide(candidate);
    label();
    return std::move(found_);
  }

  Guards& guards() { return guards_; }
  const Strays* strays() const { return strays_ ? &*strays_ : nullptr; }  // null of bfloat16
  const infer::Result& facts() const { return facts_; }

 private:
  void collect(const ir::Graph& graph) {
    for (ir::Node* node : graph.nodes()) {
      if (!node->constant()) {
        index_[node] = static_cast<int>(found_.size());
        found_.push_back({.node = node, .operands = typed_operands(*node, model_, facts_, options_.to), .stays = {}});
      }
      for (const ir::Graph* inner : node->subgraphs()) collect(*inner);
    }
  }

  std::string why_wide(Candidate& candidate) {
    const TypedOperands& operands = candidate.operands;
    candidate.is_asked = !operands.inputs.empty() || !operands.outputs.empty() || !operands.fixed_inputs.empty();
    if (!operands.why_not.empty()) return operands.why_not;
    if (options_.wanted && !options_.wanted(*candidate.node)) return "it is to be kept";
    if (options_.target && !has_kernel(*candidate.node, operands))
      return fmt::format("{} has no kernel of {} for it", options_.target->title, ir::name_of(options_.to));
    if (std::string why = guards_.keeps_wide(*candidate.node, operands); !why.empty() || !strays_) return why;
    return strays_->keeps_wide(*candidate.node);
  }

  // As far as the target has a table of kernels.
  bool has_kernel(const ir::Node& node, const TypedOperands& operands) const {
    const ops::TargetDomain* domain = options_.target->domain(node.domain());
    const int64_t opset = model_.opset(node.domain()).value_or(1);
    if (!domain || domain->kernels.empty()) return true;
    const auto match = ops::find_kernel(*domain, node.op_type(), opset);
    const auto types = ops::operand_types(node.domain(), node.op_type(), opset);
    if (!match || !types) return true;  // `check --target` says what it thinks of the node
    const auto is_taken = [&](std::string_view parameter) {
      const ops::TypeSet* taken = match->kernels->types(parameter);
      return !taken || taken->contains({ops::Container::kTensor, options_.to});
    };
    return std::ranges::all_of(operands.inputs,
                               [&](int i) { return is_taken(types->input(static_cast<size_t>(i))); }) &&
           std::ranges::all_of(operands.outputs,
                               [&](int i) { return is_taken(types->output(static_cast<size_t>(i))); });
  }

  double bytes(const ir::Value* value) const {
    const auto bytes = dim::evaluate(infer::bytes_of(facts_.fact(value)), sizes_);
    return bytes ? static_cast<double>(*bytes) : 1;
  }

  void label() {
    // Inputs, and what comes out of graphs, are float32, or of the new type, whatever reads them.
    const int world = static_cast<int>(found_.size());
    std::vector<LabelledNode> nodes(found_.size() + 1);
    std::vector<LabelledEdge> edges;
    nodes.back().width = options_.convert_io ? Width::kNarrow : Width::kWide;
    for (size_t i = 0; i < found_.size(); ++i) {
      const Candidate& candidate = found_[i];
      const ops::Operator* op = ops::registry().find(*candidate.node);
      // What contracts is why one converts: its kernels gain, and its weights are the file.
      const bool contracts = op && op->op_class == ops::OpClass::kContraction;
      nodes[i].width = !candidate.stays.empty() ? Width::kWide : contracts ? Width::kNarrow : Width::kEither;
      for (const int o : candidate.operands.outputs) {
        const ir::Value* value = candidate.node->output(o);
        nodes[i].cost_when_wide += bytes(value) / 2;
        if (value->is_output()) edges.push_back({static_cast<int>(i), world, kCastBytes * bytes(value)});
      }
      for (const int in : candidate.operands.inputs) {
        const ir::Value* value = candidate.node->input(in);
        nodes[i].cost_when_wide += bytes(value) / 2;
        if (!is_constant(*value))
          edges.push_back({static_cast<int>(i), maker_of(*value, world), kCastBytes * bytes(value)});
      }
    }
    const std::vector<bool> narrow = narrow_nodes(nodes, edges);
    for (size_t i = 0; i < found_.size(); ++i) {
      found_[i].is_narrow = narrow[i] && found_[i].stays.empty();
      if (!found_[i].is_narrow && found_[i].stays.empty()) found_[i].stays = "what it stands between stays in float32";
    }
  }

  int maker_of(const ir::Value& value, int world) const {
    const auto found = value.producer() ? index_.find(value.producer()) : index_.end();
    if (found == index_.end()) return world;
    const std::vector<int>& outputs = found_[static_cast<size_t>(found->second)].operands.outputs;
    return std::ranges::find(outputs, value.producer_index()) == outputs.end() ? world : found->second;
  }

  static constexpr double kCastBytes = 1.5;  // of a float32 that is read and a 16-bit number that is written

  ir::Model& model_;
  const HalfOptions& options_;
  dim::Scope scope_;
  infer::Result facts_;
  Guards guards_;
  dim::Assignment sizes_;
  std::optional<Strays> strays_;  // of float16
  std::vector<Candidate> found_;
  std::unordered_map<const ir::Node*, int> index_;
};

// --- What they become ----------------------------------------------------------------------------------------------

class Narrower {
 public:
  Narrower(ir::Model& model, const HalfOptions& options, const infer::Result& facts, Guards& guards)
      : model_(model), options_(options), facts_(facts), guards_(guards) {}

  void run(const std::vector<Candidate>& candidates) {
    if (options_.convert_io)
      for (ir::Value* input : model_.graph->inputs())
        if (is_float(input)) narrow_.insert(input);
    for (const Candidate& candidate : candidates)
      if (candidate.is_narrow)
        for (const int o : candidate.operands.outputs) narrow_.insert(candidate.node->output(o));
    for (const Candidate& candidate : candidates)
      if (candidate.is_narrow)
        for (const int i : candidate.operands.inputs) ++narrow_reads_[candidate.node->input(i)];
    for (const Candidate& candidate : candidates) read(candidate);
    for (const Candidate& candidate : candidates)
      if (candidate.is_narrow) set_type_attribute(candidate);
    give_back(*model_.graph, options_.convert_io);
    for (const Candidate& candidate : candidates)
      for (ir::Graph* inner : candidate.node->subgraphs()) give_back(*inner, false);
    for (ir::Value* value : narrow_) declare(value);
    drop_wide_constants();
  }

 private:
  bool is_float(const ir::Value* value) const {
    const ops::Fact& fact = facts_.fact(value);
    return fact.is_tensor() && fact.dtype == DataType::kFloat;
  }

  void read(const Candidate& candidate) {
    ir::Node& node = *candidate.node;
    const auto read_as = [&](int i, bool narrow) {
      ir::Value* value = node.input(i);
      if (is_constant(*value)) {
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
    if (value.constant()->num_bytes() <= kSmall || guards_.range(value).too_large > 0) return false;
    const auto [at, fresh] = stay_wide_.try_emplace(&value);
    if (fresh) at->second = value.is_output() || narrow_reads_[&value] < value.uses().size();
    return at->second;
  }

  void set_type_attribute(const Candidate& candidate) {
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
    if (guards_.range(value).too_large == 0) limits = {};
    ir::Value*& made = constants_[{&value, limits.lowest}];
    if (made) return made;
    ir::Graph& graph = *value.graph();
    const ir::Tensor& wide = *value.constant();
    MadeKey key("16 bits", wide);
    key.add(options_.to).add(limits.lowest).add(limits.highest);
    ir::Tensor narrow =
        made_once(options_.known, key, [&] { return std::vector{narrowed(wide, {}, options_.to, limits)}; }).front();
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
      if (is_constant(*value) || (value->is_input() && !narrow)) continue;
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
  Guards& guards_;
  std::unordered_set<ir::Value*> narrow_;  // values of the type
  std::unordered_set<const ir::Value*> narrowed_;
  std::unordered_map<const ir::Value*, size_t> narrow_reads_;  // how often nodes of the type read a value
  std::unordered_map<const ir::Value*, bool> stay_wide_;       // constants; found before any of their reads changes
  std::map<std::pair<const ir::Value*, bool>, ir::Value*> casts_;
  std::map<std::pair<const ir::Value*, double>, ir::Value*> constants_;
  std::vector<std::pair<ir::Value*, ir::Value*>> replaced_;  // constants, the first of each in the place of what it was
};

void warn(Guards& guards, const std::vector<Candidate>& candidates, std::vector<std::string>& warnings) {
  constexpr double kFew = 1e-3;
  std::unordered_set<const ir::Value*> done;
  for (const Candidate& candidate : candidates) {
    if (!candidate.is_narrow) continue;
    for (const int i : candidate.operands.inputs) {
      const ir::Value* value = candidate.node->input(i);
      if (!is_constant(*value) || !done.insert(value).second) continue;
      const WeightRange& range = guards.range(*value);
      const ops::Role role = ops::role_of(*candidate.node, i);
      const bool is_trained = role == ops::Role::kWeight || role == ops::Role::kBias;
      if (range.nan > 0 || (is_trained && range.infinite > 0))
        warnings.push_back(fmt::format("{} of the {} numbers of '{}' are NaN and {} infinite, as they were", range.nan,
                                       range.elements, value->name(), range.infinite));
      // Next to larger ones they are no loss.
      if (range.largest<kFew&& static_cast<double>(range.vanish)> kFew * static_cast<double>(range.elements))
        warnings.push_back(fmt::format("{} of the {} numbers of '{}' are too small for the type and become 0",
                                       range.vanish, range.elements, value->name()));
    }
  }
}

// What nothing brings back: it goes into a node of float16 as it is.
void warn_of_strays(const Strays& strays, const std::vector<Candidate>& candidates,
                    std::vector<std::string>& warnings) {
  std::unordered_set<const ir::Value*> done;
  std::string first;
  for (const Candidate& candidate : candidates) {
    if (!candidate.is_narrow) continue;
    for (const int i : candidate.operands.inputs) {
      const ir::Value* value = candidate.node->input(i);
      if (is_constant(*value) || !strays.leaves(value) || !done.insert(value).second) continue;
      if (first.empty()) first = value->name();
    }
  }
  if (done.empty()) return;
  const std::string others = done.size() > 1 ? fmt::format(", and so of {} others", done.size() - 1) : std::string();
  warnings.push_back(fmt::format(
      "numbers of '{}' may leave the range of float16, and nothing brings them back before a node of float16 "
      "reads them{}; --data with samples tells whether they do",
      first, others));
}

}  // namespace

rewrite::Changes to_half(ir::Model& model, const HalfOptions& options, std::vector<std::string>& warnings) {
  Chooser chooser(model, options);
  const std::vector<Candidate> candidates = chooser.run();
  rewrite::Changes changes;
  for (const Candidate& candidate : candidates) {
    const std::string place = rewrite::name_of(*candidate.node);
    if (candidate.is_narrow) {
      changes.made.push_back(
          {.kind = std::string(ir::name_of(options.to)), .place = place, .part = {}, .replaced = {}});
    } else if (candidate.is_asked) {
      changes.left.push_back(
          {.kind = "float32", .place = place, .part = {}, .replaced = {}, .nodes = 0, .why = candidate.stays});
    }
  }
  if (changes.made.empty() && !options.convert_io) return changes;
  warn(chooser.guards(), candidates, warnings);
  if (chooser.strays()) warn_of_strays(*chooser.strays(), candidates, warnings);
  ir::Transaction edit(model);
  Narrower(model, options, chooser.facts(), chooser.guards()).run(candidates);
  edit.keep();
  return changes;
}

}  // namespace thaw::quantizing
