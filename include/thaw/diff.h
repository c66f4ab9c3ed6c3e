// What differs between two models: interface, opsets, nodes, attributes, weights, declared and inferred dims.
//
//   const thaw::ModelDiff found = thaw::diff(before, after);
//   if (!found.equal()) std::cout << to_text(found);
//
// Nodes are paired by the names of what they make, then by their own names, then, among those that are left, in order; a
// node is the same when its operator and attributes are and its inputs are each other's partners, whatever they are
// called. Subgraphs of paired nodes and functions of one name are compared likewise.
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

// Something that is not the same: `what` is "type", "attribute axis", "input 1", "values", …; a side that has none is
// empty.
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

struct DiffPairs;  // which nodes and values stand for each other, for to_html()

struct ModelDiff {
  std::string a, b;                       // paths
  std::vector<Difference> header;         // IR version, opsets, producer, metadata, functions
  std::vector<DiffItem> inputs, outputs;  // of the model, by name, as declared; an order that differs is an item too
  std::vector<Difference> operators;      // counts that differ, by operator
  std::vector<DiffItem> nodes;
  std::vector<DiffItem> weights;
  std::vector<DiffItem> declared;                            // declared types of inner values
  std::vector<DiffItem> inferred;                            // dims as inferred, of all values
  std::vector<std::pair<std::string, std::string>> renamed;  // nodes and values that are each other's partners
  size_t paired_nodes = 0;
  bool values_compared = true;  // false: only the types of the weights were
  std::shared_ptr<const DiffPairs> pairs;

  THAW_API bool equal() const;
  // All that differs is what inner nodes and values are called.
  THAW_API bool equal_but_for_names() const;
  bool accepted() const { return equal(); }
};

struct DiffOptions {
  bool weights = true;  // compare the values of weights; else only their types
  bool infer = true;    // compare inferred dims
  std::function<void(uint64_t done, uint64_t total)> progress = {};  // bytes of weights; may be empty
};

THAW_API ModelDiff diff(const Model& a, const Model& b, const DiffOptions& options = {});

THAW_API std::string to_json(const ModelDiff& diff);
THAW_API std::string to_text(const ModelDiff& diff, const TextOptions& how = {});
// The graph of `b` as a picture, with what is `a`'s alone: the models that were compared, as they were then.
THAW_API std::string to_html(const ModelDiff& diff, const Model& a, const Model& b);

}  // namespace thaw
