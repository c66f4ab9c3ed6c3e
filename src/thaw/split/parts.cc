#include "thaw/split/parts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/rewrite/declare.h"
#include "thaw/rewrite/dim_emitter.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::splitting {
namespace {

using Sizes = std::unordered_set<const ir::Value*>;
using Values = std::vector<const ir::Value*>;  // each once, in the order in which they are met

void add_once(Values& values, const ir::Value* value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

// What one part takes and returns.
struct Interface {
  Values inputs;      // of the whole model
  Values received;    // from earlier parts
  Values recomputed;  // sizes that its inputs tell
  Values outputs;
};

class PartMaker {
 public:
  // `passes`: sizes that no part can compute anew.
  PartMaker(const ir::Model& model, dim::Scope& scope, const infer::Result& facts, const Passings& passings,
            const Stages& stages, std::span<const Cut> cuts, Sizes& passes)
      : model_(model),
        scope_(scope),
        facts_(facts),
        passings_(passings),
        stages_(stages),
        passes_(passes),
        parts_(stages.count()) {
    for (const Cut& cut : cuts) named_.insert(cut.begin(), cut.end());
  }

  // nullopt where more sizes turned out to be of `passes`.
  std::optional<std::vector<Part>> run(std::vector<std::string>& carried) {
    const size_t passed_before = passes_.size();
    find_reads();
    for (size_t part = 0; part < parts_.size(); ++part) choose_recomputed(part);
    find_outputs();
    std::set<const ir::Value*> known;
    for (const Interface& interface : parts_)
      for (const ir::Value* value : interface.received)
        if (!named_.contains(value) && known.insert(value).second) carried.push_back(value->name());
    std::vector<Part> made;
    for (const Interface& interface : parts_) made.push_back(make(interface));
    if (passes_.size() > passed_before) return std::nullopt;
    return made;
  }

 private:
  int stage_of(const ir::Value* value) const { return value->producer() ? stages_.of(value->producer()) : -1; }

  void find_reads() {
    for (const ir::Node* node : model_.graph->nodes()) {
      const int stage = stages_.of(node);
      if (stage < 0) continue;
      for (const ir::Value* operand : operands_of(*node)) read_in(static_cast<size_t>(stage), operand);
    }
  }

  void read_in(size_t part, const ir::Value* value) {
    if (value->is_input()) {
      if (!is_seen(part, value)) parts_[part].inputs.push_back(value);
    } else if (const int made = stage_of(value); made >= 0 && made != static_cast<int>(part)) {
      if (!is_seen(part, value)) parts_[part].received.push_back(value);
    }
  }

  bool is_seen(size_t part, const ir::Value* value) { return !seen_.emplace(part, value).second; }

  // The sizes that stand alone on an axis of what the part takes anyway.
  std::set<int> known_symbols(const Interface& interface) const {
    std::set<int> known;
    const auto add = [&](const ir::Value* value) {
      const ops::Fact& fact = facts_.fact(value);
      for (int axis = 0; axis < fact.rank(); ++axis)
        if (const int id = scope_.symbol_id(fact.dim(axis)); id >= 0) known.insert(id);
    };
    for (const ir::Value* value : interface.inputs) add(value);
    for (const ir::Value* value : interface.received)
      if (is_needed(value)) add(value);
    return known;
  }

  bool is_needed(const ir::Value* value) const {
    return named_.contains(value) || passings_.of(value) == Passing::kTensor;
  }

  void choose_recomputed(size_t part) {
    if (model_.opset("").value_or(0) < rewrite::DimEmitter::kOpsetOfAll) return;
    Interface& interface = parts_[part];
    const std::set<int> known = known_symbols(interface);
    const auto can_tell = [&](const ir::Value* value) {
      return !is_needed(value) && !passes_.contains(value) &&
             std::ranges::all_of(*facts_.fact(value).elements, [&](const ops::Element& element) {
               return std::ranges::all_of(dim::symbols_of(element.as_dim()),
                                          [&](int id) { return known.contains(id); });
             });
    };
    const auto moved =
        std::ranges::stable_partition(interface.received, [&](const ir::Value* v) { return !can_tell(v); });
    interface.recomputed.assign(moved.begin(), moved.end());
    interface.received.erase(moved.begin(), moved.end());
  }

  void find_outputs() {
    for (const Interface& interface : parts_)
      for (const ir::Value* value : interface.received)
        add_once(parts_[static_cast<size_t>(stage_of(value))].outputs, value);
    for (const ir::Value* output : model_.graph->outputs()) {
      const int stage = stage_of(output);
      // What comes from constants, or is an input as it is, comes out of the last part.
      Interface& interface = stage >= 0 ? parts_[static_cast<size_t>(stage)] : parts_.back();
      if (output->is_input()) read_in(parts_.size() - 1, output);
      add_once(interface.outputs, output);
    }
  }

  Part make(const Interface& interface) {
    Part part{.model = ir::clone(model_), .outputs = {}};
    ir::tell_names_apart(*part.model);
    ir::Graph& graph = *part.model->graph;
    while (!graph.outputs().empty()) graph.remove_output(static_cast<int>(graph.outputs().size()) - 1);
    for (const ir::Value* output : interface.outputs) {
      ir::Value* value = graph.find(output->name());
      if (value->type.kind != ir::Type::Kind::kTensor) value->set_type(type_of(*output, {}));
      graph.add_output(value);
      part.outputs.push_back(output->name());
    }
    const std::set<int> known = known_symbols(interface);
    for (const ir::Value* value : interface.received) receive(graph, *value, known);
    for (const ir::Value* value : interface.recomputed) receive(graph, *value, known);
    rewrite::remove_unused(*part.model);
    drop_unread(graph, interface);
    if (!interface.recomputed.empty()) {
      recompute(*part.model, interface);
      drop_unread(graph, interface);
    }
    if (rewrite::count_replaceable(model_) == 0) rewrite::make_weights_constants(*part.model);
    declare(*part.model, interface);
    part.model->path = model_.path;
    return part;
  }

  // What passes has its true sizes; the model's outputs declare what they did.
  static void declare(ir::Model& part, const Interface& interface) {
    std::vector<ir::Type> declared = rewrite::declared_outputs(part);
    for (size_t i = 0; i < declared.size(); ++i)
      if (!interface.outputs[i]->is_output()) declared[i] = {};
    rewrite::declare_truly(part);
    rewrite::keep_declared_outputs(part, declared);
  }

  // A value that an earlier part makes becomes an input.
  void receive(ir::Graph& graph, const ir::Value& value, const std::set<int>& known) {
    const ops::Fact& fact = facts_.fact(&value);
    if (fact.kind != ops::Fact::Kind::kTensor || fact.dtype == ir::DataType::kUndefined)
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("'{}' would cross a cut, and is not a tensor of a known type", value.name()),
                   .where = model_.path.string(),
                   .expected = "a cut crossed by tensors only",
                   .next = "cut elsewhere"});
    ir::Value* old = graph.find(value.name());
    graph.rename(old, graph.unique_name(value.name() + "_of_an_earlier_part"));
    ir::Value* input = graph.add_input(value.name(), type_of(value, known));
    graph.replace_uses(old, input);
  }

