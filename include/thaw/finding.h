// A finding: what a rule has to say about a model, in plain text, apart from how it was found and how it is printed.
//
// A code is stable for ever: it names the rule's page in docs/rules.md and stands in people's --ignore lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thaw/export.h"

namespace thaw {

enum class Severity : uint8_t {
  kNote,     // worth knowing; the model works
  kWarning,  // works at some sizes, or on some targets, and not at others
  kError,    // cannot run, or gives wrong numbers without a word
};

// A place in a model. Any part may be empty; a message about the model as a whole has none.
struct Place {
  std::string node;    // the node's name; where it has none, the name of its first output
  std::string op;      // its operator: "Reshape", "com.microsoft.Attention"
  std::string tensor;  // the tensor that the finding is about
  std::string graph;   // for nodes inside subgraphs and functions: "If 'cond_1'.then_branch"

  bool empty() const { return node.empty() && op.empty() && tensor.empty() && graph.empty(); }
};

// Another place that belongs to a finding: the second of two tensors that clash, the input a size was frozen from.
struct Related {
  Place where;
  std::string message;  // what this place has to do with it: "declared here as '?' too"
};

// Sizes by the names that `thaw inspect` prints: {"h", 96}.
using NamedSizes = std::vector<std::pair<std::string, int64_t>>;

struct Finding {
  std::string code;  // "THAW001"
  Severity severity = Severity::kWarning;
  std::string title;    // of the rule, the same for each of its findings: "one name for two sizes"
  std::string message;  // this case, one sentence: "the name '?' stands for 40 and for 80"
  Place where;
  std::string source;  // where a frozen size comes from: "input 'image' axis 2 ('height')"; empty if it isn't one
  std::string fix;     // what answers it, one clause: "`thaw fix` gives each size a name of its own"
  // What will happen, one clause: "ONNX Runtime stops with '…'"; and the commands that may mend it, on the model's own
  // file, the likeliest first: "thaw fix model.onnx -o fixed.onnx". Either may be empty.
  std::string happens;
  std::vector<std::string> commands;
  std::vector<Related> related;
  // The smallest sizes that break the model, by name, where a proof found some; none of them where every size does.
  std::optional<NamedSizes> breaking_sizes;
  std::vector<std::pair<std::string, std::string>> details;  // more to print, name and text: {"smallest size", "h=96"}
};

// What became of one place of a model, or why nothing did.
struct Note {
  std::string where;    // node or tensor: "Split 'node' reads 'tensor'"
  std::string message;  // one clause
  // What it was in each trace, the evidence: "22", "30"; "[1, 22, 30]"; "float32[660,1,16]". Empty where no constant is
  // meant.
  std::vector<std::string> at = {};
  std::string code = {};  // the rule of `check` that it answers, where one is meant: "THAW013"
};

// What a rewrite changed, or what it found and left.
struct Change {
  std::string kind;   // the rule of `check` that it answers: "THAW003"
  std::string place;  // node or tensor
  std::string part;   // of the place, where there are several: "axis 0"
  // "'?'" and what it became, "'floor(height/8)'". Of what is left, nothing.
  std::vector<std::pair<std::string, std::string>> replaced;
  int nodes = 0;         // that read what was replaced; 0: not counted
  std::string why = {};  // of what is left: a clause

  // One clause for people: "axis 0: '?' becomes 'floor(height/8)'".
  THAW_API std::string message() const;
};

}  // namespace thaw
