// What is known of a model without running it: every tensor's dims as expressions of the inputs.
//
//   thaw::Inspection seen = thaw::inspect(model);
//   for (const thaw::TensorInfo& output : seen.outputs) …   // "logits", {"batch", "floor(height/4)", "80"}
//
// Weights are counted, never read. Dims are integers, names and expressions of them (docs/dims.md has the grammar); "?"
// stands for a size that could not be found out: unknown is never equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thaw/array.h"
#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/report.h"

namespace thaw {

struct InspectOptions {
  NamedSizes sizes;       // the model is looked at with these: {"height", 640}, {"grid_thw[1]", 22}
  bool values = false;    // the elements of small integer tensors too
  bool weights = false;   // text and JSON: lists the initializers
  bool cost = false;      // text and JSON: what the nodes compute and move
  std::string only = {};  // shell pattern for the names that `values` and JSON list; empty: all
};

struct TensorInfo {
  std::string name;
  std::string type;  // "float32"; "sequence(tensor(float32))" and the like; empty where nothing is known
  std::optional<std::vector<std::string>> dims;  // nullopt: the rank is not known
  std::string op;                                // what makes it: "Reshape", "com.microsoft.Gelu"; empty for inputs
  // Of a small integer tensor, row-major, as expressions; empty where one of them is not known.
  std::vector<std::string> elements;
};

// A size that dims are written in.
struct SizeSymbol {
  enum class Kind : uint8_t {
    kInputDim,      // a dim of an input: "height"
    kInputValue,    // an element of an integer input: "grid_thw[1]"
    kDataDependent  // known only when the model has run: how many boxes NonMaxSuppression keeps
  };
  std::string name;
  Kind kind = Kind::kInputDim;
  int64_t lowest = 0;              // of a dim; it may be no smaller
  std::optional<int64_t> highest;  // nullopt: none stated
  int64_t modulus = 1;             // size % modulus == remainder
  int64_t remainder = 0;
};

struct Inspection {
  std::vector<TensorInfo> inputs, outputs;
  std::vector<TensorInfo> values;  // all that nodes make, in the file's order, those of subgraphs too
  std::vector<SizeSymbol> symbols;
  std::vector<Note> problems;                  // nodes that cannot run as they are
  std::vector<Note> conditions;                // what sizes must be for the model to run: "2*h == w"
  std::vector<std::string> unknown_operators;  // operators without a rule
  std::vector<std::pair<std::string, size_t>>
      operators;         // how often each stands in the main graph, most frequent first
  std::string producer;  // "pytorch 2.1.0"
  int64_t ir_version = 0;
  size_t num_weights = 0;
  int default_weights = 0;                        // weights that are inputs too, which were taken as constants
  uint64_t weight_bytes = 0, external_bytes = 0;  // of initializers, packed; of those, in other files
  bool out_of_budget = false;                     // what is not known may be unknown for that alone (thaw/limits.h)
};

// Throws thaw::Error (kInvalidArgument) for a size that the model hasn't.
THAW_API Inspection inspect(const Model& model, const InspectOptions& options = {});

// A model that declares the types and sizes of all tensors that inference knows, for any viewer: sizes that are no numbers as names and
// expressions, of which equal ones mean equal sizes. Nothing else of it changes; a second time nothing does.
struct Annotation {
  size_t tensors = 0;  // that were declared
  Files files = {};    // that were written
  AsWritten as_written = {};

  bool accepted() const { return !as_written.is_refused(); }
};
THAW_API Annotation annotate(Model& model, const Output& output = {});

// What `thaw inspect` prints: docs/cli.md has the JSON member by member. `made`: of a copy that was annotated, to say so too.
THAW_API std::string inspect_json(const Model& model, const InspectOptions& options = {},
                                  const Annotation* made = nullptr);
THAW_API std::string inspect_text(const Model& model, const InspectOptions& options = {}, const TextOptions& how = {},
                                  const Annotation* made = nullptr);
// The graph as a picture: modules that open, sizes on the edges, what is frozen, weights and costs. One page that asks for nothing.
THAW_API std::string inspect_html(const Model& model, const InspectOptions& options = {});

}  // namespace thaw
