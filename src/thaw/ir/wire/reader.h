// The reader's parts. Internal to ir/.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "thaw/ir/data/external_data.h"
#include "thaw/ir/graph/graph.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ir/wire/type_wire.h"
#include "thaw/ir/wire/wire.h"

namespace thaw::ir {

// What reading one model shares.
struct ReadContext {
  // Keeps alive what tensors view: the file's bytes, and messages that stood in parts and were put together.
  struct Owner {
    std::shared_ptr<const void> bytes;
    std::deque<std::string> merged;
  };
  std::shared_ptr<Owner> owner;
  std::shared_ptr<ExternalFolder> folder;
  int depth = 0;                                     // of graphs
  std::map<std::string, std::string_view> repeated;  // names made more than once, and by what (Model::repeated)

  // Adds to what stood in parts, which protobuf reads as their concatenation. `concatenated` is null up to the second part;
  // it grows in place, so that many parts cost no more than their bytes.
  std::string_view join(std::string*& concatenated, std::string_view before, std::string_view part) {
    if (!concatenated) concatenated = &owner->merged.emplace_back(before);
    return concatenated->append(part);
  }
};

// A singular message field that may stand in several parts.
class MessagePart {
 public:
  void add(ReadContext& context, std::string_view bytes) {
    bytes_ = present_ ? context.join(concatenated_, bytes_, bytes) : bytes;
    present_ = true;
  }
  explicit operator bool() const { return present_; }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
  std::string* concatenated_ = nullptr;
  bool present_ = false;
};

// Reads an optional text field: its content, and the field among the kept ones when it is set though empty.
inline void read_text(const wire::Field& field, std::string& text, std::string& extra) {
  text = field.bytes;
  if (text.empty()) extra.append(field.whole);
}

class TensorReader {
 public:
  static Tensor read(ReadContext& context, std::string_view bytes) {
    Tensor tensor;
    read(context, bytes, tensor);
    return tensor;
  }
  static void read(ReadContext& context, std::string_view bytes, Tensor& tensor);
  static SparseTensor read_sparse(ReadContext& context, std::string_view bytes);
};

// A StringStringEntryProto. `plain`: writing key and value yields the same message again.
struct StringEntry {
  std::string_view key, value;
  bool plain = true;
};
StringEntry read_entry(std::string_view bytes);

class GraphReader {
 public:
  explicit GraphReader(ReadContext& context) : context_(context) {}

  // What the graph defines; the names that it reads are looked up by resolve(), once all enclosing graphs are read.
  void read_graph(std::string_view bytes, Graph& graph);
  void read_function(std::string_view bytes, Function& function);
  // Turns names into values, here and in the subgraphs, and sorts nodes that stand before what they read.
  void resolve();

 private:
  void read_node(std::string_view bytes);
  Attribute read_attribute(std::string_view bytes, Node* node);
  void read_payload(std::string_view bytes, int32_t type, Attribute& attribute, Node* node);
  std::shared_ptr<Graph> read_subgraph(std::string_view bytes, Node* node);
  void read_value_info(std::string_view bytes, std::string_view& name, Type& type, std::string& extra);
  void add_input(std::string_view bytes);
  void add_initializer(std::string_view bytes);
  void add_sparse_initializer(std::string_view bytes);
  void add_output(std::string_view name, Type type, std::string extra);
  void add_value_info(std::string_view bytes);
  Value* define(std::string_view name, const char* role);
  // Constants of the main graph under one name (repeated_constants.cc). True where the later takes the place of `made`.
  bool is_main() const { return !is_function_ && context_.depth == 1 && graph_->parent_node() == nullptr; }
  bool may_repeat(const Value* made) const;
  void repeat_constant(Node* node, Value* made);
  void become_default(Value* made, Node* node);
  void repeat_initializer(Value* made, Tensor* tensor);
  void note_repeated(const Value* made, const Tensor& before, const Tensor& now, std::string_view makers);
  Value* define_or_find(std::string_view name, const char* role);
  [[noreturn]] void name_is_taken(std::string_view name, const char* role) const;
  [[noreturn]] void fail(std::string what, std::string where, std::string expected = {}, std::string next = {}) const;

  ReadContext& context_;
  Graph* graph_ = nullptr;
  bool is_function_ = false;
  std::vector<std::string_view> input_names_;            // of all nodes, in order
  std::vector<std::string_view> outputs_, value_infos_;  // wire bytes; a function's outputs are names
  std::deque<GraphReader> subgraphs_;
  std::unordered_set<const Value*> default_of_node_;  // inputs whose default a Constant node made
};

void read_annotation(std::string_view bytes, TensorAnnotation& annotation);

// Domain "" for ai.onnx.
OpsetImport read_opset(std::string_view bytes);

}  // namespace thaw::ir
