#include "thaw/prove/laws_testing.h"

#include <cmath>
#include <random>
#include <span>
#include <stdexcept>

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include "thaw/ir/wire/wire.h"
#include "thaw/prove/aligned.h"
#include "thaw/prove/read_model.h"
#include "thaw/prove/terms_testing.h"
#include "thaw/run/session.h"

namespace thaw::proving {

std::unique_ptr<ir::Model> Graph::model() const {
  const std::string text =
      fmt::format(R"(<ir_version: 8, opset_import: ["" : {}, "com.microsoft" : 1]> g ({}) => ({}) <{}> {{ {} }})",
                  opset_, inputs_, fmt::join(outputs_, ", "), fmt::join(constants_, ", "), nodes_);
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  if (!status.IsOK()) throw std::invalid_argument(status.ErrorMessage());
  auto bytes = std::make_shared<const std::string>(proto.SerializeAsString());
  return ir::parse(std::as_bytes(std::span(bytes->data(), bytes->size())), bytes);
}

namespace {

// Inputs of the sizes that names have there; those named p… are above 0.
Arrays drawn(const ir::Model& model, const Sizes& sizes) {
  std::mt19937 random(7);
  Arrays feeds;
  for (const ir::Value* input : model.graph->inputs()) {
    std::vector<int64_t> dims;
    for (const ir::DeclaredDim& d : *input->type.shape) dims.push_back(d.value ? *d.value : sizes.at(d.param));
    Array zeros = Array::zeros(DataType::kFloat, dims);
    std::vector<double> values(static_cast<size_t>(zeros.num_elements()));
    std::uniform_real_distribution<double> uniform(input->name().starts_with("p") ? 0.5 : -2, 2);
    for (double& value : values) value = uniform(random);
    feeds[input->name()] = Array::from_doubles(DataType::kFloat, std::move(dims), values);
  }
  return feeds;
}

void expect_laws_hold(const Graph& graph, const std::vector<Sizes>& at, Weights weights) {
  const auto model = graph.model();
  const Aligned aligned = align(*model, *model);
  dim::Scope scope;
  Algebra algebra(scope, weights);
  const ModelFacts facts(*aligned.models[0], scope);
  ModelReader reader(algebra, facts, 0);
  const std::vector<TermId> terms = reader.read();
  run::SessionOptions plain;
  plain.optimization = run::Optimization::kNone;
  run::Session session(*model, plain);
  for (const Sizes& sizes : at) {
    const Arrays feeds = drawn(*model, sizes);
    const Arrays wanted = session.run(feeds);
    Evaluator evaluate(algebra.terms, feeds);
    for (size_t i = 0; i < terms.size(); ++i) {
      const std::string& name = model->graph->outputs()[i]->name();
      SCOPED_TRACE(name + " of\n" + graph.nodes());
      Evaluated made;
      try {
        made = evaluate(terms[i]);
      } catch (const std::exception& error) {
        FAIL() << error.what();
      }
      const Array& expected = wanted.at(name);
      ASSERT_EQ(made.dims, expected.dims);
      const std::vector<double> values = to_doubles(expected);
      for (size_t k = 0; k < values.size(); ++k) {
        if (values[k] == made.values[k] || (std::isnan(values[k]) && std::isnan(made.values[k]))) continue;
        ASSERT_NEAR(made.values[k], values[k], 1e-4 * (1 + std::fabs(values[k]))) << "element " << k;
      }
    }
  }
}

}  // namespace

void expect_laws_hold(const Graph& graph, const std::vector<Sizes>& at) {
  for (const Weights weights : {Weights::kAsRead, Weights::kScaled}) expect_laws_hold(graph, at, weights);
}

}  // namespace thaw::proving
