// Compares two models: inputs and outputs, opsets, nodes, attributes, weights, declared and inferred dims.
//
//   const thaw::ModelDiff found = thaw::diff(before, after);
//   if (!found.equal()) std::cout << to_text(found);
//
// Nodes are matched by the names of their outputs, then by their own names, then, among the rest, in order. Matched nodes are equal
// where operator and attributes are equal and their inputs match, whatever their names. Subgraphs of matched nodes and functions of
// one name are compared likewise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thaw/export.h"
#include "thaw/model.h"
#include "thaw/report.h"

namespace thaw {

// One difference. `what`: "type", "attribute axis", "input 1", "values", …. A side without it is empty.
struct Difference {
  std::string what, a, b;
  std::string note;  // instead of the sides: "3 of 64 elements differ, by at most 0.25"
};

enum class DiffKind : uint8_t { kAdded, kRemoved, kChanged };  // only in b, only in a, in both

struct DiffItem {
  std::string name;
  DiffKind change = DiffKind::kChanged;
  std::vector<Difference> differences;  // for kChanged: at least one
};

struct DiffPairs;  // which nodes and values match, for to_html()

struct ModelDiff {
  std::string a, b;                       // paths
  std::vector<Difference> header;         // IR version, opsets, producer, metadata, functions
  std::vector<DiffItem> inputs, outputs;  // by name, as declared; a different order is an item too
  std::vector<Difference> operators;      // counts that differ, by operator
  std::vector<DiffItem> nodes;
  std::vector<DiffItem> weights;
  std::vector<DiffItem> value_info;                          // declared types of inner tensors
  std::vector<DiffItem> inferred_shapes;                     // inferred dims of all tensors
  std::vector<std::pair<std::string, std::string>> renamed;  // names of nodes and tensors that match
  size_t matched_nodes = 0;
  bool weights_compared = true;  // false: only their types were
  std::shared_ptr<const DiffPairs> pairs;

  THAW_API bool equal() const;
  // Only names of inner nodes and tensors differ.
  THAW_API bool equal_except_names() const;
  bool accepted() const { return equal(); }
};

struct DiffOptions {
  bool weights = true;  // compare elements of weights; else only their types
  bool infer = true;    // compare inferred dims
  std::function<void(uint64_t done, uint64_t total)> progress = {};  // in bytes of weights; may be empty
};

THAW_API ModelDiff diff(const Model& a, const Model& b, const DiffOptions& options = {});

THAW_API std::string to_json(const ModelDiff& diff);
THAW_API std::string to_text(const ModelDiff& diff, const TextOptions& how = {});
// The graph of `b` as a picture, with the nodes that only `a` has. The models must be those that were compared, unchanged.
THAW_API std::string to_html(const ModelDiff& diff, const Model& a, const Model& b);

}  // namespace thaw
