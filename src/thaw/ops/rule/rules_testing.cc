#include "thaw/ops/rule/rules_testing.h"

#include <stdexcept>

#include <fmt/format.h>
#include <onnx/defs/parser.h>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"

namespace thaw::ops {

namespace {

std::string text_of(const Fact& fact) {
  if (!fact.has_rank()) return "?";
  std::string text;
  for (dim::Dim d : *fact.shape) text += (text.empty() ? "" : ", ") + dim::to_string(d);
  return "[" + text + "]";
}

std::string text_of(const Obligation& o) {
  std::string a = dim::to_string(o.a), b = dim::to_string(o.b);
  switch (o.kind) {
    case dim::Relation::kEqual:
      return a + " == " + b;
    case dim::Relation::kBroadcastable:
      return a + " ~ " + b;
    case dim::Relation::kDivisible:
      return a + " % " + b;
    case dim::Relation::kAtMost:
      return a + " <= " + b;
  }
  return {};
}

}  // namespace

Inferred infer_text(const std::string& graph, int opset) {
  std::string text = fmt::format(R"(<ir_version: 10, opset_import: ["" : {}, "com.microsoft" : 1]> )", opset) + graph;
  onnx::ModelProto proto;
  auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  if (!status.IsOK()) throw std::invalid_argument(status.ErrorMessage());
  auto bytes = std::make_shared<const std::string>(proto.SerializeAsString());
  auto model = ir::parse(std::as_bytes(std::span(bytes->data(), bytes->size())), bytes);
  dim::Scope scope;
  auto result = infer::infer(*model, scope);
  Inferred out;
  for (const ir::Value* value : model->graph->outputs()) out.outputs.push_back(text_of(result.fact(value)));
  for (const Obligation& o : result.obligations()) out.obligations.push_back(text_of(o));
  for (const infer::Problem& p : result.problems()) out.problems.push_back(p.message);
  return out;
}

std::string dims_of(const std::string& graph, int opset) { return infer_text(graph, opset).outputs.at(0); }

}  // namespace thaw::ops
