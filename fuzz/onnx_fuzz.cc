// The ONNX reader on any bytes: a thaw::Error, or a model that can be written, read again and copied without a change.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "thaw/core/error.h"
#include "thaw/ir/graph/model.h"

namespace {

using thaw::ir::Graph;
using thaw::ir::Model;
using thaw::ir::Node;
using thaw::ir::Tensor;
using thaw::ir::Value;

constexpr int64_t kMaxElements = 1 << 16;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_tensor(const Tensor& tensor) {
  try {
    if (tensor.num_elements() > kMaxElements) return;
    if (tensor.data_type == thaw::ir::DataType::kString) {
      static_cast<void>(tensor.to_strings());
    } else {
      static_cast<void>(tensor.to_double());
      static_cast<void>(tensor.to_int64());
    }
  } catch (const thaw::Error&) {
  }
}

// Reads all that a graph offers, and checks that uses and inputs say the same.
void walk(const Graph& graph) {
  for (const Value* value : graph.initializers()) read_tensor(*value->initializer());
  for (const Node* node : graph.nodes()) {
    if (node->constant()) read_tensor(*node->constant());
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Value* value = node->inputs()[i];
      if (!value) continue;
      require(graph.find_visible(value->name()) == value);
      bool found = false;
      for (const auto& use : value->uses()) found |= use.node == node && use.index == static_cast<int>(i);
      require(found);
    }
    for (const Graph* subgraph : node->subgraphs()) walk(*subgraph);
  }
}

std::unique_ptr<Model> parse(std::span<const std::byte> bytes) { return thaw::ir::parse(bytes, nullptr, {}); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::unique_ptr<Model> model;
  try {
    model = parse(std::as_bytes(std::span(data, size)));
  } catch (const thaw::Error&) {
    return 0;
  }
  walk(*model->graph);
  const std::string written = thaw::ir::serialize(*model);
  require(thaw::ir::serialize(*thaw::ir::clone(*model)) == written);
  const std::unique_ptr<Model> again = parse(std::as_bytes(std::span(written)));
  require(thaw::ir::serialize(*again) == written);
  return 0;
}
