#include "thaw/batch/batch.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/batch/dependence.h"
#include "thaw/batch/rows_apart.h"
#include "thaw/batch/take_branches.h"
#include "thaw/batch/walk.h"
#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/frozen/frozen.h"
#include "thaw/infer/size_names.h"
#include "thaw/ir/graph/function_calls.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/rewrite/declare.h"
#include "thaw/rewrite/inline_call.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::batching {
namespace {

using ops::Form;

constexpr int64_t kOpsetToAdd = 13;
constexpr int64_t kOldestOpset = 7;  // operands broadcast from the right

std::vector<ir::Value*> chosen_inputs(const ir::Model& model, const BatchOptions& options) {
  std::vector<ir::Value*> chosen;
  std::vector<std::string> names;
  for (ir::Value* input : model.graph->inputs()) {
    if (input->initializer()) continue;
    names.push_back(input->name());
    if (options.inputs.empty() ||
        std::find(options.inputs.begin(), options.inputs.end(), input->name()) != options.inputs.end())
      chosen.push_back(input);
  }
  for (const std::string& name : options.inputs) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the model has no input '{}'", name),
                                              .where = "--inputs",
                                              .expected = fmt::format("one of {}", fmt::join(names, ", ")),
                                              .next = "name inputs as `thaw inspect` prints them"});
  }
  if (chosen.empty()) {
    throw Error(ErrorCode::kUnsupported, {.what = "the model has no input to batch",
                                          .where = model.path.string(),
                                          .expected = "at least one",
                                          .next = "give a model that takes data"});
  }
  return chosen;
}

// Whether an input's first axis is its batch axis already: a fixed 1; or one that is free, where the input is called so
// or has the axes of images or sequences. A free axis of a list of rows is no batch.
bool has_batch_axis(const ir::Value& input) {
  const auto& shape = *input.type.shape;
  if (shape.empty()) return false;
  if (shape[0].value && *shape[0].value > 0) return *shape[0].value == 1;
  return shape.size() >= 3 || shape[0].param.find("batch") != std::string::npos;
}

// Gives every dim of the inputs that `matches` the size that it has in a sample; false if there is none.
template <typename Matches>
bool fix_dims(ir::Model& model, int64_t size, const Matches& matches) {
  bool any = false;
  for (ir::Value* input : model.graph->inputs()) {
    if (!input->type.shape) continue;
    for (size_t axis = 0; axis < input->type.shape->size(); ++axis) {
      const ir::DeclaredDim& dim = (*input->type.shape)[axis];
      if ((dim.value && *dim.value > 0) || !matches(*input, axis, dim)) continue;
      input->set_dim(axis, {size, {}, {}});
      any = true;
    }
  }
  return any;
}

void fix_sample(ir::Model& model, const BatchOptions& options) {
  if (options.sample.empty()) return;
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  for (const auto& [name, size] : infer::size_names(model, facts, scope).resolve(options.sample, "--sizes")) {
    const auto matches = [&, wanted = name](const ir::Value& input, size_t axis, const ir::DeclaredDim& dim) {
      return dim.param == wanted || wanted == fmt::format("{}_dim{}", input.name(), axis);
    };
    if (fix_dims(model, size, matches)) continue;
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("no input has a free size '{}'", name),
                                              .where = "--sizes",
                                              .expected = "a size that `thaw inspect` lists",
                                              .next = "name sizes as `thaw inspect` prints them"});
  }
}

// Inputs of two axes whose first is free and not called a batch, but is one: every node treats its rows apart.
std::vector<ir::Value*> inputs_over_rows(const ir::Model& model, const std::vector<ir::Value*>& inputs) {
  const auto is_open = [](const ir::Value* input) {
    return input->type.shape && input->type.shape->size() == 2 && !input->type.shape->front().value &&
           !has_batch_axis(*input);
  };
  if (std::ranges::none_of(inputs, is_open)) return {};
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  std::vector<ir::Value*> found;
  for (ir::Value* first : inputs) {
    if (!is_open(first) || std::ranges::find(found, first) != found.end()) continue;
    const dim::Dim rows = facts.fact(first).dim(0);
    std::vector<ir::Value*> group;
    bool is_shared = false;
    for (ir::Value* input : model.graph->inputs()) {
      const ops::Fact& fact = facts.fact(input);
      for (int axis = 0; axis < fact.rank(); ++axis) {
        if (!dim::same(fact.dim(axis), rows)) continue;
        is_shared |= axis > 0 || std::ranges::find(inputs, input) == inputs.end();
        if (axis == 0) group.push_back(input);
      }
    }
    if (!is_shared && are_rows_apart(model, facts, group)) found.insert(found.end(), group.begin(), group.end());
  }
  return found;
}

