#include "thaw/report/collect_graph.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/infer/cost.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/report/attribute_text.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/module_names.h"
#include "thaw/report/module_tree.h"
#include "thaw/report/printable.h"
#include "thaw/run/providers.h"

namespace thaw::report {
namespace {

constexpr size_t kDeepestModule = 24;
constexpr size_t kMostShownElements = 16;  // of a small tensor that is shown with them
constexpr size_t kLongestCost = 240;       // bytes of an expression
constexpr size_t kMostAssumed = 6;         // sizes that are listed by name
constexpr int kMostTerms = 512;            // of a sum over a module's nodes

// One of the models that the graph is made of.
class Side {
 public:
  explicit Side(const Inspection* seen) : seen_(seen) {
    if (seen_ == nullptr) return;
    seen_->scope->set_budget(std::max(seen_->scope->budget(), kMostTerms));
    assumed_ = infer::assumed_sizes(*seen_->scope);
  }

  const Inspection& seen() const { return *seen_; }
  const ir::Model& model() const { return *seen_->model; }
  const ops::Fact& fact(const ir::Value& value) const { return seen_->fact(value); }

  std::string dims(const ops::Fact& fact) { return fact.shape || fact.is_tensor() ? dims_.show(fact.shape) : ""; }

  // "[1, -1, 64*h]" for a small tensor of integers whose elements are known, "3" for one of them alone.
  std::string elements(const ops::Fact& fact) {
    const std::vector<dim::Dim> elements = integer_elements(fact);
    if (elements.empty() || elements.size() > kMostShownElements) return {};
    return fact.rank() == 0 ? dims_.show(elements.front()) : dims_.show(std::optional(elements));
  }

  // At the assumed sizes; -1 where that is not known.
  double number(dim::Dim d) {
    if (d.is_unknown()) return -1;
    if (const auto constant = d.constant()) return static_cast<double>(*constant);
    const auto [at, fresh] = numbers_.try_emplace(d.expr(), -1);
    if (const auto value = fresh ? dim::evaluate(d, assumed_) : std::nullopt; value && *value >= 0)
      at->second = static_cast<double>(*value);
    return at->second;
  }

  std::string cost(dim::Dim d) {
    if (!d.is_symbolic()) return {};
    const std::string& text = dims_.show(d);
    return text.size() > kLongestCost ? std::string() : text;
  }

  // "batch = 64, tokens = 64": the sizes of the costs.
  std::string assumed_text() const {
    std::vector<std::string> parts;
    const std::vector<dim::SymbolInfo>& symbols = seen_->scope->symbols();
    for (size_t id = 0; id < symbols.size(); ++id) {
      if (std::ranges::find(seen_->sizes, symbols[id].name, &Sizes::value_type::first) != seen_->sizes.end()) continue;
      if (parts.size() == kMostAssumed) {
        parts.emplace_back("…");
        break;
      }
      parts.push_back(fmt::format("{} = {}", symbols[id].name, assumed_.at(static_cast<int>(id))));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  }

 private:
  const Inspection* seen_;
  DimText dims_;
  dim::Assignment assumed_;
  std::unordered_map<const dim::Expr*, double> numbers_;
};

// What stands for a value that no node makes at run time.
struct Weight {
  double bytes = 0;
  std::string type, dims;
};

std::optional<Weight> weight_of(const ir::Value& value) {
  const auto text = [](const std::vector<int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); };
  if (const ir::Tensor* tensor = value.constant())
    return Weight{static_cast<double>(tensor->num_bytes()), std::string(ir::name_of(tensor->data_type)),
                  text(tensor->dims)};
  if (const ir::SparseTensor* sparse = value.sparse_initializer())
    return Weight{static_cast<double>(sparse->values.num_bytes() + sparse->indices.num_bytes()),
                  fmt::format("sparse {}", ir::name_of(sparse->values.data_type)), text(sparse->dims)};
  return std::nullopt;
}

class Collector {
 public:
  Collector(const GraphSource& source, const GraphDetail& detail)
      : source_(source), detail_(detail), now_(&source.seen), former_(source.former) {}

