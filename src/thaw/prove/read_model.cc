#include "thaw/prove/read_model.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>

#include "thaw/dim/expr/expr.h"
#include "thaw/ir/graph/key_parts.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::proving {

using dim::Dim;
using ir::append_list, ir::append_raw, ir::append_text;
using ops::Fact, ops::Shape;

namespace {

constexpr int64_t kMostInputValues = 128;  // as inference names elements of integer inputs

// Operators of ai.onnx that compute each element of operands that broadcast from nothing else.
const std::unordered_set<std::string_view> kOfEachElement = {
    "Abs",         "Acos",      "Acosh", "Add",        "And",        "Asin",
    "Asinh",       "Atan",      "Atanh", "BitwiseAnd", "BitwiseNot", "BitwiseOr",
    "BitwiseXor",  "Ceil",      "Cos",   "Cosh",       "Div",        "Elu",
    "Equal",       "Erf",       "Exp",   "Floor",      "Greater",    "GreaterOrEqual",
    "HardSigmoid", "HardSwish", "IsInf", "IsNaN",      "LeakyRelu",  "Less",
    "LessOrEqual", "Log",       "Max",   "Min",        "Mod",        "Mul",
    "Neg",         "Not",       "Or",    "PRelu",      "Pow",        "Round",
    "Selu",        "Sigmoid",   "Sign",  "Sin",        "Sinh",       "Softplus",
    "Softsign",    "Sqrt",      "Sub",   "Tan",        "Tanh",       "ThresholdedRelu",
    "Where",       "Xor"};

// What is computed of large constants too. Of all others laws move and multiply the numbers where they lie, as those of weights.
constexpr int64_t kMostOfWeights = int64_t{1} << 16;  // elements
const std::unordered_set<std::string_view> kOfTables = {
    "Gather", "GatherElements", "GatherND", "Pad", "Resize", "ScatterElements", "ScatterND", "Tile", "Trilu", "Where"};

// Operands of ai.onnx that are 0 where they are left out.
const std::map<std::string_view, std::vector<size_t>> kZeroIfLeftOut = {
    {"LSTM", {3, 5, 6, 7}}, {"GRU", {3, 5}}, {"RNN", {3, 5}}};

// Types whose elements inference follows as expressions of the sizes.
bool is_counted(ir::DataType type) { return ir::is_integer(type) || type == ir::DataType::kBool; }

void add_read(const ir::Graph& of, const ir::Graph& inner, std::vector<const ir::Value*>& values) {
  const auto add = [&](const ir::Value* value) {
    if (value && value->graph() == &of) values.push_back(value);
  };
  for (const ir::Node* node : inner.nodes()) {
    for (const ir::Value* value : node->inputs()) add(value);
    for (const ir::Graph* graph : node->subgraphs()) add_read(of, *graph, values);
  }
  for (const ir::Value* value : inner.outputs()) add(value);
}

}  // namespace

bool is_of_each_element(std::string_view op) { return kOfEachElement.contains(op); }

std::vector<const ir::Value*> read_by(const ir::Node& node) {
  std::vector<const ir::Value*> values;
  for (const ir::Value* value : node.inputs())
    if (value) values.push_back(value);
  for (const ir::Graph* graph : node.subgraphs()) add_read(*node.graph(), *graph, values);
  return values;
}

std::vector<TermId> ModelReader::read() {
  for (const ir::Value* input : model_.graph->inputs())
    if (!input->fixed_constant()) set(input, read_value(*input));
  read_graph(*model_.graph);
  std::vector<TermId> outputs;
  for (const ir::Value* output : model_.graph->outputs()) outputs.push_back(term_of(output));
  terms_.reading(nullptr, number_);
  return outputs;
}

TermId ModelReader::read_from(std::span<const std::pair<const ir::Value*, TermId>> given, const ir::Value* value) {
  for (const auto& [known, term] : given) {
    set(known, term);
    learn_sizes(term, facts_.fact(known));
  }
  std::vector<const ir::Node*> nodes;
  std::vector<const ir::Value*> left{value};
  std::unordered_set<const ir::Node*> seen;
  while (!left.empty()) {
    const ir::Value* next = left.back();
    left.pop_back();
    const ir::Node* node = next->producer();
    if (term_of_.contains(next)) reached_.insert(next);
    if (!node || node->constant() || term_of_.contains(next) || seen.contains(node)) continue;
    if (const auto known = sizes_of(fact_of(next)); known && next != value) {
      set(next, *known);
      continue;
    }
    seen.insert(node);
    nodes.push_back(node);
    for (const ir::Value* operand : read_by(*node)) left.push_back(operand);
  }
  std::ranges::sort(nodes, {}, [](const ir::Node* node) { return ir::Graph::position_of(node); });
  for (const ir::Node* node : nodes) read_next(*node);
  nodes_read_ = std::move(nodes);
  terms_.reading(nullptr, number_);
  return term_of(value);
}

