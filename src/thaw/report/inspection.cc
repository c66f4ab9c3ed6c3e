#include "thaw/report/inspection.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fnmatch.h>

#include "thaw/core/error.h"
#include "thaw/infer/size_names.h"
#include "thaw/ir/graph/location.h"
#include "thaw/report/dim_text.h"

namespace thaw::report {
namespace {

// Calls back for the graph and every graph below it, each before those inside it.
void each_graph(const ir::Graph& graph, const std::function<void(const ir::Graph&)>& visit) {
  std::vector<const ir::Graph*> todo = {&graph};
  while (!todo.empty()) {
    const ir::Graph* at = todo.back();
    todo.pop_back();
    visit(*at);
    for (const ir::Node* node : at->nodes()) {
      for (const ir::Graph* inner : node->subgraphs()) todo.push_back(inner);
    }
  }
}

dim::Assignment assignment_of(const Sizes& sizes, const dim::SizeNames& names) {
  dim::Assignment values;
  for (const auto& [name, value] : sizes) {
    const dim::SizeName found = names.require(name, {});
    if (found.symbol < 0) names.refuse(name, {});  // an element that no size of the model depends on
    if (value < 0 && found.kind == dim::SizeName::Kind::kSymbol) {
      throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the size '{}' cannot be {}", name, value),
                                                .where = {},
                                                .expected = "a size of 0 or more",
                                                .next = {}});
    }
    values[found.symbol] = value;
  }
  return values;
}

ops::Fact at_sizes(ops::Fact fact, const dim::Assignment& values) {
  if (fact.shape) {
    for (dim::Dim& dim : *fact.shape) dim = dim::substitute(dim, values);
  }
  if (fact.elements) {
    auto elements = std::make_shared<ops::Elements>(*fact.elements);
    for (ops::Element& element : *elements) {
      if (element.as_dim().is_known()) element = ops::Element::integer(dim::substitute(element.as_dim(), values));
    }
    fact.elements = std::move(elements);
  }
  return fact;
}

void infer_at(Inspection& seen, infer::InferOptions options) {
  seen.in_functions.clear();
  const auto join = [&](const ir::Value* value, const ops::Fact& fact) {
    const auto [known, first] = seen.in_functions.try_emplace(value, fact);
    if (!first && !ops::is_same_knowledge(known->second, fact)) known->second = ops::join(known->second, fact);
  };
  if (!seen.model->functions.empty()) {
    options.after_node = [&](const infer::NodeVisit& visit) {
      if (&ir::root_of(*visit.node.graph()) == seen.model->graph.get()) return;  // in no function
      for (size_t i = 0; i < visit.node.inputs().size(); ++i)
        if (const ir::Value* input = visit.node.inputs()[i]; input != nullptr && input->is_input())
          join(input, visit.input(static_cast<int>(i)));
      for (size_t i = 0; i < visit.outputs.size(); ++i)
        if (const ir::Value* output = visit.node.outputs()[i]) join(output, visit.outputs[i]);
    };
  }
  seen.result = infer::infer(*seen.model, *seen.scope, options);
}

}  // namespace

const ops::Fact& Inspection::fact(const ir::Value& value) const {
  const auto inner = in_functions.find(&value);
  return inner == in_functions.end() ? result.fact(&value) : inner->second;
}

std::vector<const ir::Value*> Inspection::inputs() const {
  std::vector<const ir::Value*> own;
  for (const ir::Value* input : model->graph->inputs()) {
    if (input->initializer() == nullptr && input->sparse_initializer() == nullptr) own.push_back(input);
  }
  return own;
}

void Inspection::each_value(const std::function<void(const ir::Value&, const ir::Node&)>& visit) const {
  // Where the walk stands in each graph that is open, the innermost last: subgraphs nest as deep as the file says.
  struct Cursor {
    const ir::Graph* graph;
    const ir::Node* next;
  };
  std::vector<Cursor> open = {{model->graph.get(), model->graph->nodes().front()}};
  while (!open.empty()) {
    Cursor& cursor = open.back();
    if (cursor.next == nullptr) {
      open.pop_back();
      continue;
    }
    const ir::Node& node = *cursor.next;
    cursor.next = cursor.graph->next(&node);
    for (const ir::Value* output : node.outputs()) {
      if (output != nullptr) visit(*output, node);
    }
    const std::vector<ir::Graph*> inner = node.subgraphs();
    for (auto graph = inner.rbegin(); graph != inner.rend(); ++graph) {
      open.push_back({*graph, (*graph)->nodes().front()});
    }
  }
}

