// Edits that are kept whole or not at all.
//
//   Transaction edit(model);
//   …                       // any edits through Graph and Node, subgraphs included; one may throw
//   edit.keep();            // else all of them are taken back
//
// Undoing costs what the edits cost. What is taken back is as it was, but for the order of initializers and of
// value_info that had been removed. Transactions nest: one inside another, kept, is part of the outer one. Not recorded:
// Graph::name, Node::name, `extra`, and what a tensor's bytes are.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::ir {

class Transaction {
 public:
  explicit Transaction(Model& model);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  void keep();  // ends it
  void undo();  // ends it too

  // Nodes of the main graph that were made, or that read, compute or return something else now, each once; a node of a
  // subgraph stands for the one of the main graph that holds it. Nodes that were removed stand here too.
  std::vector<const Node*> touched() const;
  // Values whose declared type changed.
  const std::vector<const Value*>& declared() const { return declared_; }

 private:
  friend class Graph;
  friend class Node;
  friend class Value;
  void record(std::function<void()> undo) { undo_.push_back(std::move(undo)); }
  void touch(const Node* node) { touched_.push_back(node); }
  void end();

  Model& model_;
  Graph& root_;
  Transaction* outer_ = nullptr;
  bool ended_ = false;
  std::vector<OpsetImport> opset_imports_;
  std::vector<std::function<void()>> undo_;
  std::vector<const Node*> touched_;
  std::vector<const Value*> declared_;
  std::vector<std::function<void()>> release_;  // what is freed once nothing can bring it back
};

}  // namespace thaw::ir