void ModelReader::read_graph(const ir::Graph& graph) {
  for (const ir::Node* node : graph.nodes()) read_next(*node);
}

void ModelReader::read_next(const ir::Node& node) {
  if (!model_.budget->spend(1)) model_.budget->require(node.describe());
  terms_.reading(&node, number_);
  read_node(node);
}

void ModelReader::set(const ir::Value* value, TermId term) {
  if (value) term_of_[value] = term;
}

TermId ModelReader::term_of(const ir::Value* value) {
  if (!value) return kNoTerm;
  const auto found = term_of_.find(value);
  if (found != term_of_.end()) return found->second;
  const TermId made = read_value(*value);
  set(value, made);
  return made;
}

// An input, or a constant.
TermId ModelReader::read_value(const ir::Value& value) {
  const Fact fact = fact_of(&value);
  if (const ir::Tensor* tensor = value.fixed_constant()) {
    if (is_counted(tensor->data_type))
      if (const auto elements = ops::small_elements(*tensor)) {
        Fact counted = fact;
        counted.elements = elements;
        if (const auto known = sizes_of(counted)) return *known;
      }
    return algebra_.constants.read(*tensor);
  }
  Term term;
  term.kind = Term::Kind::kInput;
  term.op = value.name();
  term.dtype = fact.dtype;
  term.shape = fact.shape;
  if (value.sparse_initializer() || !value.is_input() || value.graph() != model_.graph.get())
    return terms_.add_unique(std::move(term));
  // Elements of small integer inputs are symbols wherever they are read.
  const auto dims = constant_dims(fact.shape);
  if (dims && is_counted(fact.dtype) && fact.dtype != ir::DataType::kBool) {
    int64_t count = 1;
    for (const int64_t d : *dims) count = std::min(count * d, kMostInputValues + 1);
    if (count <= kMostInputValues) {
      std::vector<Dim> elements;
      for (int64_t i = 0; i < count; ++i) elements.push_back(terms_.scope().input_value(value.name(), i));
      return algebra_.constants.sizes(fact.dtype, *dims, std::move(elements));
    }
  }
  return terms_.add(std::move(term));
}

Dim ModelReader::renamed(Dim d) const {
  return learned_.empty() || !dim::is_data_dependent(d) ? d : dim::substitute(d, learned_);
}

Fact ModelReader::fact_of(const ir::Value* value) {
  Fact fact = facts_.fact(value);
  if (learned_.empty()) return fact;
  if (fact.shape)
    for (Dim& d : *fact.shape) d = renamed(d);
  return fact;
}

// The tensor was met before, in this model or the first one: so were its sizes.
void ModelReader::learn_sizes(TermId term, const Fact& fact) {
  const auto& known = terms_[term].shape;
  if (terms_.is_inside() || !known || !fact.shape || known->size() != fact.shape->size()) return;
  for (size_t i = 0; i < known->size(); ++i) {
    const Dim now = renamed((*fact.shape)[i]);
    if (!dim::is_data_dependent(now) || (*known)[i].is_unknown() || dim::same(now, (*known)[i])) continue;
    const int symbol = terms_.scope().symbol_id(now);
    if (symbol < 0) continue;
    // No size is said by itself.
    const auto of = dim::symbols_of((*known)[i]);
    if (std::ranges::find(of, symbol) == of.end()) learned_.emplace(symbol, (*known)[i]);
  }
}

std::optional<TermId> ModelReader::sizes_of(const ir::Value* value) {
  if (value->producer() && !value->fixed_constant()) return sizes_of(fact_of(value));
  const ir::Tensor* tensor = value->fixed_constant();
  if (!tensor || !is_counted(tensor->data_type) || !ops::small_elements(*tensor)) return std::nullopt;
  const TermId term = term_of(value);
  return terms_[term].kind == Term::Kind::kSizes ? std::optional(term) : std::nullopt;
}

