// The graph: nodes in order, values with their uses, attributes that may hold subgraphs.
//
// A Graph owns its nodes and values; pointers stay valid until the graph dies or the item is removed. Values are
// resolved: a node's input is a pointer to the Value that it reads, which may belong to an enclosing graph (a
// subgraph's capture); an omitted optional input or output is null. Edit through Graph, which keeps uses in step.
//
// Costs: finding, adding, removing, renaming, replacing one use or one node is O(1) (amortized, plus the depth of
// nesting); replace_uses is O(uses). Nodes are a linked list: walking nodes() stays valid while the graph is edited. A
// walk goes on from the node it stands on, even if that node was removed, and sees nodes that were inserted after it.
// The lists of values (inputs, outputs, initializers, value_infos) are vectors: do not add to one while walking it.
//
// What Thaw does not model (doc strings, metadata, device configurations, unknown fields) is kept as wire bytes in
// `extra` and written back as it was: loading and saving loses nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "thaw/ir/data/tensor.h"
#include "thaw/ir/data/types.h"

namespace thaw::ir {

class Graph;
class Node;
class Transaction;
struct Model;

struct SparseTensor {
  Tensor values;  // its name is the initializer's name
  Tensor indices;
  std::vector<int64_t> dims;
  bool has_values = true, has_indices = true;  // false where the file has none
  std::string extra;
};

// One read of a value: `node` reads it as its input number `index`. The order of a value's uses means nothing.
struct Use {
  Node* node;
  int index;
};

// The uses of a value; nearly all values have one or none, which takes no memory of its own.
class UseList {
 public:
  UseList() = default;
  UseList(const UseList&) = delete;
  UseList& operator=(const UseList&) = delete;
  ~UseList() {
    if (capacity_ > 1) delete[] many_;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Use* begin() { return capacity_ > 1 ? many_ : &one_; }
  const Use* begin() const { return capacity_ > 1 ? many_ : &one_; }
  const Use* end() const { return begin() + size_; }
  Use& operator[](size_t i) { return begin()[i]; }
  const Use& back() const { return begin()[size_ - 1]; }
  void pop_back() { --size_; }
  void push_back(Use use) {
    if (size_ == capacity_) grow();
    begin()[size_++] = use;
  }

 private:
  void grow() {
    Use* more = new Use[capacity_ * size_t{4}];
    for (size_t i = 0; i < size_; ++i) more[i] = begin()[i];
    if (capacity_ > 1) delete[] many_;
    many_ = more;
    capacity_ *= 4;
  }

  uint32_t size_ = 0, capacity_ = 1;
  union {
    Use one_ = {};
    Use* many_;
  };
};

class Value {
 public:
  const std::string& name() const { return name_; }
  Graph* graph() const { return graph_; }

  Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  const Type& type = type_;  // as declared in the file (input, output or value_info); kind kNone when not declared
  std::string extra;         // wire bytes of the ValueInfoProto's other fields
  void set_type(Type type);
  void set_dim(size_t axis, DeclaredDim dim);  // of a type with a shape
  void forget_shape();                         // that of a sequence's items too

  Node* producer() const { return producer_; }            // null for inputs, initializers
  int producer_index() const { return producer_index_; }  // which output of the producer
  std::span<const Use> uses() const {
    return {uses_.begin(), uses_.size()};
  }  // in nodes of this graph and of its subgraphs

  bool is_input() const { return is_input_; }
  bool is_output() const { return output_count_ > 0; }  // of its own graph; a subgraph may return it too, see is_used
  bool is_used() const;                                 // read by a node, or an output of its graph or of a subgraph
  // The constant behind the value: its initializer, or the tensor of the Constant node that makes it; null if none.
  // An initializer that is also a graph input is a default; fixed_constant() tells whether it counts as a constant.
  const Tensor* constant() const;
  // The same, but null for what the caller feeds: an input of a subgraph, and a default where it varies.
  const Tensor* fixed_constant() const;
  Tensor* initializer() const { return initializer_; }
  const SparseTensor* sparse_initializer() const { return sparse_initializer_; }

