// What a Graph keeps behind its interface. Internal to ir/.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thaw/core/listed_set.h"
#include "thaw/ir/graph/graph.h"
#include "thaw/ir/graph/name_table.h"
#include "thaw/ir/graph/pool.h"

namespace thaw::ir {

// A declaration of a value besides the one in Value::type: an output that is also an input, that stands twice, or that
// belongs to an enclosing graph; value_info for an output. Written as it was read while Value::type is what it was
// then.
struct Declaration {
  Type type;
  std::string extra;
  Value* main = nullptr;  // the value declared; null for value_info whose name means nothing
  Type main_type;         // its type when this was read
  bool unlinked = false;  // of an enclosing graph's value: its graph is not attached, so the value doesn't know of it
  bool holds() const { return main == nullptr || main->type == main_type; }
};

// A list of values with O(1) removal: removed positions are null until the list is asked for.
class ValueList {
 public:
  explicit ValueList(int Value::* slot) : slot_(slot) {}
  void add(Value* value) {
    value->*slot_ = static_cast<int>(items_.size());
    items_.push_back(value);
  }
  void remove(Value* value) {
    items_[static_cast<size_t>(value->*slot_)] = nullptr;
    value->*slot_ = -1;
    has_gaps_ = true;
  }
  const std::vector<Value*>& items() {
    if (has_gaps_) {
      std::erase(items_, nullptr);
      for (size_t i = 0; i < items_.size(); ++i) items_[i]->*slot_ = static_cast<int>(i);
      has_gaps_ = false;
    }
    return items_;
  }

 private:
  std::vector<Value*> items_;
  int Value::* slot_;
  bool has_gaps_ = false;
};

// Every name in a tree of graphs, for unique_name. Names that have gone stay taken.
struct NameRegistry {
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, uint64_t> next_suffix;
};

struct Graph::Storage {
  // Values die after the nodes, whose subgraphs take their uses off them when they go.
  Pool<Value> values;
  Pool<Tensor> tensors;
  Pool<SparseTensor> sparse_tensors;
  NameTable names;
  ValueList initializers{&Value::initializer_slot_};
  ValueList sparse_initializers{&Value::initializer_slot_};
  ValueList value_infos{&Value::value_info_slot_};
  std::vector<std::unique_ptr<Declaration>> output_declarations;  // by output; null: Value::type is the declaration
  std::unordered_map<const Value*, Declaration> shadows;  // by the Value in value_infos that find() doesn't know
  std::unordered_map<const Value*, std::vector<Value*>> shadows_of;
  std::unordered_map<const Value*, std::vector<Graph*>> returned_by;  // subgraphs with the value among their outputs
  ListedSet<Node*> with_subgraphs;
  std::unique_ptr<NameRegistry> registry;  // at the root of the tree, from the first unique_name on
  int64_t foreign_links = 0;               // node inputs that read values of enclosing graphs
  Transaction* transaction = nullptr;      // at the root: what records edits
  Pool<Node> nodes;
};

// The parts that editing is made of. None checks names.
class Graph::Editor {
 public:
  static Value* make_value(Graph& graph, std::string name);  // not in the name table
  static Node* make_node(Graph& graph, Node* before);        // in the list; null: at the end
  static void take_out(Graph& graph, Node* node);            // of the list only
  static void put_in(Graph& graph, Node* node, Node* before);
  static void number_nodes(Graph& graph);
  static void drop_value(Graph& graph, Value* value);  // names, lists, memory

  // What records the edits of the tree that the graph is in; null: nothing does.
  static Transaction* transaction(const Graph& graph);
  // Frees what an edit took out, once nothing can bring it back.
  static void retire(Graph& graph, Value* value);
  static void retire(Graph& graph, Tensor* tensor);

  static void mark_output(Graph& graph, Value* value);
  static void unmark_output(Graph& graph, Value* value);
  static void set_name(Graph& graph, Value* value, std::string to);
  static void set_order(Graph& graph, const std::vector<Node*>& nodes);
  static void note_name(Graph& graph, const std::string& name);  // in the tree's registry, if there is one

  // A graph of an attribute begins or stops being a subgraph of `node`.
  static void attach(Node* node, Graph& graph);
  static void detach(Node* node, Graph& graph);
  static void attach(Node* node, const Attribute& attribute);
  static void detach(Node* node, const Attribute& attribute);

  // The node of `graph` that holds `node`, in whatever depth of subgraphs; null if none does.
  static Node* ancestor_in(const Graph& graph, Node* node);
  static const Node* first_out_of_order(const Graph& graph);  // a node that stands before what it reads; null: none
  static std::string cycle_text(const Node* node, const std::vector<Node*>& before);
  static bool is_within(const Graph* graph, const Graph& outer);

  [[noreturn]] static void refuse(const std::string& what, const std::string& where, const std::string& next = {});

 private:
  static void unlink_foreign(Graph& graph, const Graph& root);
  static void link_foreign(Graph& graph);
  static void collect_names(const Graph& graph, NameRegistry& registry);
  friend class Graph;
};

// Visits the graphs that an attribute holds.
template <typename Visit>
void for_each_graph(const Attribute& attribute, Visit&& visit) {
  if (const auto* one = attribute.as<std::shared_ptr<Graph>>()) {
    if (*one) visit(**one);
  } else if (const auto* many = attribute.as<std::vector<std::shared_ptr<Graph>>>()) {
    for (const auto& graph : *many) {
      if (graph) visit(*graph);
    }
  }
}

}  // namespace thaw::ir