std::optional<TermId> ModelReader::sizes_of(const Fact& fact) {
  const auto dims = constant_dims(fact.shape);
  if (!fact.elements || !dims || !is_counted(fact.dtype)) return std::nullopt;
  std::vector<Dim> elements;
  for (const ops::Element& element : *fact.elements) {
    const Dim d = renamed(element.as_dim());
    if (d.is_unknown()) return std::nullopt;
    elements.push_back(d);
  }
  return algebra_.constants.sizes(fact.dtype, *dims, std::move(elements));
}

void ModelReader::read_node(const ir::Node& node) {
  if (node.constant()) return;  // read where it is used
  NodeToRead read{
      .node = node, .opset = model_.opset(node.domain()).value_or(1), .operands = {}, .results = {}, .is_new_size = {}};
  for (const ir::Value* input : node.inputs()) read.operands.push_back(term_of(input));
  while (!read.operands.empty() && read.operands.back() == kNoTerm) read.operands.pop_back();
  for (const ir::Value* output : node.outputs()) {
    read.results.push_back(fact_of(output));
    read.is_new_size.push_back(!output || facts_.has_new_size(output));
  }
  if (read_control(read)) return;
  Results results;
  const ops::Operator* op = ops::registry().find(node);
  if (op && node.overload().empty() && !model_.find_function(node.domain(), node.op_type(), node.overload())) {
    results = evaluate(read);
    if (results.empty() && is_uncertain(read)) {
      as_its_own(read);
      return;
    }
    if (results.empty()) results = by_law(algebra_, read);
    if (results.empty()) results = by_definition(algebra_, read);
    if (!fits(read, results)) results.clear();
  }
  std::optional<std::string> settings;
  if (!model_.find_function(node.domain(), node.op_type(), node.overload())) settings = settings_of(read);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const ir::Value* output = node.outputs()[i];
    if (!output) continue;
    TermId made = kNoTerm;
    if (settings || !results.empty())
      if (const auto known = sizes_of(read.results[i])) made = *known;
    if (made == kNoTerm) made = i < results.size() ? results[i] : as_it_is(read, static_cast<int>(i), settings);
    set(output, made);
    learn_sizes(made, facts_.fact(output));
  }
}

// A constant of the model, or what was computed of such.
const KnownTensor* ModelReader::known(const ir::Value* value) {
  const auto found = known_.find(value);
  if (found != known_.end()) return found->second ? &*found->second : nullptr;
  std::optional<KnownTensor> made;
  const ir::Tensor* tensor = value->fixed_constant();
  const auto term = term_of_.find(value);
  if (tensor && tensor->num_elements() <= std::min(left_to_evaluate_, kMostEvaluated)) {
    made = known_tensor(*tensor);
  } else if (!tensor && term != term_of_.end()) {
    made = known_tensor(terms_[term->second]);
  }
  if (made) left_to_evaluate_ -= std::ssize(made->elements);
  auto& kept = known_.emplace(value, std::move(made)).first->second;
  return kept ? &*kept : nullptr;
}

// Results of a node all of whose operands are known; empty where they are not, or some are open.
ModelReader::Results ModelReader::evaluate(const NodeToRead& read) {
  const auto may_be_known = [&](const ir::Value* value) {
    if (!value || value->fixed_constant()) return true;
    if (const auto found = known_.find(value); found != known_.end()) return found->second.has_value();
    const auto term = term_of_.find(value);
    return term != term_of_.end() && terms_[term->second].kind == Term::Kind::kSizes;
  };
  if (left_to_evaluate_ <= 0 || !std::ranges::all_of(read.node.inputs(), may_be_known)) return {};
  NodeOfConstants of{.node = read.node, .opset = read.opset, .operands = {}, .result_dims = {}};
  for (size_t i = 0; i < read.operands.size(); ++i) {
    const ir::Value* value = read.node.inputs()[i];
    const ir::Tensor* tensor = value ? value->fixed_constant() : nullptr;
    if (tensor && tensor->num_elements() > kMostOfWeights && !kOfTables.contains(read.node.op_type())) return {};
    of.operands.push_back(value ? known(value) : nullptr);
    if (value && !of.operands.back()) return {};
  }
  for (const Fact& fact : read.results) of.result_dims.push_back(constant_dims(fact.shape));
  std::vector<KnownTensor> made = evaluated(of);
  Results results;
  for (size_t i = 0; i < made.size(); ++i) {
    const ir::Value* output = i < read.node.outputs().size() ? read.node.outputs()[i] : nullptr;
    if (!output) return {};
    const auto term = written(algebra_, made[i]);
    left_to_evaluate_ -= std::ssize(made[i].elements);
    known_.insert_or_assign(output, std::move(made[i]));
    if (term) results.push_back(*term);
  }
  if (results.size() < made.size()) results.clear();
  return results;
}

