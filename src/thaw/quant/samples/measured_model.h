// A copy of a model with more outputs: what is measured of its values leaves the runtime, and nothing else.
//
//   MeasuredModel measured(model);
//   const std::string highest = measured.output(measured.reduce("ReduceMax", measured.value("hidden")));
//   measured.start();
//   for each sample i: measured.run(samples.read(i, measured.inputs()), {highest});
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/inner_values.h"
#include "thaw/run/array.h"
#include "thaw/run/session.h"

namespace thaw::quantizing {

// Of a model that is measured, and what it is cut into and converted to. ONNX Runtime copies weights where twice those of the model fit
// the memory that may be taken, as limits say or as is left; else they are only mapped. threads: SessionOptions::threads.
SessionOptions session_options(const ir::Model& measured, int threads = 0);

class MeasuredModel {
 public:
  explicit MeasuredModel(const ir::Model& model);

  int64_t opset() const { return opset_; }
  const std::vector<std::string>& inputs() const { return inputs_; }  // that must be fed
  bool is_fed(const std::string& name) const;

  // Of the main graph; null where it has none of that name.
  ir::Value* value(std::string_view name) { return model_->graph->find(name); }
  // Of any graph.
  ir::Value* value(const ValueLocation& position) { return graph(position.graph).find(position.name); }
  ir::Graph& graph(size_t number) { return *graphs_[number]; }
  size_t number_of(const ir::Graph& graph) const { return positions_.number_of(graph); }
  // Of the main graph, which all others see.
  ir::Value* constant(std::string_view name, std::vector<int64_t> dims, const std::vector<float>& numbers);
  ir::Value* constant(std::string_view name, const std::vector<int64_t>& numbers);  // a vector
  // In the graph of its first operand.
  ir::Value* op(const char* name, std::vector<ir::Value*> operands);
  // A value that another graph sees, as one of its own.
  static ir::Value* same(ir::Value* value, ir::Graph& inner);
  // As a matrix: all axes but the last are one.
  ir::Value* rows(ir::Value* value);
  // Over these axes, or all; they are gone then.
  ir::Value* reduce(const char* name, ir::Value* value, const std::vector<int64_t>& axes = {});
  // A value of the main graph: makes it an output where it is none. Returns its name.
  std::string output(ir::Value* value);

  void start();  // after the last output
  Arrays run(const Arrays& feeds, const std::vector<std::string>& wanted) { return session_->run(feeds, wanted); }

 private:
  std::unique_ptr<ir::Model> model_;
  std::vector<ir::Graph*> graphs_;
  ValueLocations positions_;
  int64_t opset_;
  std::vector<std::string> inputs_;
  std::optional<run::Session> session_;
};

// The elements as floats, a chunk at a time of whole rows of that width.
void for_rows(const Array& array, int64_t width, const std::function<void(std::span<const float>)>& each);

}  // namespace thaw::quantizing