// A free first axis of inputs of which the graph still holds the number of samples that the model was made with.
struct FrozenBatch {
  std::string name, constant;
  int64_t samples = 0;
  std::vector<const ir::Value*> outputs;  // that should have as many rows

  ErrorParts refusal(std::string what, std::string where) const {
    return {.what = fmt::format(
                "{}: the model was exported with batch {}, and '{}' still holds it although '{}' is dynamic",
                std::move(what), samples, constant, name),
            .where = std::move(where),
            .expected = "a model for one sample, or for any number",
            .next = fmt::format("`thaw fix` writes '{}' there", name)};
  }
};

std::optional<FrozenBatch> frozen_batch(const ir::Model& model, const std::vector<ir::Value*>& inputs) {
  std::set<std::string> names;
  for (const ir::Value* input : inputs)
    if (input->type.shape && has_batch_axis(*input) && !input->type.shape->front().param.empty())
      names.insert(input->type.shape->front().param);
  if (names.empty()) return std::nullopt;
  dim::Scope scope;
  const frozen::FrozenAnalysis found = frozen::find_frozen(model, scope);
  for (const frozen::FrozenSite& site : found.sites) {
    const int id = scope.symbol_id(site.expression);
    const auto size = found.assumed_sizes.find(id);
    if (id < 0 || size == found.assumed_sizes.end() || size->second < 2 || site.value != size->second ||
        site.is_doubtful() || !site.constant)
      continue;
    FrozenBatch batch{scope.symbols()[static_cast<size_t>(id)].name, site.constant->name(), size->second, {}};
    if (!names.contains(batch.name)) continue;
    for (const ir::Value* output : model.graph->outputs())
      if (const ops::Fact& fact = found.result.fact(output); fact.rank() > 0 && dim::same(fact.dim(0), site.expression))
        batch.outputs.push_back(output);
    return batch;
  }
  return std::nullopt;
}

// One sample that meets what is there for as many would be broadcast to them.
void require_no_broadcast(const FrozenBatch& frozen, const infer::Result& sample) {
  for (const ir::Value* output : frozen.outputs) {
    const ops::Fact& fact = sample.fact(output);
    if (fact.rank() > 0 && fact.dim(0).is_constant(frozen.samples))
      throw Error(ErrorCode::kUnsupported, frozen.refusal(fmt::format("one sample becomes {} rows", frozen.samples),
                                                          fmt::format("output '{}'", output->name())));
  }
}

// Letters, digits, '_', '.' and ':', as a size's name is written in an expression (docs/dims.md).
void require_size_name(const std::string& name) {
  if (dim::is_size_name(name)) return;
  const bool is_number = !name.empty() && std::ranges::all_of(name, ascii::is_digit);
  throw Error(
      ErrorCode::kInvalidArgument,
      {.what = is_number ? fmt::format("'{}' is a number: the batch has a name, and any number of samples", name)
                         : fmt::format("'{}' cannot be the name of a size", name),
       .where = "--name",
       .expected = "letters, digits, '_', '.' and ':', a letter or '_' first",
       .next = "give such a name, as 'batch'"});
}

void check_name(const ir::Model& model, const std::vector<ir::Value*>& merged, const BatchOptions& options) {
  for (const ir::Value* input : model.graph->inputs()) {
    if (!input->type.shape) continue;
    const bool replaced = std::find(merged.begin(), merged.end(), input) != merged.end();
    for (size_t axis = replaced ? 1 : 0; axis < input->type.shape->size(); ++axis) {
      if ((*input->type.shape)[axis].param != options.name) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("the input '{}' already has a size '{}'", input->name(), options.name),
                   .where = "--name",
                   .expected = "a name that no other size of the model has",
                   .next = "give another with --name"});
    }
  }
}