// Whether it takes constants to the next integer, and rounding may take one of them to another: constants of two models that are taken for
// each other do not give the same there.
bool ModelReader::is_uncertain(const NodeToRead& read) const {
  static const std::unordered_set<std::string_view> kSteps = {"Floor", "Ceil", "Round", "Sign", "Mod"};
  if (!read.node.domain().empty() || !kSteps.contains(read.node.op_type())) return false;
  const auto found = known_.find(read.node.output(0));
  return found != known_.end() && found->second && found->second->is_open();
}

void ModelReader::as_its_own(const NodeToRead& read) {
  for (size_t i = 0; i < read.results.size(); ++i)
    set(read.node.output(static_cast<int>(i)), as_it_is(read, static_cast<int>(i), std::nullopt));
}

// Whether what a law says has the rank and the type that inference finds: else one of them is wrong.
bool ModelReader::fits(const NodeToRead& read, const Results& results) const {
  for (size_t i = 0; i < results.size() && i < read.results.size(); ++i) {
    if (results[i] == kNoTerm || !read.wants(static_cast<int>(i))) continue;
    const Term& made = terms_[results[i]];
    const Fact& fact = read.results[i];
    if (fact.dtype != ir::DataType::kUndefined && made.dtype != fact.dtype) return false;
    if (!fact.shape || !made.shape) continue;
    if (fact.shape->size() != made.shape->size()) return false;
    for (size_t k = 0; k < made.shape->size(); ++k) {
      const auto a = (*made.shape)[k].constant(), b = (*fact.shape)[k].constant();
      if (a && b && *a != *b) return false;
    }
  }
  return true;
}

TermId ModelReader::as_it_is(const NodeToRead& read, int output, const std::optional<std::string>& settings) {
  const Fact& fact = read.results[static_cast<size_t>(output)];
  Term term;
  term.op = "node " + read.node.op_type();  // no law may take it for what it writes under that name
  term.dtype = fact.dtype;
  term.shape = fact.shape;
  if (!settings) return terms_.add_unique(std::move(term));
  term.settings = *settings;
  append_raw(term.settings, output);
  term.arguments = read.operands;
  const ops::Operator* op = ops::registry().find(read.node);
  if (const auto zeros = kZeroIfLeftOut.find(read.node.op_type());
      zeros != kZeroIfLeftOut.end() && read.node.domain().empty()) {
    for (const size_t i : zeros->second)
      if (read.has(i) && algebra_.arithmetic.number_of(read.operands[i]) == 0) term.arguments[i] = kNoTerm;
    while (!term.arguments.empty() && term.arguments.back() == kNoTerm) term.arguments.pop_back();
  }
  // Floating-point numbers that sizes are made of count to the last bit.
  for (size_t i = 0; i < read.operands.size(); ++i) {
    if (ops::role_of(read.node, static_cast<int>(i)) != ops::Role::kScales) continue;
    const ir::Value* value = read.node.input(static_cast<int>(i));
    if (!value || !value->fixed_constant()) continue;
    for (const double scale : value->fixed_constant()->to_double()) append_raw(term.settings, scale);
  }
  if (op && op->commutes && term.arguments.size() == 2 && output == 0) std::ranges::sort(term.arguments);
  const bool is_each = read.node.domain().empty() && kOfEachElement.contains(read.node.op_type()) && read.opset >= 7 &&
                       std::ranges::find(term.arguments, kNoTerm) == term.arguments.end() && !term.arguments.empty();
  if (is_each) {
    const auto made = algebra_.elementwise(term.arguments, [&](const std::vector<TermId>& operands) {
      if (operands.size() == 1)
        if (const auto numbers = algebra_.evaluated(read.node.op_type(), operands[0])) return *numbers;
      Term each = term;
      each.arguments = operands;
      if (op->commutes && operands.size() == 2) std::ranges::sort(each.arguments);
      each.shape = Shape{};
      for (const TermId id : operands)
        each.shape = each.shape && terms_[id].shape ? broadcast_shapes(*each.shape, *terms_[id].shape) : std::nullopt;
      return terms_.add(std::move(each));
    });
    if (made) return *made;
  }
  return terms_.add(std::move(term));
}

// An If is a choice between what its branches compute. A body is what it computes of its parameters; what is known of a tensor
// inside may not hold outside.
bool ModelReader::read_control(const NodeToRead& read) {
  const ops::Operator* op = ops::registry().find(read.node);
  if (read.node.subgraphs().empty()) return false;
  if (!op || op->op_class != ops::OpClass::kControl) {
    as_its_own(read);
    return true;
  }
  if (read.node.op_type() == "If" && read_branches(read)) return true;
  read_body(read);
  return true;
}