 private:
  friend class Graph;
  friend class GraphReader;
  friend class GraphWriter;
  friend class Node;
  std::string name_;
  Type type_;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  int producer_index_ = 0;
  int output_count_ = 0;       // how often it stands among its graph's outputs
  int initializer_slot_ = -1;  // where it stands in the graph's list of initializers (dense or sparse)
  int value_info_slot_ = -1;
  bool is_input_ = false;
  int returned_count_ = 0;  // how often it stands among the outputs of subgraphs
  Tensor* initializer_ = nullptr;
  const SparseTensor* sparse_initializer_ = nullptr;
  UseList uses_;
};

struct Attribute {
  // Alternatives in the order of AttributeProto.AttributeType; monostate: undefined, or a reference inside a function.
  using Payload =
      std::variant<std::monostate, float, int64_t, std::string, std::shared_ptr<Tensor>, std::shared_ptr<Graph>,
                   std::vector<float>, std::vector<int64_t>, std::vector<std::string>,
                   std::vector<std::shared_ptr<Tensor>>, std::vector<std::shared_ptr<Graph>>,
                   std::shared_ptr<SparseTensor>, std::vector<std::shared_ptr<SparseTensor>>, Type, std::vector<Type>>;
  std::string name;
  Payload value;
  int32_t type = 0;  // AttributeType as written, also where `value` is a reference; 0: saved after `value`
  std::string ref_attr_name = {};  // inside functions: the function's attribute that this one takes its value from
  std::string extra = {};
  bool implicit = false;  // read without a value field: `value` is the default of `type` (proto3 writers leave out 0)
  bool untyped = false;   // read without a type field (models of IR version 1)

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
};

class Node {
 public:
  const std::string& op_type() const { return op_type_; }
  const std::string& domain() const { return domain_; }  // "" for ai.onnx (also where the file says "ai.onnx")
  const std::string& overload() const { return overload_; }
  std::string name;
  std::string extra;

  Graph* graph() const { return graph_; }
  std::span<Value* const> inputs() const { return inputs_; }
  std::span<Value* const> outputs() const { return outputs_; }
  Value* input(int i) const { return i < static_cast<int>(inputs_.size()) ? inputs_[i] : nullptr; }
  Value* output(int i) const { return i < static_cast<int>(outputs_.size()) ? outputs_[i] : nullptr; }

  std::span<const Attribute> attributes() const { return attributes_; }
  const Attribute* attribute(std::string_view name) const;  // null if not set
  int64_t attribute_int(std::string_view name, int64_t otherwise) const;
  float attribute_float(std::string_view name, float otherwise) const;
  std::string_view attribute_string(std::string_view name, std::string_view otherwise) const;
  std::span<const int64_t> attribute_ints(std::string_view name) const;  // empty if not set
  // The tensor of a Constant node, whichever attribute holds it; null for other nodes and for sparse values.
  const Tensor* constant() const { return constant_.get(); }
  // Replaces one of that name. A graph in it becomes a subgraph of this node (and is no longer one of another node).
  void set_attribute(Attribute attribute);
  void remove_attribute(std::string_view name);
  // The graphs that the attributes hold.
  std::vector<Graph*> subgraphs() const;

  void set_input(int i, Value* value);  // value may be null; grows the list when i is its size
  void set_inputs(std::span<Value* const> values);
  void set_op(std::string op_type, std::string domain);

  bool is_removed() const { return removed_; }  // from its graph: a pointer that was kept

  // "Reshape 'node_17'" or "Reshape -> 'out'" where the node has no name: for messages.
  std::string describe() const;

 private:
  friend class Graph;
  friend class GraphReader;
  friend class GraphWriter;
  friend class NodeRange;
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  void link(int i);    // notes the use of input i in its value
  void unlink(int i);  // and takes it back
  void put_inputs(std::span<Value* const> values);
  void update_constant();

  std::string op_type_, domain_, overload_;
  Graph* graph_ = nullptr;
  Node* previous_ = nullptr;
  Node* next_ = nullptr;
  uint32_t order_ = 0;     // scratch of sort_topologically
  uint64_t position_ = 0;  // grows along the graph's list of nodes
  bool removed_ = false;
  std::vector<Value*> inputs_, outputs_;
  std::vector<uint32_t> use_slots_;  // where the use of each input stands in its value's uses
  std::vector<Attribute> attributes_;
  std::shared_ptr<const Tensor> constant_;
};

// A graph's nodes in order, to walk over: a linked list. Edits never invalidate an iterator as long as the graph lives.
class NodeRange {
 public:
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Node*;
    using difference_type = std::ptrdiff_t;
    using pointer = Node* const*;
    using reference = Node*;

    iterator() = default;
    explicit iterator(Node* node) : node_(node) {}
    Node* operator*() const { return node_; }
    iterator& operator++() {
      do node_ = node_->next_;
      while (node_ && node_->removed_);
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const iterator&) const = default;

   private:
    Node* node_ = nullptr;
  };