  GraphData collect() {
    note_findings();
    const ir::Model& model = now_.model();
    data_.title = model.path.empty() ? "model" : model.path.filename().string();
    begin_graph(*model.graph, Which::kNow, data_.title);
    while (!todo_.empty()) {
      const Todo next = todo_.front();
      todo_.pop_front();
      add_graph(next);
    }
    location_in_modules();
    data_.assumed = now_.assumed_text();
    if (left_out_ > 0)
      data_.limits.push_back(fmt::format("The last {} are left out, as the page would be too large with them.",
                                         counted(left_out_, "node")));
    if (!detail_.tensor_names)
      data_.limits.emplace_back("Names of tensors are left out, as the page would be too large with them.");
    if (!detail_.attributes)
      data_.limits.emplace_back(
          "Attributes, elements of small tensors and costs as expressions are left out, as the page would be too large "
          "with them.");
    return std::move(data_);
  }

 private:
  enum class Which : uint8_t { kNow, kFormer };

  struct Todo {
    const ir::Graph* graph;
    Which which;
    int at;  // in data_.graphs
  };

  Side& side(Which which) { return which == Which::kNow ? now_ : former_; }

  void note_findings() {
    for (const infer::Problem& problem : now_.seen().result.problems())
      problems_.emplace(problem.node, &problem.message);
    if (source_.placement != nullptr)
      for (const PlacedNode& node : source_.placement->nodes) providers_.emplace(node.name, node.provider);
    if (source_.frozen == nullptr) return;
    for (const Finding& finding : source_.frozen->findings)
      if (!finding.where.node.empty()) frozen_.emplace(finding.where.node, &finding);
  }

  // Its nodes come behind those that there are.
  int begin_graph(const ir::Graph& graph, Which which, std::string title) {
    const int at = static_cast<int>(data_.graphs.size());
    GraphData::Graph& begun = data_.graphs.emplace_back();
    begun.module = tree_.add_root();
    begun.title = std::move(title);
    todo_.push_back({&graph, which, at});
    return at;
  }

  void add_graph(const Todo& todo) {
    const auto ids_of = [&](const auto& values) {
      std::vector<int> ids;
      for (const ir::Value* value : values)
        if (!weight_of(*value)) ids.push_back(value_id(value, todo.which));
      return ids;
    };
    GraphData::Graph& graph = data_.graphs[static_cast<size_t>(todo.at)];
    graph.inputs = ids_of(todo.graph->inputs());
    graph.outputs = ids_of(todo.graph->outputs());
    const int root = graph.module;
    const std::unordered_map<const ir::Node*, std::vector<const ir::Node*>> gone = gone_from(todo);
    const auto add_gone = [&](const ir::Node* after) {
      const auto found = gone.find(after);
      if (found == gone.end()) return;
      for (const ir::Node* node : found->second) add_node(*node, Which::kFormer, root);
    };
    add_gone(nullptr);
    for (const ir::Node* node : todo.graph->nodes()) {
      add_node(*node, todo.which, root);
      add_gone(node);
    }
  }

  // Nodes of the graph's former self that have no partner in it, by the node that they stood behind.
  std::unordered_map<const ir::Node*, std::vector<const ir::Node*>> gone_from(const Todo& todo) const {
    std::unordered_map<const ir::Node*, std::vector<const ir::Node*>> gone;
    if (source_.diff == nullptr || todo.which == Which::kFormer) return gone;
    const DiffPairs& partners = *source_.diff->pairs;
    const auto former = partners.graphs.find(todo.graph);
    if (former == partners.graphs.end()) return gone;
    const ir::Node* behind = nullptr;
    for (const ir::Node* node : former->second->nodes()) {
      const auto partner = partners.b_of_a.find(node);
      if (partner == partners.b_of_a.end()) {
        gone[behind].push_back(node);
      } else {
        behind = partner->second;
      }
    }
    return gone;
  }

