// Constants of the main graph that stand under one name, as optimizers leave them: ONNX Runtime lets them pass where
// they have one type and shape. It makes an initializer of every Constant node and keeps the last of a name, those of
// nodes after the file's own; where an input has the name, that is its default.
#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/wire/reader.h"

namespace thaw::ir {
namespace {

std::string text_of(const Tensor& tensor) {
  std::string dims;
  for (const int64_t size : tensor.dims) dims += fmt::format("{}{}", dims.empty() ? "" : ", ", size);
  return fmt::format("{}[{}]", name_of(tensor.data_type), dims);
}

}  // namespace

bool GraphReader::may_repeat(const Value* made) const {
  return is_main() && made->producer_ != nullptr && made->producer_->constant() != nullptr;
}

void GraphReader::note_repeated(const Value* made, const Tensor& before, const Tensor& now, std::string_view makers) {
  if (before.data_type != now.data_type || before.dims != now.dims) {
    fail(fmt::format("the name '{}' is that of two constants, {} and {}", made->name_, text_of(before), text_of(now)),
         {}, "each value made once, or constants of one type and shape", "export the model again");
  }
  context_.repeated.try_emplace(made->name_, makers);
}

// `node` was read, and would make again what stands there. The node that is there already takes what this one holds, so
// that nothing that reads it stands before it.
void GraphReader::repeat_constant(Node* node, Value* made) {
  const bool is_constant = node->constant() != nullptr && node->inputs_.empty() && node->outputs_.size() == 1;
  if (!is_constant || !is_main()) name_is_taken(made->name_, "a node's output");
  if (made->is_input_) return become_default(made, node);
  Node* first = made->producer_;
  note_repeated(made, *first->constant(), *node->constant(), "Constant nodes");
  first->name = node->name;
  first->extra = node->extra;
  first->attributes_ = node->attributes_;
  first->update_constant();
  node->outputs_.clear();
  graph_->remove_node(node);
}

// What a Constant node makes is the default of an input instead.
void GraphReader::become_default(Value* made, Node* node) {
  if (made->initializer_) note_repeated(made, *made->initializer_, *node->constant(), "Constant nodes and an input");
  context_.repeated.try_emplace(made->name_, "a Constant node and an input");
  if (!made->initializer_) {
    made->initializer_ = graph_->storage_->tensors.make();
    graph_->storage_->initializers.add(made);
  }
  *made->initializer_ = *node->constant();
  made->initializer_->name = made->name_;
  made->producer_index_ = 0;
  default_of_node_.insert(made);
  node->outputs_.clear();
  graph_->remove_node(node);
}

// An initializer whose name another constant has.
void GraphReader::repeat_initializer(Value* made, Tensor* tensor) {
  if (!is_main() || made->sparse_initializer_ || (made->producer_ && !may_repeat(made)))
    name_is_taken(tensor->name, "an initializer");
  const bool keeps = made->producer_ != nullptr || default_of_node_.contains(made);
  note_repeated(made, made->producer_ ? *made->producer_->constant() : *made->initializer_, *tensor,
                keeps ? "a Constant node and an initializer" : "initializers");
  if (!keeps) *made->initializer_ = std::move(*tensor);
}

}  // namespace thaw::ir