bool ModelReader::read_branches(const NodeToRead& read) {
  const auto branch = [&](std::string_view name) -> const ir::Graph* {
    const ir::Attribute* attribute = read.node.attribute(name);
    const auto* graph = attribute ? attribute->as<std::shared_ptr<ir::Graph>>() : nullptr;
    return graph ? graph->get() : nullptr;
  };
  const ir::Graph *yes = branch("then_branch"), *no = branch("else_branch");
  if (!yes || !no || read.operands.size() != 1) return false;
  const auto count = read.node.outputs().size();
  if (yes->outputs().size() != count || no->outputs().size() != count) return false;
  if (const auto condition = integers_of(terms_, read.operands[0]); condition && condition->size() == 1) {
    const ir::Graph& taken = condition->front() != 0 ? *yes : *no;
    read_graph(taken);
    for (size_t i = 0; i < count; ++i) {
      const ir::Value* output = read.node.outputs()[i];
      set(output, term_of(taken.outputs()[i]));
      if (const KnownTensor* result = output ? known(taken.outputs()[i]) : nullptr)
        known_.insert_or_assign(output, *result);
    }
    return true;
  }
  std::vector<std::vector<TermId>> results;
  for (const ir::Graph* graph : {yes, no}) {
    std::string context = graph == yes ? "then" : "else";
    append_raw(context, read.operands[0]);
    terms_.enter(context);
    read_graph(*graph);
    auto& made = results.emplace_back();
    for (const ir::Value* output : graph->outputs()) made.push_back(term_of(output));
    terms_.leave();
  }
  terms_.reading(&read.node, number_);
  for (size_t i = 0; i < count; ++i) {
    if (!read.node.outputs()[i]) continue;
    const Fact& fact = read.results[i];
    const TermId made = terms_.apply("If", {read.operands[0], results[0][i], results[1][i]}, fact.dtype, fact.shape);
    set(read.node.outputs()[i], made);
    learn_sizes(made, facts_.fact(read.node.outputs()[i]));
  }
  return true;
}

void ModelReader::read_body(const NodeToRead& read) {
  const std::optional<std::string> settings = settings_of(read);
  Term term;
  term.op = "node " + read.node.op_type();
  term.arguments = read.operands;
  std::string context = read.node.op_type();
  if (settings) append_text(context, *settings);
  append_list(context, read.operands);
  for (const ir::Graph* graph : read.node.subgraphs()) {
    // Parameters are the same where what is known of them is.
    std::string known = context;
    append_raw(known, graph->inputs().size());
    for (const ir::Value* input : graph->inputs()) {
      const Fact fact = fact_of(input);
      append_raw(known, fact.kind);
      append_raw(known, fact.dtype);
      append_raw(known, fact.shape.has_value());
      if (!fact.shape) continue;
      append_raw(known, fact.shape->size());
      for (const Dim d : *fact.shape) append_dim(known, d);
    }
    const uint32_t body = terms_.enter(known);
    for (size_t i = 0; i < graph->inputs().size(); ++i) {
      const ir::Value* input = graph->inputs()[i];
      const Fact fact = fact_of(input);
      Term parameter;
      parameter.kind = Term::Kind::kInput;
      parameter.settings = "parameter";
      append_raw(parameter.settings, body);
      append_raw(parameter.settings, i);
      parameter.dtype = fact.dtype;
      parameter.shape = fact.shape;
      set(input, settings ? terms_.add(std::move(parameter)) : terms_.add_unique(std::move(parameter)));
    }
    read_graph(*graph);
    for (const ir::Value* output : graph->outputs()) term.arguments.push_back(term_of(output));
    append_raw(term.settings, graph->outputs().size());
    terms_.leave();
  }
  terms_.reading(&read.node, number_);
  for (size_t i = 0; i < read.results.size(); ++i) {
    if (!read.node.outputs()[i]) continue;
    Term one = term;
    one.dtype = read.results[i].dtype;
    one.shape = read.results[i].shape;
    if (settings) append_text(one.settings, *settings);
    append_raw(one.settings, i);
    const TermId made = settings ? terms_.add(std::move(one)) : terms_.add_unique(std::move(one));
    set(read.node.outputs()[i], made);
    learn_sizes(made, facts_.fact(read.node.outputs()[i]));
  }
}

}  // namespace thaw::proving
