// A finding: what a rule has to say about a model, in plain text, apart from how it was found and how it is printed.
//
// The rules (check/) make findings, the renderers (report/) print them as text, JSON and SARIF; neither knows the
// other. A code is stable for ever: it names the rule's page in docs/rules.md and stands in people's --ignore lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  std::vector<Related> related;
  // The smallest sizes that break the model, by name, where a proof found some; none of them where every size does.
  std::optional<NamedSizes> breaking_sizes;
  std::vector<std::pair<std::string, std::string>> details;  // more to print, name and text: {"smallest size", "h=96"}
};

}  // namespace thaw
