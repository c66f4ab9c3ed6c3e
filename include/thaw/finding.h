// A finding of `check`, and other results that name a node or tensor.
//
// Codes never change: they name the rule's section in docs/rules.md and stand in users' --ignore lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thaw/export.h"

namespace thaw {

enum class Severity : uint8_t {
  kNote,     // for information; the model works
  kWarning,  // fails at some sizes or on some targets
  kError,    // cannot run, or computes wrong numbers silently
};

// A location in a model. Any part may be empty; for the model as a whole all are.
struct Location {
  std::string node;    // the node's name; where it has none, the name of its first output
  std::string op;      // its operator: "Reshape", "com.microsoft.Attention"
  std::string tensor;  // its name
  std::string graph;   // for nodes inside subgraphs and functions: "If 'cond_1'.then_branch"

  bool empty() const { return node.empty() && op.empty() && tensor.empty() && graph.empty(); }
};

// Another location of a finding: the second of two tensors that contradict each other, the input that a size was frozen from.
struct Related {
  Location where;
  std::string message;  // how it relates: "declared here as '?' too"
};

// Sizes by the names that `thaw inspect` prints: {"h", 96}.
using NamedSizes = std::vector<std::pair<std::string, int64_t>>;

struct Finding {
  std::string code;  // "THAW001"
  Severity severity = Severity::kWarning;
  std::string title;    // of the rule: "one dim_param for two sizes"
  std::string message;  // of this finding, one sentence: "the name '?' stands for 40 and for 80"
  Location where;
  std::string source;  // of a frozen size: "input 'image' axis 2 ('height')"; else empty
  std::string fix;     // one clause: "`thaw fix` gives each size a name of its own"
  // One clause: "ONNX Runtime stops with '…'". And commands that may fix it, the likeliest first: "thaw fix model.onnx -o
  // fixed.onnx". Either may be empty.
  std::string consequence;
  std::vector<std::string> commands;
  std::vector<Related> related;
  // The smallest sizes at which the model fails, where a proof found some; empty where it fails at all sizes.
  std::optional<NamedSizes> breaking_sizes;
  std::vector<std::pair<std::string, std::string>> details;  // name and text: {"smallest size", "h=96"}
};

// A statement about one node or tensor.
struct Note {
  std::string where;    // node or tensor: "Split 'node' reads 'tensor'"
  std::string message;  // one clause
  // Of a constant, its value in each trace: "22", "30"; "[1, 22, 30]"; "float32[660,1,16]".
  std::vector<std::string> at = {};
  std::string code = {};  // the rule of `check`, or empty: "THAW013"
};

// A change by a rewrite, or one that it did not make.
struct Change {
  std::string kind;      // the rule of `check`, "THAW003", or the pass
  std::string location;  // node or tensor
  std::string part;      // of the node or tensor: "axis 0"
  // Before and after: {"'?'", "'floor(height/8)'"}. Empty where nothing was changed.
  std::vector<std::pair<std::string, std::string>> replaced;
  int nodes = 0;         // number of nodes that read it; 0: not counted
  std::string why = {};  // why nothing was changed: a clause

  // One clause: "axis 0: '?' becomes 'floor(height/8)'".
  THAW_API std::string message() const;
};

}  // namespace thaw