  ir::Type type_of(const ir::Value& value, const std::set<int>& known) {
    const ops::Fact& fact = facts_.fact(&value);
    ir::Type type = ir::Type::tensor(fact.dtype);
    if (!fact.has_rank()) return type;
    type.shape.emplace();
    for (int axis = 0; axis < fact.rank(); ++axis) {
      const dim::Dim d = fact.dim(axis);
      ir::DeclaredDim& declared = type.shape->emplace_back();
      if (d.constant()) {
        declared.value = d.constant();
      } else if (d.is_known()) {
        declared.param = name_of(d, fmt::format("{}_dim{}", value.name(), axis), known);
      }
    }
    return type;
  }

  std::string name_of(dim::Dim d, const std::string& otherwise, const std::set<int>& known) {
    const int id = scope_.symbol_id(d);
    if (id >= 0 && scope_.symbols()[static_cast<size_t>(id)].kind == dim::SymbolKind::kInputDim)
      return scope_.symbols()[static_cast<size_t>(id)].name;
    std::string text = dim::to_string(d);
    if (id < 0 && std::ranges::all_of(dim::symbols_of(d), [&](int symbol) { return known.contains(symbol); }))
      return text;
    return names_.try_emplace(std::move(text), otherwise).first->second;
  }

  // Sizes from the part's own inputs, in the place of inputs.
  void recompute(ir::Model& part, const Interface& interface) {
    ir::Graph& graph = *part.graph;
    dim::Scope scope;
    const infer::Result facts = infer::infer(part, scope);
    std::unordered_map<const ir::Value*, ops::Shape> shapes;
    std::unordered_set<std::string> sizes;
    for (const ir::Value* value : interface.recomputed) sizes.insert(value->name());
    for (const ir::Value* input : graph.inputs())
      if (const ops::Fact& fact = facts.fact(input); fact.has_rank() && !sizes.contains(input->name()))
        shapes.emplace(input, *fact.shape);
    rewrite::Patch patch(part, "sizes");
    rewrite::DimEmitter emitter(patch.emitter(), part, shapes);
    for (const ir::Value* value : interface.recomputed) {
      const ops::Fact& fact = facts_.fact(value);
      ir::Value* input = graph.find(value->name());
      if (!input) continue;  // what read it went
      ops::Shape elements;
      for (const ops::Element& element : *fact.elements)
        elements.push_back(dim::parse(dim::to_string(element.as_dim()), scope));
      // A name that is no name in the grammar of sizes, say.
      if (!std::ranges::all_of(elements, [&](dim::Dim d) { return emitter.can_emit(d); })) {
        passes_.insert(value);
        continue;
      }
      ir::Value* made = emitter.emit_shape(elements);
      if (fact.rank() != 1) {
        std::vector<int64_t> dims;
        for (const dim::Dim d : *fact.shape) dims.push_back(d.constant().value_or(-1));
        made = emitter.at().reshape(made, emitter.at().list(dims));
      }
      if (fact.dtype != ir::DataType::kInt64) made = emitter.at().cast(made, fact.dtype);
      graph.replace_uses(input, made);
    }
    patch.apply();
  }