// What an output is declared as: its own axes are found out later.
ir::Type output_type(const ir::Value& output, const ops::Fact& fact, Form form, const std::string& name) {
  if (!fact.is_tensor() || !fact.has_rank()) {
    ir::Type type = fact.is_tensor() ? ir::Type::tensor(fact.dtype) : output.type;
    ir::forget_shape(type);
    return type;
  }
  ir::Type type = ir::Type::tensor(fact.dtype);
  type.shape.emplace(static_cast<size_t>(fact.rank() + (form == Form::kLeading ? 1 : 0)));
  (*type.shape)[0].param = name;
  return type;
}

// The two have one name, and would hold the samples in two ways.
[[noreturn]] void refuse_returned_input(const ir::Value& input, bool is_shared) {
  throw Error(ErrorCode::kUnsupported,
              {.what = is_shared ? "it is an output too, of every sample, but the same input for all of them"
                                 : "it is an output too, in another form than the samples come in",
               .where = fmt::format("input '{}'", input.name()),
               .expected = "an input that the samples differ in, in the form of the outputs",
               .next = is_shared ? "name it with --inputs, or take it from the outputs" : "take it from the outputs"});
}

// Every output holds a result for each sample, under the name it had; a rule may have put another value in its place.
// Of a sequence, every item does.
void finish_outputs(ir::Graph& graph, Walk& walk, bool any_merged, const std::vector<std::string>& names,
                    const std::string& size) {
  const ops::BatchEmit end(walk, graph, nullptr);
  std::unordered_map<const ir::Value*, ir::Value*> finished;  // one may be listed twice
  for (int i = 0; i < static_cast<int>(graph.outputs().size()); ++i) {
    ir::Value* output = graph.outputs()[static_cast<size_t>(i)];
    if (const auto again = finished.find(output); again != finished.end()) {
      if (again->second != output) graph.set_output(i, again->second);
      continue;
    }
    const ops::Fact& fact = walk.fact(output);
    const ops::Batched* found = walk.batched(output);
    const bool is_known = fact.is_tensor() && fact.has_rank();
    const bool can_be = fact.is_tensor() || fact.kind == ops::Fact::Kind::kSequence;
    if (!is_known && (found == nullptr || !can_be)) {
      throw Error(ErrorCode::kUnsupported, {.what = "its rank is unknown, so it cannot be batched",
                                            .where = fmt::format("output '{}'", output->name()),
                                            .expected = "a tensor of known rank",
                                            .next = "see what `thaw inspect` says of it"});
    }
    ops::Batched result = found ? *found : ops::Batched{end.repeated(output, fact.rank()), Form::kLeading};
    if (any_merged && result.form == Form::kLeading && found != nullptr && is_known &&
        ops::BatchContext::starts_with_one(fact))
      result = {end.squeeze(result.value, {1}), Form::kMerged};
    if (!any_merged && result.form == Form::kMerged) result = {end.unsqueeze(result.value, {1}), Form::kLeading};
    const std::string& name = names[static_cast<size_t>(i)];
    // An input that is an output as it comes in.
    if (output->is_input() && result.value != output) refuse_returned_input(*output, found == nullptr);
    if (output->is_input()) {
      finished[output] = output;
      continue;
    }
    if (result.value->is_input() || (result.value != output && result.value->is_output()))
      result.value = end.emit("Identity", {result.value});
    finished[output] = result.value;
    if (result.value != output) graph.set_output(i, result.value);
    ir::Value* holder = graph.find(name);
    if (holder != nullptr && holder != result.value && !holder->is_input())
      graph.rename(holder, graph.unique_name(name + "_sample"));
    if (graph.find(name) == nullptr) graph.rename(result.value, name);
    result.value->set_type(output_type(*output, fact, result.form, size));
  }
}

// Calls that samples reach; in a subgraph too.
void collect_calls(const ir::Model& model, const ir::Graph& graph, const Dependence& dependence,
                   std::vector<ir::Node*>& calls) {
  for (ir::Node* node : graph.nodes()) {
    for (const ir::Graph* inner : node->subgraphs()) collect_calls(model, *inner, dependence, calls);
    if (!model.find_function(node->domain(), node->op_type(), node->overload())) continue;
    const auto inputs = node->inputs();
    if (std::any_of(inputs.begin(), inputs.end(), [&](const ir::Value* v) { return v && dependence.contains(v); }))
      calls.push_back(node);
  }
}

