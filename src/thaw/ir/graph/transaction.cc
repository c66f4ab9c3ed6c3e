#include "thaw/ir/graph/transaction.h"

#include <algorithm>
#include <unordered_set>

#include "thaw/ir/graph/graph_storage.h"

namespace thaw::ir {

Transaction::Transaction(Model& model)
    : model_(model), root_(*model.graph), outer_(root_.storage_->transaction), opset_imports_(model.opset_imports) {
  root_.storage_->transaction = this;
}

Transaction::~Transaction() {
  if (!ended_) undo();
}

void Transaction::end() {
  ended_ = true;
  root_.storage_->transaction = outer_;
}

void Transaction::keep() {
  end();
  if (!outer_) {
    for (const auto& release : release_) release();
    return;
  }
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(outer_->undo_, undo_);
  append(outer_->touched_, touched_);
  append(outer_->declared_, declared_);
  append(outer_->release_, release_);
}

void Transaction::undo() {
  root_.storage_->transaction = nullptr;  // undoing is no edit
  for (auto it = undo_.rbegin(); it != undo_.rend(); ++it) (*it)();
  model_.opset_imports = opset_imports_;
  end();
}

std::vector<const Node*> Transaction::touched() const {
  std::vector<const Node*> nodes;
  std::unordered_set<const Node*> seen;
  for (const Node* node : touched_) {
    while (node && node->graph() != &root_) node = node->graph()->parent_node();
    if (node && seen.insert(node).second) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace thaw::ir