Inspection inspect(const ir::Model& model, const Sizes& sizes) {
  Inspection seen{&model, std::make_unique<dim::Scope>(), {}, {}, {}};
  infer_at(seen, {});
  if (sizes.empty()) return seen;
  const dim::SizeNames names = infer::size_names(model, seen.result, *seen.scope);
  seen.sizes = names.resolve(sizes, {});
  const dim::Assignment values = assignment_of(seen.sizes, names);
  infer::InferOptions options;
  for (const ir::Value* input : seen.inputs()) options.inputs[input] = at_sizes(seen.result.fact(input), values);
  infer_at(seen, std::move(options));
  return seen;
}

std::vector<dim::SymbolInfo> symbols_of(const Inspection& seen) {
  std::vector<dim::SymbolInfo> symbols;
  for (const dim::SymbolInfo& info : seen.scope->symbols()) {
    if (std::ranges::find(seen.sizes, info.name, &Sizes::value_type::first) == seen.sizes.end())
      symbols.push_back(info);
  }
  return symbols;
}

std::vector<std::pair<std::string, size_t>> operator_counts(const ir::Model& model) {
  std::map<std::string, size_t> counts;
  for (const ir::Node* node : model.graph->nodes()) ++counts[ir::operator_name(*node)];
  std::vector<std::pair<std::string, size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::string producer_of(const ir::Model& model) {
  if (model.producer_version.empty()) return model.producer_name;
  return model.producer_name.empty() ? model.producer_version : model.producer_name + " " + model.producer_version;
}

std::vector<dim::Dim> integer_elements(const ops::Fact& fact) {
  constexpr size_t kMostShown = 64;
  std::vector<dim::Dim> dims;
  if (!fact.elements || !ir::is_integer(fact.dtype) || fact.elements->size() > kMostShown) return dims;
  for (const ops::Element& element : *fact.elements) {
    const dim::Dim dim = element.as_dim();
    if (dim.is_unknown()) return {};
    dims.push_back(dim);
  }
  return dims;
}

bool is_listed(const InspectionView& view, const std::string& name) {
  return view.only.empty() || fnmatch(view.only.c_str(), name.c_str(), 0) == 0;
}

std::string condition_text(const ops::Obligation& obligation, DimText& dims) {
  const std::string a = dims.show(obligation.a);
  const std::string b = dims.show(obligation.b);
  switch (obligation.kind) {
    case dim::Relation::kEqual:
      return fmt::format("{} == {}", a, b);
    case dim::Relation::kBroadcastable:
      return fmt::format("{} broadcasts with {}", a, b);
    case dim::Relation::kDivisible:
      return fmt::format("{} is divisible by {}", a, b);
    case dim::Relation::kAtMost:
      return fmt::format("{} <= {}", a, b);
  }
  return {};
}

WeightTotals weigh(const ir::Model& model) {
  WeightTotals totals;
  each_graph(*model.graph, [&](const ir::Graph& graph) {
    const auto add = [&](const ir::Tensor& tensor) {
      const uint64_t bytes = tensor.num_bytes();
      totals.bytes += bytes;
      if (tensor.storage() == ir::Tensor::Storage::kExternal) totals.external += bytes;
    };
    for (const ir::Value* value : graph.initializers()) add(*value->initializer());
    for (const ir::Value* value : graph.sparse_initializers()) {
      add(value->sparse_initializer()->values);
      add(value->sparse_initializer()->indices);
    }
    totals.count += graph.initializers().size() + graph.sparse_initializers().size();
    for (const ir::Node* node : graph.nodes()) {
      if (node->constant() == nullptr) continue;
      ++totals.constants;
      totals.constant_bytes += node->constant()->num_bytes();
    }
  });
  return totals;
}

}  // namespace thaw::report
