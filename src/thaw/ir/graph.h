// The graph: nodes in order, values with their uses, attributes that may hold subgraphs.
//
// A Graph owns its nodes and values; pointers stay valid until the graph dies or the item is removed. Values are resolved:
// a node's input is a pointer to the Value that it reads, which may belong to an enclosing graph (a subgraph's capture);
// an omitted optional input or output is null. Edit through Graph, which keeps uses in step.
// What Thaw does not model (doc strings, metadata, device configurations, unknown fields) is kept as wire bytes in `extra`
// and written back as it was: loading and saving loses nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "thaw/ir/tensor.h"
#include "thaw/ir/types.h"

namespace thaw::ir {

class Graph;
class Node;

struct SparseTensor {
  Tensor values;   // its name is the initializer's name
  Tensor indices;
  std::vector<int64_t> dims;
};

// One read of a value: `node` reads it as its input number `index`.
struct Use {
  Node* node;
  int index;
};

class Value {
 public:
  const std::string& name() const { return name_; }
  Graph* graph() const { return graph_; }

  Type type;          // as declared in the file (input, output or value_info); kind kNone when not declared
  std::string extra;  // wire bytes of the ValueInfoProto's other fields

  Node* producer() const { return producer_; }            // null for inputs, initializers
  int producer_index() const { return producer_index_; }  // which output of the producer
  std::span<const Use> uses() const { return uses_; }     // in nodes of this graph and of its subgraphs

  bool is_input() const { return is_input_; }
  bool is_output() const { return is_output_; }
  // The constant behind the value: its initializer, or the tensor of the Constant node that makes it; null if none.
  // An initializer that is also a graph input is a default that the caller may replace: `is_input()` tells.
  const Tensor* constant() const;
  Tensor* initializer() const { return initializer_; }
  const SparseTensor* sparse_initializer() const { return sparse_initializer_; }

 private:
  friend class Graph;
  std::string name_;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  int producer_index_ = 0;
  bool is_input_ = false, is_output_ = false, in_value_info_ = false;
  Tensor* initializer_ = nullptr;
  const SparseTensor* sparse_initializer_ = nullptr;
  std::vector<Use> uses_;
};

struct Attribute {
  // Alternatives in the order of AttributeProto.AttributeType; monostate: undefined, or a reference inside a function.
  using Payload = std::variant<std::monostate, float, int64_t, std::string, std::shared_ptr<Tensor>, std::shared_ptr<Graph>,
                               std::vector<float>, std::vector<int64_t>, std::vector<std::string>,
                               std::vector<std::shared_ptr<Tensor>>, std::vector<std::shared_ptr<Graph>>,
                               std::shared_ptr<SparseTensor>, std::vector<std::shared_ptr<SparseTensor>>, Type,
                               std::vector<Type>>;
  std::string name;
  Payload value;
  int32_t type = 0;            // AttributeType as written, also where `value` is a reference
  std::string ref_attr_name;   // inside functions: the function's attribute that this one takes its value from
  std::string extra;

  template <typename T>
  const T* as() const { return std::get_if<T>(&value); }
};

class Node {
 public:
  const std::string& op_type() const { return op_type_; }
  const std::string& domain() const { return domain_; }      // "" for ai.onnx (also where the file says "ai.onnx")
  const std::string& overload() const { return overload_; }
  std::string name;
  std::string extra;

  Graph* graph() const { return graph_; }
  std::span<Value* const> inputs() const { return inputs_; }
  std::span<Value* const> outputs() const { return outputs_; }
  Value* input(int i) const { return i < static_cast<int>(inputs_.size()) ? inputs_[i] : nullptr; }
  Value* output(int i) const { return i < static_cast<int>(outputs_.size()) ? outputs_[i] : nullptr; }

  std::span<const Attribute> attributes() const { return attributes_; }
  const Attribute* attribute(std::string_view name) const;   // null if not set
  int64_t attribute_int(std::string_view name, int64_t otherwise) const;
  float attribute_float(std::string_view name, float otherwise) const;
  std::string_view attribute_string(std::string_view name, std::string_view otherwise) const;
  std::span<const int64_t> attribute_ints(std::string_view name) const;  // empty if not set
  void set_attribute(Attribute attribute);                   // replaces one of that name
  void remove_attribute(std::string_view name);

  void set_input(int i, Value* value);  // value may be null; grows the list when i is its size
  void set_inputs(std::span<Value* const> values);
  void set_op(std::string op_type, std::string domain);

  // "Reshape 'node_17'" or "Reshape -> 'out'" where the node has no name: for messages.
  std::string describe() const;

 private:
  friend class Graph;
  std::string op_type_, domain_, overload_;
  Graph* graph_ = nullptr;
  std::vector<Value*> inputs_, outputs_;
  std::vector<Attribute> attributes_;
};

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  std::string extra;
  Graph* parent() const { return parent_; }      // the graph that encloses this subgraph; null at the top
  Node* parent_node() const { return parent_node_; }

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }   // one value may stand here twice
  const std::vector<Node*>& nodes() const { return nodes_; }        // in file order, which is topological
  const std::vector<Value*>& initializers() const { return initializers_; }
  const std::vector<Value*>& sparse_initializers() const { return sparse_initializers_; }
  const std::vector<Value*>& value_infos() const { return value_infos_; }  // values declared in value_info, file order

  Value* find(std::string_view name) const;            // in this graph only
  Value* find_visible(std::string_view name) const;    // here or in an enclosing graph

  // Building and editing. Names must be new in this graph and not shadow an enclosing graph's (throws thaw::Error).
  Value* add_input(std::string name, Type type);
  void add_output(Value* value);
  void set_output(int i, Value* value);
  Value* add_value(std::string name);                  // a value that no node makes yet
  Value* add_initializer(Tensor tensor);               // named tensor.name
  Value* add_sparse_initializer(SparseTensor tensor);
  void replace_initializer(Value* value, Tensor tensor);
  // Appends a node, or inserts it before `before`. Outputs must be values without producer.
  Node* add_node(std::string op_type, std::string domain, std::vector<Value*> inputs, std::vector<Value*> outputs,
                 std::string name = {}, Node* before = nullptr);
  void remove_node(Node* node);                        // its outputs must be unused; they are removed with it
  void remove_value(Value* value);                     // must be unused, not an input or output
  void remove_initializer(Value* value);               // must be unused
  void replace_uses(Value* from, Value* to);           // every node input and graph output, subgraphs included
  void rename(Value* value, std::string name);
  void set_value_info(Value* value, Type type);        // declares it (adds to value_info unless input or output)
  void clear_value_info(Value* value);                 // drops its declaration from value_info
  std::string unique_name(std::string_view hint);      // hint, or hint_1, hint_2, … not taken here, above or below
  void sort_topologically();                           // stable; throws thaw::Error naming a node on a cycle

 private:
  friend class GraphReader;
  friend class GraphWriter;
  friend class Node;
  struct Storage;
  std::unique_ptr<Storage> storage_;
  Graph* parent_ = nullptr;
  Node* parent_node_ = nullptr;
  std::vector<Value*> inputs_, outputs_, initializers_, sparse_initializers_, value_infos_;
  std::vector<Node*> nodes_;
  std::unordered_map<std::string_view, Value*> by_name_;  // keys view Value::name_
};

}  // namespace thaw::ir