  NodeRange(Node* first, Node* last, size_t size) : first_(first), last_(last), size_(size) {}
  iterator begin() const { return iterator(first_); }
  iterator end() const { return {}; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Node* front() const { return first_; }
  Node* back() const { return last_; }
  Node* operator[](size_t i) const;  // walks: O(i); for tests and small graphs

 private:
  friend class Node;
  Node* first_;
  Node* last_;
  size_t size_;
};

// GraphProto.quantization_annotation: which tensors hold the scale and zero point of another. Names, as in the file;
// Graph::rename follows them.
struct TensorAnnotation {
  std::string tensor_name;
  std::vector<std::pair<std::string, std::string>> parameters;  // "SCALE_TENSOR" -> name, …
  std::string wire;  // the bytes read, written back while the members agree with them
};

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  std::string extra;
  // Whether initializers that are inputs too are numbers that a caller may replace. Callers hardly ever do, so that they are
  // constants to all who ask, but where someone said so (rewrite/constant_weights.h). Of the main graph.
  bool defaults_vary = false;
  size_t num_nodes() const;                  // those of subgraphs included
  Graph* parent() const { return parent_; }  // the graph that encloses this subgraph; null at the top
  Node* parent_node() const { return parent_node_; }

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }             // one value may stand here twice
  NodeRange nodes() const { return {first_node_, last_node_, node_count_}; }  // in file order, which is topological
  Node* next(const Node* node) const { return node->next_; }                  // null after the last
  Node* previous(const Node* node) const { return node->previous_; }          // null before the first
  // A number that grows along nodes(), and stays with a node until the list is made anew around it.
  static uint64_t position_of(const Node* node) { return node->position_; }
  const std::vector<Value*>& initializers() const;
  const std::vector<Value*>& sparse_initializers() const;
  // Values declared in value_info, in file order. One whose name means nothing in this graph, or repeats a declaration
  // (value_info for a graph output), stands here as a Value of its own that find() does not know.
  const std::vector<Value*>& value_infos() const;
  std::vector<TensorAnnotation>& quantization_annotations() { return quantization_annotations_; }
  const std::vector<TensorAnnotation>& quantization_annotations() const { return quantization_annotations_; }

  // Subgraphs that return a value of this graph, as it is.
  std::vector<Graph*> returned_by(const Value* value) const;

  Value* find(std::string_view name) const;          // in this graph only
  Value* find_visible(std::string_view name) const;  // here or in an enclosing graph

  // Building and editing. Names must be new in this graph and not shadow an enclosing graph's (throws thaw::Error).
  Value* add_input(std::string name, Type type);
  void remove_input(Value* value);  // must be unused, unless it has an initializer, which stays
  void add_output(Value* value);
  void set_output(int i, Value* value);  // keeps the declared type where `value` has none
  void remove_output(int i);
  Value* add_value(std::string name);     // a value that no node makes yet
  Value* add_initializer(Tensor tensor);  // named tensor.name
  Value* add_sparse_initializer(SparseTensor tensor);
  void replace_initializer(Value* value, Tensor tensor);
  // Appends a node, or inserts it before `before`. Outputs must be values without producer.
  Node* add_node(std::string op_type, std::string domain, std::vector<Value*> inputs, std::vector<Value*> outputs,
                 std::string name = {}, Node* before = nullptr);
  void remove_node(Node* node);  // its outputs must be unused; they are removed with it
  // Takes output i off its node: the value has no producer until another node makes it.
  Value* release_output(Node* node, int i);
  void remove_value(Value* value);        // must be unused, not an input or output, made by no node
  void remove_initializer(Value* value);  // must be unused, unless it is an input, which stays
  // Every node input and graph output, subgraphs included. An output takes the name of `to`, and keeps its declared
  // type where `to` has none: rename `to` afterwards to keep the output's name.
  void replace_uses(Value* from, Value* to);
  void rename(Value* value, std::string name);
  void set_value_info(Value* value, Type type);  // declares it (adds to value_info unless input or output)
  void clear_value_info(Value* value);           // drops its declaration from value_info
  // Values of subgraphs that have the name of one around them get names of their own. ONNX allows such a name where nothing
  // inside reads what it hides, as of an output called as the node's; an edit could move either to where both are read.
  void tell_names_apart();
  std::string unique_name(std::string_view hint);  // hint, or hint_1, hint_2, … not taken here, above or below
  void sort_topologically();                       // stable; throws thaw::Error naming a node on a cycle

 private:
  friend class GraphReader;
  friend class GraphWriter;
  friend class Node;
  friend class Value;
  friend class Transaction;
  struct Storage;
  class Editor;  // the parts of editing, see graph_storage.h
  class Copier;
  friend void check_writable(const Graph& graph);
  friend std::shared_ptr<Graph> clone(const Graph& graph);
  friend std::unique_ptr<Model> clone(const Model& model);
  std::unique_ptr<Storage> storage_;
  Graph* parent_ = nullptr;
  Node* parent_node_ = nullptr;
  Node* first_node_ = nullptr;
  Node* last_node_ = nullptr;
  size_t node_count_ = 0;
  std::vector<Value*> inputs_, outputs_;
  std::vector<TensorAnnotation> quantization_annotations_;
};

}  // namespace thaw::ir
