// Describes a model without running it: the dims of every tensor as expressions of the inputs' dims.
//
//   thaw::Inspection seen = thaw::inspect(model);
//   for (const thaw::TensorInfo& output : seen.outputs) …   // "logits", {"batch", "floor(height/4)", "80"}
//
// Weights are counted, never read. A dim is an integer, a symbol or an expression of symbols (docs/dims.md), as text. "?" is unknown;
// two unknown dims are never equal.
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
  NamedSizes sizes;       // values of symbols: {"height", 640}, {"grid_thw[1]", 22}
  bool tensors = false;   // list tensors in text, and elements of small integer tensors
  bool weights = false;   // text and JSON: list the initializers
  bool cost = false;      // text and JSON: operations and bytes moved
  std::string only = {};  // shell pattern for the names of listed tensors; empty: all
};

struct TensorInfo {
  std::string name;
  std::string type;                              // "float32", "sequence(tensor(float32))"; empty: unknown
  std::optional<std::vector<std::string>> dims;  // nullopt: unknown rank
  std::string op;                                // operator: "Reshape", "com.microsoft.Gelu"; empty for inputs
  // Of a small integer tensor, row-major, as expressions; empty where one is unknown.
  std::vector<std::string> elements;
};

// A symbol that dims are expressions of.
struct SizeSymbol {
  enum class Kind : uint8_t {
    kInputDim,      // a dim of an input: "height"
    kInputValue,    // an element of an integer input: "grid_thw[1]"
    kDataDependent  // known only at run time: the number of boxes that NonMaxSuppression selects
  };
  std::string name;
  Kind kind = Kind::kInputDim;
  int64_t lowest = 0;              // inclusive
  std::optional<int64_t> highest;  // inclusive; nullopt: no bound
  int64_t modulus = 1;             // size % modulus == remainder
  int64_t remainder = 0;
};

struct Inspection {
  std::vector<TensorInfo> inputs, outputs;
  std::vector<TensorInfo> tensors;  // outputs of all nodes, in the file's order, those of subgraphs too
  std::vector<SizeSymbol> symbols;
  std::vector<Note> problems;                  // nodes that cannot run
  std::vector<Note> obligations;               // conditions on sizes for the model to run: "2*h == w"
  std::vector<std::string> unknown_operators;  // operators without shape inference
  // Operators and how many nodes of the main graph have them, most frequent first.
  std::vector<std::pair<std::string, size_t>> operators;
  std::string producer;  // "pytorch 2.1.0"
  int64_t ir_version = 0;
  size_t num_weights = 0;
  int overridable_initializers = 0;               // initializers that are inputs too, taken as constants
  uint64_t weight_bytes = 0, external_bytes = 0;  // of initializers, as stored; of these, external data
  bool out_of_budget = false;  // a limit was reached: some dims are unknown for that reason (thaw/limits.h)
};

// Throws thaw::Error (kInvalidArgument) for a size that the model does not have.
THAW_API Inspection inspect(const Model& model, const InspectOptions& options = {});

// Adds value_info with inferred types and dims for all tensors, for other viewers. Expressions become dim_param; equal ones mean equal
// sizes. Nothing else changes, and a second run changes nothing.
struct Annotation {
  size_t tensors = 0;  // number of tensors that were declared
  Files files = {};    // files that were written
  LoadCheck load_check = {};

  bool accepted() const { return !load_check.has_failed(); }
};
THAW_API Annotation annotate(Model& model, const Output& output = {});

// What `thaw inspect` prints; docs/cli.md describes the JSON. `made`: the annotation to report, or null.
THAW_API std::string inspect_json(const Model& model, const InspectOptions& options = {},
                                  const Annotation* made = nullptr);
THAW_API std::string inspect_text(const Model& model, const InspectOptions& options = {}, const TextOptions& how = {},
                                  const Annotation* made = nullptr);
// The graph as a picture in one HTML file that needs no network: modules, dims, frozen sizes, weights and costs.
THAW_API std::string inspect_html(const Model& model, const InspectOptions& options = {});

}  // namespace thaw
