#include <algorithm>

#include "thaw/ir/graph/location.h"
#include "thaw/prove/stated_proof.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/inspection.h"
#include "thaw/report/inspection_cost.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/rewrite/constant_weights.h"

namespace thaw::report {
namespace {

std::string kind_of(const ops::Obligation& obligation) {
  std::string kind(dim::name_of(obligation.kind));
  std::ranges::replace(kind, ' ', '_');
  return kind;
}

class InspectionJson {
 public:
  InspectionJson(const Inspection& seen, const InspectionView& view, std::string& text)
      : seen_(seen), view_(view), model_(*seen.model), json_(text) {}

  void write(const std::function<void(JsonWriter&)>& more) {
    begin_report(json_);
    if (!model_.path.empty()) json_.member("model", model_.path.string());
    write_sizes();
    write_interface();
    write_values();
    if (view_.weights) write_weight_list();
    write_graph();
    write_symbols();
    write_findings();
    json_.member("overridable_initializers", rewrite::count_replaceable(model_));
    if (view_.cost) write_cost(json_, seen_);
    if (more) more(json_);
    json_.end_object();
  }

 private:
  void write_sizes() {
    if (seen_.sizes.empty()) return;
    json_.member_object("sizes", kLine);
    for (const auto& [name, value] : seen_.sizes) json_.member(name, value);
    json_.end_object();
  }

  // Members that say what a value is: "dtype" and "dims", or "type" for what is no tensor.
  void write_type(const ir::Value& value) {
    const ops::Fact& fact = seen_.result.fact(&value);
    const std::string type = type_text(fact);
    const bool tensor = fact.kind == ops::Fact::Kind::kTensor || fact.kind == ops::Fact::Kind::kUnknown;
    json_.key(tensor ? "dtype" : "type");
    if (type.empty()) {
      json_.null();
    } else {
      json_.value(type);
    }
    json_.key("dims");
    dims_.write(json_, fact.shape);
  }

  void write_interface() {
    const auto write_list = [&](const char* name, const std::vector<const ir::Value*>& values) {
      json_.member_array(name);
      for (const ir::Value* value : values) {
        json_.begin_object(kLine);
        json_.member("name", value->name());
        write_type(*value);
        json_.end_object();
      }
      json_.end_array();
    };
    write_list("inputs", seen_.inputs());
    write_list("outputs", {model_.graph->outputs().begin(), model_.graph->outputs().end()});
  }

  void write_values() {
    json_.member_array("tensors");
    const ir::Graph* graph = nullptr;  // whose path is `path`
    std::string path;
    seen_.each_value([&](const ir::Value& value, const ir::Node& node) {
      if (!is_listed(view_, value.name())) return;
      json_.begin_object(kLine);
      json_.member("name", value.name());
      write_type(value);
      json_.member("op", ir::operator_name(node));
      if (node.graph() != graph) {
        graph = node.graph();
        path = ir::path_of(*graph);
      }
      json_.optional_member("graph", path);
      if (view_.values) write_elements(seen_.result.fact(&value));
      json_.end_object();
    });
    json_.end_array();
  }

  void write_elements(const ops::Fact& fact) {
    const std::vector<dim::Dim> elements = integer_elements(fact);
    if (elements.empty()) return;
    json_.member_array("elements");
    for (const dim::Dim element : elements) dims_.write(json_, element);
    json_.end_array();
  }