// Calls of the model's own functions, replaced by their bodies: every call that samples from `inputs` reach, at any depth, also those inside a body. A call stays where its function
// is of another opset than the model. Throws thaw::Error where the bodies are more than the model's budget allows.
void inline_functions(ir::Model& model, std::span<ir::Value* const> inputs) {
  if (model.functions.empty()) return;
  ir::refuse_recursion(model);
  for (bool more = true; more;) {
    Dependence dependence(inputs, model.budget);
    dependence.follow(*model.graph);
    std::vector<ir::Node*> calls;
    collect_calls(model, *model.graph, dependence, calls);
    more = false;
    for (ir::Node* call : calls) more |= rewrite::inline_call(model, call);
  }
}

BatchReport batch_samples(ir::Model& model, const BatchOptions& options) {
  require_size_name(options.name);
  ops::require_arity(model);
  ir::Transaction edit(model);
  model.graph->tell_names_apart();
  // A model of other domains only may need operators of ai.onnx from now on.
  if (!model.opset("")) model.opset_imports.push_back({"", kOpsetToAdd, {}});
  const auto& initializers = model.graph->initializers();
  const std::unordered_set<const ir::Value*> known(initializers.begin(), initializers.end());
  const std::unordered_set<const ir::Value*> defaults = rewrite::read_defaults(model);
  const int64_t opset = *model.opset("");
  if (opset < kOldestOpset) {
    throw Error(ErrorCode::kUnsupported, {.what = fmt::format("the model is of opset {}", opset),
                                          .where = model.path.string(),
                                          .expected = fmt::format("opset {} or newer", kOldestOpset),
                                          .next = "convert it with onnx.version_converter first"});
  }
  std::vector<std::string> output_names;
  for (const ir::Value* output : model.graph->outputs()) output_names.push_back(output->name());
  const std::vector<ir::Value*> inputs = chosen_inputs(model, options);
  fix_sample(model, options);
  const std::vector<ir::Value*> over_rows =
      options.new_axis ? std::vector<ir::Value*>() : inputs_over_rows(model, inputs);
  const std::optional<FrozenBatch> frozen = options.new_axis ? std::nullopt : frozen_batch(model, inputs);
  std::vector<Note> existing_batches;
  std::vector<ir::Value*> merged;
  std::vector<std::string> before;
  for (ir::Value* input : inputs) {
    if (!input->type.shape) {
      throw Error(ErrorCode::kUnsupported, {.what = "its rank is not declared",
                                            .where = fmt::format("input '{}'", input->name()),
                                            .expected = "a declared shape, to know which axis is the first",
                                            .next = "declare it, or leave the input out with --inputs"});
    }
    before.push_back(ir::dims_text(input->type));
    const bool is_over_rows = std::ranges::find(over_rows, input) != over_rows.end();
    if (options.new_axis || (!has_batch_axis(*input) && !is_over_rows)) continue;
    merged.push_back(input);
    if (is_over_rows)
      existing_batches.push_back(
          {input->name(),
           "axis 0 is already a batch axis: its rows are independent; --new-axis adds another before it",
           {}});
    if (const std::string name = input->type.shape->front().param; !name.empty())
      fix_dims(model, 1, [&](const ir::Value&, size_t, const ir::DeclaredDim& dim) { return dim.param == name; });
    input->set_dim(0, {1, {}, {}});
  }
  check_name(model, merged, options);
  inline_functions(model, inputs);
  model.graph->tell_names_apart();  // what came out of a function too; in there an edit would not be taken back
  const std::vector<TakenBranch> taken = take_branches(model, inputs);
  dim::Scope scope;
  const infer::Result sample = infer::infer(model, scope);
  model.budget->require(model.path.string());
  if (frozen) require_no_broadcast(*frozen, sample);
  Dependence dependence(inputs, model.budget);
  dependence.follow(*model.graph);
  Walk walk(model, options, sample, std::move(dependence));
  const ir::DeclaredDim axis{std::nullopt, options.name, {}};
  for (size_t i = 0; i < inputs.size(); ++i) {
    ir::Value* input = inputs[i];
    ir::Type type = input->type;
    const bool is_merged = std::find(merged.begin(), merged.end(), input) != merged.end();
    if (is_merged) {
      type.shape->front() = axis;
    } else {
      type.shape->insert(type.shape->begin(), axis);
    }
    input->set_type(std::move(type));
    walk.set_input(input, is_merged ? Form::kMerged : Form::kLeading);
  }
  ir::Graph& graph = *model.graph;
  ir::Node* first = graph.nodes().front();
  const ops::Emit start = walk.emitter().at_top();
  walk.set_batch_size(start.slice(start.shape(inputs.front()), 0, 1));
  walk.walk_from(first);
  try {
    finish_outputs(graph, walk, !merged.empty(), output_names, options.name);
  } catch (const ops::CannotWrite& reason) {
    throw Error(
        ErrorCode::kUnsupported,
        {.what = fmt::format("an output is the same for all samples and cannot be repeated, because {}", reason.why),
         .where = model.path.string(),
         .expected = "outputs that depend on the samples, or a newer opset",
         .next = "convert the model with onnx.version_converter first"});
  }
  // It was about one sample; inputs and outputs of subgraphs were seen to.
  rewrite::forget_declarations(graph, rewrite::Returned::kKeep);
  if (!taken.empty()) rewrite::declare_truly(model);  // what is reshaped to a computed shape tells no sizes
  const std::vector<ir::Type> declared = rewrite::declared_outputs(model);
  require_conditions(model, taken, walk.emitter());
  rewrite::remove_unused(model);
  rewrite::list_initializers(model, known);
  rewrite::drop_unread_defaults(model, defaults);
  rewrite::declare_truly(model);
  if (!taken.empty()) rewrite::keep_declared_outputs(model, declared);
  for (size_t i = 0; i < inputs.size(); ++i) {
    walk.report().inputs.push_back(
        {inputs[i]->name(), fmt::format("{} -> {}", before[i], ir::dims_text(inputs[i]->type))});
  }
  walk.report().existing_batches = std::move(existing_batches);
  for (const TakenBranch& one : taken)
    walk.report().guarded_branches.push_back(
        {one.location,
         fmt::format("only the branch for condition {} is batched; with the other condition a run ends with an error, "
                     "as that branch cannot run at these sizes: {}",
                     one.value, one.why),
         {}});
  for (const ir::Value* output : graph.outputs())
    walk.report().outputs.push_back({output->name(), ir::dims_text(output->type)});
  model.budget->require(model.path.string());
  edit.keep();
  return std::move(walk.report());
}

}  // namespace

