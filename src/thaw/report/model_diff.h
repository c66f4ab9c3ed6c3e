// What differs between two models: interface, opsets, nodes, attributes, weights, declared and inferred dims.
//
// Nodes are paired by the names of what they make, then by their own names, then, among those that are left, in order
// (see node_pairs.h); a node is the same when its operator and attributes are and its inputs are each other's partners,
// whatever they are called. Subgraphs of paired nodes and functions of one name are compared likewise.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/report/style.h"

namespace thaw::report {

// Something that is not the same: `what` is "type", "attribute axis", "input 1", "values", …; a side that has none is
// empty.
struct Difference {
  std::string what, a, b;
  std::string note;  // instead of the sides: "3 of 64 elements differ, by at most 0.25"
};

enum class Change : uint8_t { kAdded, kRemoved, kChanged };  // only in b, only in a, in both

struct DiffItem {
  std::string name;
  Change change = Change::kChanged;
  std::vector<Difference> differences;  // for kChanged: at least one
};

// Which part of the one model stands for which of the other; a part without partner is not in it. For who draws the
// two: the models must outlive it.
struct Partners {
  std::unordered_map<const ir::Graph*, const ir::Graph*> graphs;  // of b's, in a
  std::unordered_map<const ir::Node*, const ir::Node*> a_of_b, b_of_a;
  std::unordered_map<const ir::Value*, const ir::Value*> values;   // of a's, in b
  std::unordered_map<const ir::Node*, size_t> changed;             // of b: which of ModelDiff::nodes says what differs
  std::unordered_map<const ir::Value*, size_t> weights, inferred;  // the same, of those
};

struct ModelDiff {
  std::vector<Difference> header;         // IR version, opsets, producer, metadata, functions
  std::vector<DiffItem> inputs, outputs;  // of the model, by name, as declared; an order that differs is an item too
  std::vector<Difference> operators;      // counts that differ, by operator
  std::vector<DiffItem> nodes;
  std::vector<DiffItem> weights;
  std::vector<DiffItem> declared;                            // declared types of inner values
  std::vector<DiffItem> inferred;                            // dims as inferred, of all values
  std::vector<std::pair<std::string, std::string>> renamed;  // nodes and values that are each other's partners
  Partners partners;
  size_t paired_nodes = 0;
  bool values_compared = true;  // false: only the types of the weights were

  bool equal() const;
  // All that differs is what inner nodes and values are called.
  bool equal_but_for_names() const;
};

struct DiffOptions {
  bool weights = true;                                          // compare the values of weights; else only their types
  bool infer = true;                                            // compare inferred dims
  std::function<void(uint64_t done, uint64_t total)> progress;  // bytes of weights; may be empty
};

ModelDiff diff(const ir::Model& a, const ir::Model& b, const DiffOptions& options = {});

// "attribute axis: 1 -> 2", "values: 3 of 64 elements differ"; "Equal: 12 nodes." of all of it.
std::string describe(const Difference& difference);
std::string describe(const ModelDiff& diff);

// `most` items of each list are printed; the text says how many are left.
std::string diff_text(const ModelDiff& diff, std::string_view name_a, std::string_view name_b, const Style& style,
                      size_t most);
std::string diff_json(const ModelDiff& diff, std::string_view name_a, std::string_view name_b);

}  // namespace thaw::report