  void write_weight_list() {
    json_.member_array("initializers");
    for (const ir::Value* value : model_.graph->initializers()) {
      if (!is_listed(view_, value->name())) continue;
      const ir::Tensor& tensor = *value->initializer();
      json_.begin_object(kLine);
      json_.member("name", value->name());
      json_.member("dtype", ir::name_of(tensor.data_type));
      json_.member_array("dims");
      for (const int64_t dim : tensor.dims) json_.value(dim);
      json_.end_array();
      if (tensor.external()) json_.member("data_file", tensor.external()->location);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_graph() {
    json_.member("nodes", model_.graph->nodes().size());
    json_.member_object("operators", kLine);
    for (const auto& [name, number] : operator_counts(model_)) json_.member(name, number);
    json_.end_object();
    json_.member("functions", model_.functions.size());
    json_.member_object("opset_imports", kLine);
    for (const ir::OpsetImport& import : model_.opset_imports) {
      json_.member(import.domain.empty() ? "ai.onnx" : import.domain, import.version);
    }
    json_.end_object();
    json_.member("ir_version", model_.ir_version);
    json_.member("producer", producer_of(model_));
    if (const auto proof = proving::stated_proof(model_)) {
      json_.member_object("proof", kLine);
      json_.member("proven", proof->proven);
      json_.member("outputs", proof->outputs);
      json_.member("origin", proof->origin);
      json_.end_object();
    }
    const WeightTotals weights = weigh(model_);
    json_.member_object("weights", kLine);
    json_.member("count", weights.count);
    json_.member("bytes", weights.bytes);
    json_.member("external_bytes", weights.external);
    json_.end_object();
    json_.member_object("constants", kLine);
    json_.member("count", weights.constants);
    json_.member("bytes", weights.constant_bytes);
    json_.end_object();
  }

  void write_symbols() {
    constexpr const char* kKinds[] = {"input_dim", "input_value", "data_dependent"};
    json_.member_array("symbols");
    for (const dim::SymbolInfo& symbol : symbols_of(seen_)) {
      json_.begin_object(kLine);
      json_.member("name", symbol.name);
      json_.member("kind", kKinds[static_cast<size_t>(symbol.kind)]);
      json_.member_array("range");
      const bool bounded =
          symbol.kind != dim::SymbolKind::kInputValue;  // the range of a value is what arithmetic can hold
      if (bounded) {
        json_.value(symbol.lower);
      } else {
        json_.null();
      }
      if (bounded && symbol.upper) {
        json_.value(*symbol.upper);
      } else {
        json_.null();
      }
      json_.end_array();
      if (symbol.modulus != 1) {
        json_.member("modulus", symbol.modulus);
        json_.member("remainder", symbol.remainder);
      }
      json_.end_object();
    }
    json_.end_array();
  }

  void write_findings() {
    json_.member_array("problems");
    for (const infer::Problem& problem : seen_.result.problems()) {
      json_.begin_object(kLine);
      write_location(json_, ir::location_of(*problem.node));
      json_.member("message", problem.message);
      json_.end_object();
    }
    json_.end_array();
    json_.member_array("obligations");
    for (const ops::Obligation& obligation : seen_.result.obligations()) {
      json_.begin_object(kLine);
      write_location(json_, ir::location_of(*obligation.node));
      json_.member("kind", kind_of(obligation));
      json_.key("a");
      dims_.write(json_, obligation.a);
      json_.key("b");
      dims_.write(json_, obligation.b);
      json_.member("message", obligation.what);
      json_.end_object();
    }
    json_.end_array();
    const auto write_names = [&](const char* name, const auto& names) {
      json_.member_array(name, kLine);
      for (const auto& item : names) json_.value(item);
      json_.end_array();
    };
    write_names("unknown_operators", seen_.result.unknown_operators());
    std::vector<std::string> trusted;
    for (const ir::Value* value : seen_.result.trusted()) trusted.push_back(value->name());
    write_names("assumed_shapes", trusted);
    json_.member("out_of_budget", seen_.result.out_of_budget());
  }

  const Inspection& seen_;
  const InspectionView& view_;
  const ir::Model& model_;
  JsonWriter json_;
  DimText dims_;
};

}  // namespace

std::string inspection_json(const Inspection& seen, const InspectionView& view,
                            const std::function<void(JsonWriter&)>& more) {
  std::string text;
  InspectionJson(seen, view, text).write(more);
  text += '\n';
  return text;
}

}  // namespace thaw::report