  // Of a value that has a partner in the later model, the partner's.
  int value_id(const ir::Value* value, Which which) {
    if (value == nullptr) return -1;
    if (which == Which::kFormer) {
      const auto partner = source_.diff->pairs->values.find(value);
      if (partner != source_.diff->pairs->values.end()) return value_id(partner->second, Which::kNow);
    }
    const auto [at, fresh] = ids_.try_emplace(value, static_cast<int>(data_.values.size()));
    if (fresh) data_.values.push_back(described(*value, which, at->second));
    return at->second;
  }

  GraphData::Value described(const ir::Value& value, Which which, int id) {
    GraphData::Value described;
    if (detail_.tensor_names || value.is_input() || value.is_output()) described.name = value.name();
    const ops::Fact& fact = side(which).fact(value);
    if (detail_.attributes) described.elements = data_.text(side(which).elements(fact));
    if (const std::optional<Weight> weight = weight_of(value)) {
      described.weight = weight->bytes;
      described.type = data_.text(weight->type);
      described.shape = data_.text(weight->dims);
      return described;
    }
    described.type = data_.text(type_text(fact));
    described.shape = data_.text(side(which).dims(fact));
    if (which == Which::kNow) mark_value(value, id);
    return described;
  }

  void mark_value(const ir::Value& value, int id) {
    if (source_.frozen != nullptr) {
      const auto meant = source_.frozen->meant.find(&value);
      if (meant != source_.frozen->meant.end())
        data_.marked_values.push_back({id, Mark::kFrozen, data_.text("meant to be " + meant->second)});
    }
    if (source_.diff == nullptr) return;
    const auto changed = source_.diff->pairs->inferred.find(&value);
    if (changed == source_.diff->pairs->inferred.end()) return;
    for (const Difference& difference : source_.diff->inferred_shapes[changed->second].differences)
      data_.marked_values.push_back({id, Mark::kChanged, data_.text(describe(difference))});
  }

  void add_node(const ir::Node& node, Which which, int root) {
    if (node.constant() != nullptr) {  // shown at who reads it
      if (which == Which::kNow) ++data_.constants;
      return;
    }
    if (data_.nodes.size() >= detail_.most_nodes) {
      ++left_out_;
      return;
    }
    const int id = static_cast<int>(data_.nodes.size());
    const std::string name = ir::location_of(node).node;
    GraphData::Node made;
    made.op = data_.text(ir::operator_name(node));
    name_operands(made.op, node, side(which).model());
    location(node, name, root, made);
    for (const ir::Value* input : node.inputs()) made.inputs.push_back(value_id(input, which));
    for (const ir::Value* output : node.outputs()) made.outputs.push_back(value_id(output, which));
    shorten_names(name, made.outputs);
    if (detail_.attributes) {
      for (const ir::Attribute& attribute : node.attributes())
        if (attribute.as<std::shared_ptr<ir::Graph>>() == nullptr)
          made.attributes.push_back(data_.text(fmt::format("{} = {}", attribute.name, attribute_text(attribute))));
    }
    add_cost(node, which, made);
    add_inner_graphs(node, which, made);
    mark_node(node, which, id, name);
    data_.nodes.push_back(std::move(made));
  }

  void location(const ir::Node& node, const std::string& name, int root, GraphData::Node& made) {
    const std::string noted = noted_module(node);
    made.is_whole = !noted.empty();
    std::vector<std::string_view> parts = name_parts(made.is_whole ? noted : name);
    if (!made.is_whole) parts.pop_back();  // the node's own
    parts.resize(std::min(parts.size(), kDeepestModule));
    made.module = root;
    size_t length = 0;
    for (const std::string_view part : parts) {
      made.module = tree_.inside(made.module, part);
      length += part.size();
    }
    made.name = made.is_whole ? name : name.substr(length);
    tree_.add_node(made.module);
  }

