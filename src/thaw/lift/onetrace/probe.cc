#include "thaw/lift/onetrace/probe.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::lifting::onetrace {

void open_model(ir::Model& model, const Sizes& sizes, std::span<const AddedInput> added, const dim::Scope& scope) {
  for (ir::Value* input : model.graph->inputs()) {
    const auto shape = sizes.shapes.find(input->name());
    if (shape == sizes.shapes.end()) continue;
    for (size_t axis = 0; axis < shape->second.size(); ++axis) {
      const int id = shape->second[axis].is_symbolic() ? scope.symbol_id(shape->second[axis]) : -1;
      if (id >= 0) input->set_dim(axis, {std::nullopt, scope.symbols()[static_cast<size_t>(id)].name, {}});
    }
  }
  for (const AddedInput& input : added) {
    std::vector<ir::DeclaredDim> dims;
    for (const int64_t size : input.dims) dims.push_back({size, {}, {}});
    model.graph->add_input(input.name, ir::Type::tensor(input.type, std::move(dims)));
  }
  const std::vector<ir::Value*> declared = model.graph->value_infos();
  for (ir::Value* value : declared) model.graph->clear_value_info(value);
}

ReferenceCase reported(std::string name, std::string sizes, CaseResult result) {
  return {std::move(name), std::move(sizes), result.agrees, result.max_abs_diff, std::move(result.reason)};
}

CaseResult compare_case(run::Session& session, const Arrays& feeds, const Arrays& expected,
                        const Tolerance& tolerance) {
  CaseResult result;
  std::vector<std::string> wanted;
  for (const auto& [name, array] : expected) wanted.push_back(name);
  Arrays got;
  try {
    got = session.run(session.inputs_among(feeds), wanted);
  } catch (const run::RunTimedOut&) {
    throw;  // there are hundreds of tries
  } catch (const Error& error) {
    result.reason = error.parts().what.empty() ? error.what() : error.parts().what;
    result.max_abs_diff = INFINITY;
    // "… while running Gather node. Name:'/rotary/Gather_2' Status Message: …"
    constexpr std::string_view kName = "Name:'";
    if (const size_t begin = result.reason.find(kName); begin != std::string::npos) {
      const size_t end = result.reason.find('\'', begin + kName.size());
      if (end != std::string::npos)
        result.failed_node = result.reason.substr(begin + kName.size(), end - begin - kName.size());
    }
    return result;
  }
  result.agrees = true;
  for (const auto& [name, array] : expected) {
    const auto output = got.find(name);
    run::Comparison c;
    c.reason = "is not given";
    if (output != got.end()) c = run::compare(output->second, array, tolerance);
    result.max_abs_diff = std::max(result.max_abs_diff, c.comparable ? c.max_abs_diff : INFINITY);
    if (c.agrees) continue;
    result.wrong_outputs.push_back(name);
    if (!result.agrees) continue;
    result.agrees = false;
    result.reason = fmt::format("'{}': {}", name, c.reason);
  }
  return result;
}

Probe::Probe(const ir::Model& model, const std::vector<Constant>& constants, std::vector<Unknown>& unknowns,
             dim::Scope& scope, const Sizes& sizes)
    : unknowns_(unknowns), constants_(constants), sizes_(sizes), model_(ir::clone(model)), inputs_(constants.size()) {
  replace(model, constants);
  infer_with_symbols(constants, scope);
}

void Probe::replace(const ir::Model& original, const std::vector<Constant>& constants) {
  std::unordered_map<const ir::Node*, ir::Node*> twins;
  auto twin = model_->graph->nodes().begin();
  for (const ir::Node* node : original.graph->nodes()) {
    twins.emplace(node, *twin);
    ++twin;
  }
  ir::Graph& graph = *model_->graph;
  rewrite::Emitter emitter(*model_, "thaw");
  for (const Unknown& unknown : unknowns_) {
    if (inputs_[unknown.constant]) continue;
    const Constant& constant = constants[unknown.constant];
    std::vector<ir::DeclaredDim> dims;
    for (const int64_t size : constant.dims) dims.push_back({size, {}, {}});
    ir::Value* input =
        graph.add_input(graph.unique_name("thaw_unknown"), ir::Type::tensor(ir::DataType::kInt64, std::move(dims)));
    inputs_[unknown.constant] = input;
    ir::Value* value = constant.type == ir::DataType::kInt64 ? input : emitter.at_top().cast(input, constant.type);
    for (const ir::Use& use : constant.uses) twins.at(use.node)->set_input(use.index, value);
  }
}