BatchReport batch(ir::Model& model, const BatchOptions& options) {
  const Phase phase("batching");
  try {
    return batch_samples(model, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported || options.new_axis) throw;
    const auto frozen = frozen_batch(model, chosen_inputs(model, options));
    if (!frozen || frozen->refusal("", "").next == error.parts().next) throw;
    throw Error(error.code(), frozen->refusal(error.parts().what, error.parts().where));
  }
}

std::vector<Note> deciding_inputs(const ir::Model& model, const BatchOptions& options) {
  std::vector<Note> found;
  const std::vector<ir::Value*> inputs = chosen_inputs(model, options);
  const std::vector<ir::Node*> ifs = ifs_of(*model.graph);
  if (ifs.empty()) return found;
  std::vector<const ir::Value*> deciding;
  for (ir::Value* input : inputs) {
    Dependence dependence(std::span(&input, 1), model.budget);
    dependence.follow(*model.graph);
    const auto decided = std::ranges::find_if(
        ifs, [&](const ir::Node* node) { return node->input(0) && dependence.contains(node->input(0)); });
    if (decided == ifs.end()) continue;
    deciding.push_back(input);
    found.push_back({(*decided)->describe(),
                     fmt::format("its condition depends on '{}', which differs from sample to "
                                 "sample",
                                 input->name()),
                     {}});
  }
  std::vector<std::string> others;
  for (const ir::Value* input : inputs)
    if (std::ranges::find(deciding, input) == deciding.end()) others.push_back(input->name());
  if (!others.empty())
    for (Note& note : found) note.message += fmt::format("; give --inputs {}", fmt::join(others, ","));
  return found;
}

}  // namespace thaw::batching