  // Inputs that nothing of the part reads go.
  static void drop_unread(ir::Graph& graph, const Interface& interface) {
    std::unordered_set<std::string> wanted;
    for (const ir::Value* value : interface.inputs) wanted.insert(value->name());
    for (const ir::Value* value : interface.received) wanted.insert(value->name());
    const std::vector<ir::Value*> inputs = graph.inputs();
    for (ir::Value* input : inputs)
      if (!wanted.contains(input->name()) && (!input->is_used() || input->initializer())) graph.remove_input(input);
  }

  const ir::Model& model_;
  dim::Scope& scope_;
  const infer::Result& facts_;
  const Passings& passings_;
  const Stages& stages_;
  Sizes& passes_;
  std::unordered_set<const ir::Value*> named_;  // in cuts
  std::vector<Interface> parts_;
  std::set<std::pair<size_t, const ir::Value*>> seen_;
  std::map<std::string, std::string> names_;  // of sizes that have no symbol of their own, by their text
};

}  // namespace

std::vector<Part> make_parts(const ir::Model& model, dim::Scope& scope, const infer::Result& facts,
                             const Passings& passings, const Stages& stages, std::span<const Cut> cuts,
                             std::vector<std::string>& carried) {
  Sizes passes;
  while (true) {
    std::vector<std::string> passing;
    auto parts = PartMaker(model, scope, facts, passings, stages, cuts, passes).run(passing);
    if (!parts) continue;
    carried = std::move(passing);
    return std::move(*parts);
  }
}

}  // namespace thaw::splitting