void Probe::infer_with_symbols(const std::vector<Constant>& constants, dim::Scope& scope) {
  std::vector<ops::Elements> elements(constants.size());
  for (size_t i = 0; i < constants.size(); ++i)
    for (const int64_t v : constants[i].elements) elements[i].push_back(ops::Element::integer(v));
  for (Unknown& unknown : unknowns_) {
    unknown.symbol = scope.fresh(fmt::format("c{}_{}", unknown.constant, unknown.element), dim::SymbolKind::kInputDim);
    scope.assume_range(unknown.symbol, 1, std::nullopt);
    elements[unknown.constant][unknown.element] = ops::Element::integer(unknown.symbol);
  }
  infer::InferOptions options;
  for (size_t i = 0; i < constants.size(); ++i) {
    if (!inputs_[i]) continue;
    ops::Shape shape;
    for (const int64_t size : constants[i].dims) shape.emplace_back(size);
    ops::Fact fact = ops::Fact::tensor(ir::DataType::kInt64, std::move(shape));
    fact.elements = std::make_shared<const ops::Elements>(std::move(elements[i]));
    options.inputs.emplace(inputs_[i], std::move(fact));
  }
  facts_ = infer::infer(*model_, scope, options);
}

std::optional<std::vector<size_t>> Probe::find_unknowns_behind(const CaseResult& failure) {
  if (!failure.failed_node.empty()) {
    const auto [known, is_new] = known_.try_emplace(failure.failed_node);
    if (is_new) {
      const ir::Node* found = nullptr;
      int count = 0;
      for (const ir::Node* node : model_->graph->nodes()) {
        if (node->name != failure.failed_node) continue;
        found = node;
        ++count;
      }
      if (count == 1) known->second = find_unknowns_behind(found);
    }
    return known->second;
  }
  // Of the outputs that are wrong, the one that depends on least.
  std::optional<std::vector<size_t>> least;
  for (const std::string& name : failure.wrong_outputs) {
    const auto [known, is_new] = known_.try_emplace("output " + name);
    if (is_new) known->second = find_unknowns_behind(model_->graph->find(name));
    if (known->second && (!least || known->second->size() < least->size())) least = known->second;
  }
  return least;
}

std::optional<std::vector<size_t>> Probe::find_unknowns_behind(const ir::Value* value) const {
  if (!value || !value->producer()) return std::nullopt;
  return find_unknowns_behind(value->producer());
}

std::optional<std::vector<size_t>> Probe::find_unknowns_behind(const ir::Node* node) const {
  std::unordered_set<const ir::Node*> seen{node};
  std::unordered_set<const ir::Value*> sources;
  std::vector<const ir::Node*> open{node};
  while (!open.empty()) {
    const ir::Node* at = open.back();
    open.pop_back();
    if (!at->subgraphs().empty()) return std::nullopt;  // which may read anything
    for (const ir::Value* input : at->inputs()) {
      if (!input) continue;
      if (!input->producer()) {
        sources.insert(input);
      } else if (seen.insert(input->producer()).second) {
        open.push_back(input->producer());
      }
    }
  }
  std::vector<size_t> unknowns;
  for (size_t i = 0; i < unknowns_.size(); ++i)
    if (sources.contains(inputs_[unknowns_[i].constant])) unknowns.push_back(i);
  return unknowns;
}

CaseResult Probe::run(const Choice& choice, size_t case_index, const Tolerance& tolerance) {
  if (!session_ && refusal_.empty()) {
    SessionOptions options;
    options.optimization = Optimization::kBasic;  // nodes keep their names
    try {
      session_.emplace(*model_, options);
    } catch (const run::RunTimedOut&) {
      throw;
    } catch (const Error& error) {
      // A runtime may ask for sizes that are numbers in the file, where they are inputs here.
      refusal_ = error.what();
    }
  }
  if (!session_) return {.max_abs_diff = INFINITY, .reason = refusal_};
  const Case& one = sizes_.cases[case_index];
  std::vector<std::vector<int64_t>> fed(constants_.size());
  for (size_t i = 0; i < unknowns_.size(); ++i) {
    const Unknown& unknown = unknowns_[i];
    std::vector<int64_t>& elements = fed[unknown.constant];
    if (elements.empty()) elements = constants_[unknown.constant].elements;
    elements[unknown.element] = unknown.proposals[choice[i]].at[case_index + 1];
  }
  Arrays feeds = one.feeds;
  for (size_t i = 0; i < fed.size(); ++i) {
    if (!inputs_[i]) continue;
    feeds.insert_or_assign(inputs_[i]->name(), Array::from_int64(ir::DataType::kInt64, constants_[i].dims, fed[i]));
  }
  return compare_case(*session_, feeds, one.outputs, tolerance);
}

}  // namespace thaw::lifting::onetrace
