// The official checker over what save would write.
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include "thaw/ir/graph/schema.h"
#include "thaw/ir/wire/writer.h"

namespace thaw::ir {

static constexpr size_t kLarge = 1024;  // bytes of an initializer that the checker need not see

std::vector<std::string> check_model(const Model& model) {
  TensorPlan plan;
  if (model.graph) {
    for (const Value* value : model.graph->initializers()) {
      const Tensor& tensor = *value->initializer();
      if (tensor.storage() == Tensor::Storage::kExternal || tensor.num_bytes() >= kLarge) plan.as_inputs.insert(value);
    }
  }
  const std::string bytes = serialize(model, plan);
  onnx::ModelProto proto;
  if (!proto.ParseFromString(bytes)) return {"the model cannot be parsed by protobuf"};
  try {
    onnx::checker::check_model(proto);
  } catch (const std::exception& error) {
    return {error.what()};
  }
  return {};
}

}  // namespace thaw::ir