  // Exporters call an output after its node.
  void shorten_names(const std::string& node, const std::vector<int>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] < 0) continue;
      GraphData::Value& value = data_.values[static_cast<size_t>(outputs[i])];
      if (value.name == fmt::format("{}_output_{}", node, i)) {
        value.suffix = static_cast<int>(i);
        value.name.clear();
      }
    }
  }

  void name_operands(int op, const ir::Node& node, const ir::Model& model) {
    if (!seen_operators_.insert(op).second) return;
    const auto schema = ir::find_schema(node.domain(), node.op_type(), model.opset(node.domain()).value_or(0));
    if (schema && !schema->inputs.empty()) data_.operands.emplace_back(op, schema->inputs);
  }

  void add_cost(const ir::Node& node, Which which, GraphData::Node& made) {
    Side& of = side(which);
    const bool is_main = node.graph() == of.model().graph.get();
    const infer::Cost cost = is_main ? infer::cost_with_graphs(node, of.model(), of.seen().result)
                                     : infer::cost_of(node, of.model(), of.seen().result);
    made.flops = of.number(cost.flops);
    made.bytes = of.number(cost.bytes);
    if (detail_.attributes) {
      made.flops_text = data_.text(of.cost(cost.flops));
      made.bytes_text = data_.text(of.cost(cost.bytes));
    }
    costs_.push_back(which == Which::kNow ? cost : infer::Cost{});
  }

  void add_inner_graphs(const ir::Node& node, Which which, GraphData::Node& made) {
    for (const ir::Attribute& attribute : node.attributes()) {
      if (const auto* one = attribute.as<std::shared_ptr<ir::Graph>>(); one != nullptr && *one)
        made.graphs.push_back(begin_graph(**one, which, attribute.name));
      if (const auto* many = attribute.as<std::vector<std::shared_ptr<ir::Graph>>>())
        for (size_t i = 0; i < many->size(); ++i)
          if ((*many)[i])
            made.graphs.push_back(begin_graph(*(*many)[i], which, fmt::format("{}[{}]", attribute.name, i)));
    }
    const ir::Function* function = side(which).model().find_function(node.domain(), node.op_type(), node.overload());
    if (function == nullptr) return;
    const auto known = functions_.find(function);
    const int graph = known != functions_.end() ? known->second : begin_graph(*function->body, which, function->name);
    functions_.emplace(function, graph);
    data_.graphs[static_cast<size_t>(graph)].is_function = true;
    made.graphs.push_back(graph);
  }

  void mark_node(const ir::Node& node, Which which, int id, const std::string& name) {
    const auto mark = [&](Mark kind, std::string_view text) {
      data_.marked_nodes.push_back({id, kind, data_.text(text)});
    };
    if (which == Which::kFormer) return mark(Mark::kRemoved, "");
    const auto [first, last] = problems_.equal_range(&node);
    for (auto at = first; at != last; ++at) mark(Mark::kProblem, *at->second);
    if (const auto placed = providers_.find(node.name); !node.name.empty() && placed != providers_.end())
      mark(run::provider_word(placed->second) == run::kCpu ? Mark::kOnCpu : Mark::kOnProvider,
           run::short_provider(placed->second));
    const auto [begin, end] = frozen_.equal_range(name);
    for (auto at = begin; at != end; ++at)
      if (at->second->where.graph == ir::path_of(*node.graph()))
        mark(Mark::kFrozen, fmt::format("{} {}", at->second->code, at->second->message));
    if (source_.diff != nullptr) mark_change(node, id);
  }

  void mark_change(const ir::Node& node, int id) {
    const ModelDiff& diff = *source_.diff;
    const auto mark = [&](const Difference& difference, std::string_view of) {
      data_.marked_nodes.push_back({id, Mark::kChanged, data_.text(fmt::format("{}{}", of, describe(difference)))});
    };
    const auto partner = diff.pairs->a_of_b.find(&node);
    if (partner == diff.pairs->a_of_b.end()) {
      data_.marked_nodes.push_back({id, Mark::kAdded, 0});
      return;
    }
    if (const auto changed = diff.pairs->changed.find(&node); changed != diff.pairs->changed.end()) {
      for (const Difference& difference : diff.nodes[changed->second].differences) mark(difference, "");
      std::vector<int> inputs;
      for (const ir::Value* input : partner->second->inputs()) inputs.push_back(value_id(input, Which::kFormer));
      data_.former_inputs.emplace_back(id, std::move(inputs));
    }
    for (const ir::Value* input : node.inputs()) {
      const auto changed = diff.pairs->weights.find(input);
      if (changed == diff.pairs->weights.end()) continue;
      for (const Difference& difference : diff.weights[changed->second].differences)
        mark(difference, fmt::format("weight '{}', ", input->name()));
    }
  }

  // Nodes and graphs by the modules that are left of those that their names tell, and what these cost.
  void location_in_modules() {
    auto [modules, now] = tree_.merged();
    for (GraphData::Node& node : data_.nodes) node.module = now[static_cast<size_t>(node.module)];
    for (GraphData::Graph& graph : data_.graphs) graph.module = now[static_cast<size_t>(graph.module)];
    std::vector<infer::Cost> sums(modules.size(), {0, 0});
    const auto add = [&](int module, const infer::Cost& cost) {
      infer::Cost& sum = sums[static_cast<size_t>(module)];
      if (cost.flops.is_known()) sum.flops = sum.flops + cost.flops;
      if (cost.bytes.is_known()) sum.bytes = sum.bytes + cost.bytes;
    };
    for (size_t i = 0; i < data_.nodes.size(); ++i) add(data_.nodes[i].module, costs_[i]);
    for (size_t i = modules.size(); i-- > 0;) {  // parents stand before what is in them
      if (modules[i].parent >= 0) add(modules[i].parent, sums[i]);
      if (!detail_.attributes) continue;
      modules[i].flops = data_.text(now_.cost(sums[i].flops));
      modules[i].bytes = data_.text(now_.cost(sums[i].bytes));
    }
    data_.modules = std::move(modules);
  }

  const GraphSource& source_;
  const GraphDetail& detail_;
  Side now_, former_;
  GraphData data_;
  ModuleTree tree_;
  std::deque<Todo> todo_;
  std::unordered_map<const ir::Value*, int> ids_;
  std::unordered_map<const ir::Function*, int> functions_;  // their graphs
  std::unordered_set<int> seen_operators_;
  std::vector<infer::Cost> costs_;  // of the nodes
  std::unordered_multimap<const ir::Node*, const std::string*> problems_;
  std::unordered_multimap<std::string, const Finding*> frozen_;  // by the name of the node
  std::unordered_map<std::string, std::string> providers_;       // by the name of the node
  size_t left_out_ = 0;
};

}  // namespace

GraphData collect_graph(const GraphSource& source, const GraphDetail& detail) {
  return Collector(source, detail).collect();
}

std::string graph_json(const GraphSource& source, size_t most_bytes) {
  GraphDetail detail;
  for (;;) {
    const GraphData data = collect_graph(source, detail);
    std::string json = data.json();
    if (json.size() <= most_bytes || data.nodes.empty()) return json;
    if (detail.attributes) {
      detail.attributes = false;
    } else if (detail.tensor_names) {
      detail.tensor_names = false;
    } else {
      // As many as would fit if all were alike, and some less: most of the time the next is the last try.
      const double share = 0.9 * static_cast<double>(most_bytes) / static_cast<double>(json.size());
      detail.most_nodes = static_cast<size_t>(static_cast<double>(data.nodes.size()) * share);
    }
  }
}

}  // namespace thaw::report
