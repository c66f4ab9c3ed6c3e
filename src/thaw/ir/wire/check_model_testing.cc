#include "thaw/ir/wire/check_model_testing.h"

#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include "thaw/ir/wire/writer.h"

namespace thaw::ir {

std::vector<std::string> check_model(const Model& model) {
  constexpr size_t kLarge = 1024;  // bytes of an initializer that the checker need not see
  TensorPlan plan;
  if (model.graph) {
    for (const Value* value : model.graph->initializers()) {
      const Tensor& tensor = *value->initializer();
      if (tensor.storage() == Tensor::Storage::kExternal || tensor.num_bytes() >= kLarge) plan.as_inputs.insert(value);
    }
  }
  onnx::ModelProto proto;
  if (!proto.ParseFromString(serialize(model, plan))) return {"the model cannot be parsed by protobuf"};
  try {
    onnx::checker::check_model(proto);
  } catch (const std::exception& error) {
    return {error.what()};
  }
  return {};
}

}  // namespace thaw::ir
