// Field numbers of the ONNX messages (onnx.proto). Internal to ir/.
#pragma once

#include <cstdint>

namespace thaw::ir::field {

namespace model {
enum : uint32_t {
  kIrVersion = 1,
  kProducerName = 2,
  kProducerVersion = 3,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadata = 14,
  kFunctions = 25
};
}
namespace graph {
enum : uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kAnnotation = 14,
  kSparseInitializer = 15
};
}
namespace function {
enum : uint32_t {
  kName = 1,
  kInput = 4,
  kOutput = 5,
  kAttribute = 6,
  kNode = 7,
  kOpsetImport = 9,
  kDomain = 10,
  kAttributeProto = 11,
  kValueInfo = 12,
  kOverload = 13
};
}
namespace node {
enum : uint32_t {
  kInput = 1,
  kOutput = 2,
  kName = 3,
  kOpType = 4,
  kAttribute = 5,
  kDomain = 7,
  kOverload = 8,
  kMetadata = 9
};
}
namespace attribute {
enum : uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kTensors = 10,
  kGraphs = 11,
  kTypeProto = 14,
  kTypeProtos = 15,
  kType = 20,
  kRefAttrName = 21,
  kSparseTensor = 22,
  kSparseTensors = 23
};
}
// AttributeProto.AttributeType; also the index of the alternative in Attribute::Payload.
namespace attribute_type {
enum : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14
};
}
namespace value_info {
enum : uint32_t { kName = 1, kType = 2 };
}
namespace tensor {
enum : uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kExternalData = 13,
  kDataLocation = 14
};
}
namespace sparse_tensor {
enum : uint32_t { kValues = 1, kIndices = 2, kDims = 3 };
}
namespace type {
enum : uint32_t {
  kTensor = 1,
  kSequence = 4,
  kMap = 5,
  kDenotation = 6,
  kOpaque = 7,
  kSparseTensor = 8,
  kOptional = 9
};
enum : uint32_t { kElemType = 1, kShape = 2 };     // of Tensor and SparseTensor
enum : uint32_t { kElement = 1 };                  // of Sequence and Optional
enum : uint32_t { kKeyType = 1, kValueType = 2 };  // of Map
enum : uint32_t { kDim = 1 };                      // of TensorShapeProto
enum : uint32_t { kDimValue = 1, kDimParam = 2, kDimDenotation = 3 };
}  // namespace type
namespace opset {
enum : uint32_t { kDomain = 1, kVersion = 2 };
}
namespace entry {
enum : uint32_t { kKey = 1, kValue = 2 };
}
namespace annotation {
enum : uint32_t { kTensorName = 1, kParameters = 2 };
}

}  // namespace thaw::ir::field
