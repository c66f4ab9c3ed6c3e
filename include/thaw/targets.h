// How far a backend supports a model: by node, by operator, and into how many parts the model falls (docs/targets.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thaw/export.h"

namespace thaw {

// From the best to the worst.
enum class Support : uint8_t {
  kSupported,
  kUnknown,  // its table does not say
  kPartial,  // under a condition that the graph does not tell: an option, a version, a pattern
  kUnsupported,
};

// All nodes of one operator.
struct OperatorSupport {
  std::string op;  // "Conv", "com.microsoft.Attention"
  size_t nodes = 0;
  Support support = Support::kSupported;  // of the node that is supported least
  std::string why;                        // of that node, one sentence; empty where it is supported
};

// A model on one target. Nodes that a runtime computes when it loads the model are not counted.
struct TargetSupport {
  std::string target, title;  // "cuda", "CUDA"
  std::string source;         // of its table; empty: it has none
  std::string note;           // on all of its table, a clause; mostly empty
  Support support = Support::kSupported;
  size_t nodes = 0;  // of the graph, of subgraphs, and of functions, each once
  size_t supported = 0, unknown = 0, partial = 0, unsupported = 0;
  size_t shape_nodes = 0;  // that ONNX Runtime leaves to the CPU, since they compute shapes alone
  // Of the main graph's nodes: into how many parts those that are not unsupported fall, each of which may run in one piece, and how
  // many tensors pass between them and the unsupported ones.
  size_t islands = 0, crossing_tensors = 0;
  std::vector<OperatorSupport> operators;  // the least supported first, then by name
  // Why it is unsupported, or partial, as a whole: its opset, free sizes, a rank. A sentence each.
  std::vector<std::string> limits;
};

// The least, best and largest shape of an input: what an optimization profile of TensorRT holds of it.
struct ShapeProfile {
  std::string input;
  std::vector<int64_t> least, opt, largest;
};

// Profiles as JSON: by input, as arguments of trtexec, and as options of ONNX Runtime's TensorRT execution provider.
THAW_API std::string to_json(std::span<const ShapeProfile> profiles);

// The names that `check` takes as targets.
THAW_API std::vector<std::string> target_names();

}  // namespace thaw
