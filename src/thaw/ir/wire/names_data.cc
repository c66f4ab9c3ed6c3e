#include "thaw/ir/wire/names_data.h"

#include <cstdint>
#include <string_view>

#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/read_files.h"
#include "thaw/ir/wire/fields.h"
#include "thaw/ir/wire/wire.h"

namespace thaw::ir {
namespace {

constexpr int kDeepest = 64;  // graphs in graphs: who is deeper is loaded, and refused there

enum class Message : uint8_t { kOther, kModel, kFunction, kGraph, kNode, kAttribute, kSparseTensor, kTensor };

// What a field of a message holds, on the ways to tensors.
Message held(Message message, uint32_t number) {
  switch (message) {
    case Message::kModel:
      if (number == field::model::kGraph) return Message::kGraph;
      return number == field::model::kFunctions ? Message::kFunction : Message::kOther;
    case Message::kFunction:
      return number == field::function::kNode             ? Message::kNode
             : number == field::function::kAttributeProto ? Message::kAttribute
                                                          : Message::kOther;
    case Message::kGraph:
      if (number == field::graph::kNode) return Message::kNode;
      if (number == field::graph::kInitializer) return Message::kTensor;
      return number == field::graph::kSparseInitializer ? Message::kSparseTensor : Message::kOther;
    case Message::kNode:
      return number == field::node::kAttribute ? Message::kAttribute : Message::kOther;
    case Message::kAttribute:
      switch (number) {
        case field::attribute::kTensor:
        case field::attribute::kTensors:
          return Message::kTensor;
        case field::attribute::kGraph:
        case field::attribute::kGraphs:
          return Message::kGraph;
        case field::attribute::kSparseTensor:
        case field::attribute::kSparseTensors:
          return Message::kSparseTensor;
        default:
          return Message::kOther;
      }
    case Message::kSparseTensor:
      return number == field::sparse_tensor::kValues || number == field::sparse_tensor::kIndices ? Message::kTensor
                                                                                                 : Message::kOther;
    case Message::kTensor:
    case Message::kOther:
      break;
  }
  return Message::kOther;
}

bool has_data_elsewhere(Message message, std::string_view bytes, int depth) {
  if (depth > kDeepest) return true;
  wire::Field one;
  for (wire::Reader reader(bytes); reader.next(one);) {
    const uint32_t number = one.tag >> 3;
    if (message == Message::kTensor) {
      if (number == field::tensor::kExternalData || number == field::tensor::kDataLocation) return true;
      continue;
    }
    if ((one.tag & 7) != wire::kBytes) continue;
    const Message inner = held(message, number);
    if (inner != Message::kOther && has_data_elsewhere(inner, one.bytes, depth + (inner == Message::kGraph ? 1 : 0)))
      return true;
  }
  return false;
}

}  // namespace

bool may_name_data_files(const std::filesystem::path& model) {
  const ReadFiles::Pause looking;
  try {
    const auto file = MappedFile::open(model);
    return has_data_elsewhere(Message::kModel, file->text(), 0);
  } catch (const wire::Malformed&) {
    return true;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace thaw::ir
