#include "thaw/optimize/optimize.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/core/suggest.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/optimize/backend_opset.h"
#include "thaw/optimize/passes.h"
#include "thaw/rewrite/change_opset.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/rewrite/fold.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::optimizing {
namespace {

using rewrite::in_sequence, rewrite::once_settled;

constexpr int kMostRounds = 32;

int fold_constants(Context& context) {
  return rewrite::fold_constants(context, {.most_growth = context.bytes_to_grow(), .keep = context.frozen()});
}

int remove_unused(Context& context) {
  const int count = rewrite::remove_unused(context.model);
  if (count > 0)
    context.changes.made.push_back({.kind = "remove what nothing reads",
                                    .location = "the model",
                                    .part = {},
                                    .replaced = {},
                                    .why = fmt::format("{} node{} went", count, count == 1 ? "" : "s")});
  return count;
}

// A table of fusions as a pass, without those that would write an operator for which the backend has no kernel. A name that no operator
// has is of a fusion that adds to one that is there.
auto fusing(std::vector<rewrite::Fusion> (*table)(OptimizeTarget)) {
  return [table](Context& context) {
    std::vector<rewrite::Fusion> fusions = table(context.target);
    std::erase_if(fusions, [&](const rewrite::Fusion& fusion) {
      const std::string_view op = fusion.name.substr(0, fusion.name.find(' '));
      return ops::registry().find("", op) && !context.has_kernel(op);
    });
    return rewrite::fuse(context, fusions);
  };
}

template <typename Run>
auto only_for(OptimizeTarget target, Run run) {
  return [target, run](Context& context) { return context.target == target ? run(context) : 0; };
}

template <typename Run>
auto for_ort(Run run) {
  return only_for(OptimizeTarget::kOrt, run);
}

// What writes an operator of ai.onnx, at opsets that have it.
template <typename Run>
auto with_kernel(std::string_view op, Run run) {
  return [op, run](Context& context) {
    const bool is_there = ir::find_schema("", op, context.model.opset("").value_or(0)).has_value();
    return !is_there || context.has_kernel(op) ? run(context) : 0;
  };
}

// On a backend that runs no graphs inside a graph.
template <typename Run>
auto for_straight_graphs(Run run) {
  return [run](Context& context) { return context.backend.control_flow ? 0 : run(context); };
}

// One round: what `clean` does, what `fuse` does, and what is left over, in this order. What a row runs is in the file of its
// name, here or in attention/.
//
// Standard operators only, the same numbers bit for bit.
std::vector<Pass> clean_passes() {
  return {
      {"functions", "calls of the model's own functions become their bodies", inline_functions},
      {"constants", "Constant nodes become initializers", list_constants},
      {"identities", "nodes whose output is their input go", simplifying(identities())},
      {"layouts", "Transposes, reshapings, Slices, Concats and Pads that follow each other become one",
       simplifying(merged_layouts())},
      {"numbers", "Casts, limits, signs and conditions that follow each other become one",
       simplifying(merged_numbers())},
      {"reductions", "reductions of reductions, their axes put back, stretches of shapes",
       simplifying(merged_reductions())},
      // Those that follow each other are one before what lies between others is looked at.
      {"transposes", "Transposes move towards those that take them back", once_settled(push_transposes)},
      {"sequences", "sequences and optionals of known items become tensors",
       in_sequence(simplifying(plain_sequences()), split_sequences)},
      {"fold", "what is computed from constants alone is computed once", fold_constants},
      {"branches", "an If with a known condition becomes its branch", take_branches},
      {"loops", "a Loop of a few rounds that are known becomes its rounds", unroll_loops},
      {"einsums", "an Einsum that is a Transpose or a MatMul becomes that", simplifying(plain_einsums())},
      {"states", "zeros that a recurrence begins with anyway go", drop_zero_states},
      {"quantization", "what is dequantized and quantized alike stays as it was", simplifying(equal_quantization())},
      {"share-constants", "equal constants are stored once", share_constants},
      {"share-nodes", "what is computed twice is computed once", share_nodes},
      {"share-sizes", "a size that is computed in several ways is computed in one", share_sizes},
      {"reshape-targets", "computed shapes become constants of 0 and -1", write_reshape_targets},
      {kBackendPass,
       "operators without a kernel in older ones, branches, maps and sums without graphs, positions counted without "
       "shapes "
       "(backends with a table)",
       in_sequence(for_straight_graphs(in_sequence(merge_branches, add_scans_at_once, map_rows_at_once)),
                   simplifying(backend_forms()))},
  };
}

// Operators that stand for arithmetic: the same up to rounding.
std::vector<Pass> fuse_passes() {
  return {
      {"standard", "operators of ONNX Runtime's own become those of ONNX that they stand for (not ort)",
       write_standard_operators},
      {"activations", "arithmetic that an activation stands for", fusing(fused_activations)},
      {"norms", "arithmetic that a normalization stands for", fusing(fused_norms)},
      {"rotary", "halves of heads that turn against each other", with_kernel("RotaryEmbedding", fuse_rotary)},
      {"attention", "softmax over scaled products of q and k, times v",
       with_kernel("Attention", in_sequence(fuse_attention, merge_heads, rotate_inside))},
      {"skips", "a sum and the normalization after it become one (ort)", for_ort(fuse_skips)},
      {"convolutions",
       "what follows a convolution or a product with a weight by channel, and zeros around its input, go into it",
       in_sequence(fuse_convolutions, fuse_linear_norms, simplifying(whole_convolutions()))},
      {"block-weights", "a MatMul with a weight that is dequantized by blocks becomes MatMulNBits (ort)",
       for_ort(fuse_block_weights)},
      // Once nothing else is found: what others look for goes into these.
      {"conv-activations", "a convolution or a product and its activation become one (ort)",
       for_ort(once_settled(fuse_conv_activations))},
      {"products", "a MatMul takes its scale and its Transposes (ort)", for_ort(once_settled(fuse_products))},
  };
}

// What the others leave behind, whichever they are.
Pass unused_pass() { return {"unused", "what nothing reads goes", remove_unused}; }

std::vector<Pass> passes_of(OptimizeLevel level) {
  std::vector<Pass> passes = clean_passes();
  if (level == OptimizeLevel::kFuse) std::ranges::move(fuse_passes(), std::back_inserter(passes));
  passes.push_back(unused_pass());
  return passes;
}

std::vector<Pass> all_passes() { return passes_of(OptimizeLevel::kFuse); }

bool has(const std::vector<Pass>& passes, std::string_view name) {
  return std::ranges::find(passes, name, &Pass::name) != passes.end();
}

void require_known(const std::vector<std::string>& names) {
  const std::vector<Pass> all = all_passes();
  std::vector<std::string_view> known;
  for (const Pass& pass : all) known.push_back(pass.name);
  for (const std::string& name : names)
    if (!has(all, name))
      throw Error(ErrorCode::kInvalidArgument, {.what = "there is no pass '" + name + "'" + did_you_mean(name, known),
                                                .where = "optimize",
                                                .expected = fmt::format("one of {}", fmt::join(known, ", ")),
                                                .next = "give one of these to --only or --skip"});
}

std::vector<Pass> chosen_passes(const OptimizeOptions& options) {
  require_known(options.only);
  require_known(options.skip);
  const auto is_in = [](const std::vector<std::string>& names, const Pass& pass) {
    return std::ranges::count(names, pass.name) > 0;
  };
  std::vector<Pass> passes = passes_of(options.level);
  std::erase_if(passes, [&](const Pass& pass) {
    const bool is_wanted = options.only.empty() || is_in(options.only, pass) || pass.name == unused_pass().name;
    return !is_wanted || is_in(options.skip, pass);
  });
  return passes;
}

constexpr const char* kWeightsSettled = "take weights off the inputs";

// Files of IR versions before 4 list every weight among the inputs; from then on that lets a caller replace one.
void settle_weights(Context& context, const OptimizeOptions& options) {
  if (!options.constant_weights && rewrite::count_replaceable(context.model) > 0) return;
  if (const int count = rewrite::make_weights_constants(context.model); count > 0)
    context.changes.made.push_back({.kind = kWeightsSettled,
                                    .location = "the model",
                                    .part = {},
                                    .replaced = {},
                                    .why = fmt::format("{} became constants", count)});
}

// Functions keep the opset that they import: calls become nodes before the model has another one.
void settle_opset(Context& context, const OptimizeOptions& options, const std::vector<Pass>& passes) {
  const ops::TargetDomain* standard = context.backend.domain("");
  if (options.opset == 0 && (!standard || standard->kernels.empty())) return;
  if (has(passes, "functions")) inline_functions(context);
  if (options.opset != 0) return rewrite::change_opset(context, options.opset);
  change_to_opset_of(*standard, context);
}

// Before anything is inferred: whatever reads constants would be inferred again, to the same, where they move.
void settle_constants(Context& context, const std::vector<Pass>& passes) {
  if (has(passes, "constants")) list_constants(context);
  if (has(passes, "share-constants")) share_constants(context);
}

rewrite::Changes run_passes(ir::Model& model, const OptimizeOptions& options, FrozenSizes sizes) {
  const Phase phase("optimizing");
  ops::require_arity(model);
  ir::tell_names_apart(model);
  const std::vector<Pass> passes = chosen_passes(options);
  Context context(model, options.target, backend_of(options), sizes);
  settle_weights(context, options);
  settle_opset(context, options, passes);
  context.limit_growth(options.max_growth);
  const std::vector<rewrite::Change> left_before = context.changes.left;
  settle_constants(context, passes);
  for (int round = 0; round < kMostRounds; ++round) {
    context.changes.left = left_before;  // the last round tells what is left
    if (rewrite::run(passes, context) == 0 && !context.thaws()) break;
  }
  return context.finish();
}

}  // namespace

const ops::Target& target_of(OptimizeTarget target) {
  switch (target) {
    case OptimizeTarget::kOrt:
      return *ops::find_target("ort");
    case OptimizeTarget::kDirectml:
      return *ops::find_target("directml");
    default:
      return *ops::find_target("portable");
  }
}

const ops::Target& backend_of(OptimizeTarget target, const std::string& backend, std::string_view verb) {
  if (backend.empty()) return target_of(target);
  const ops::Target* found = ops::find_target(backend);
  if (found && target == OptimizeTarget::kPortable) return *found;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = found ? fmt::format("the backend '{}' stands beside a target of its own", backend)
                             : fmt::format("there is no backend '{}'", backend),
               .where = std::string(verb),
               .expected = fmt::format("the portable target, and one of {}", fmt::join(ops::target_names(), ", "))});
}

const ops::Target& backend_of(const OptimizeOptions& options) {
  return backend_of(options.target, options.backend, "optimize");
}

bool is_fusion(std::string_view pass) { return has(fuse_passes(), pass); }

rewrite::Changes optimize(ir::Model& model, const OptimizeOptions& options, FrozenSizes sizes) {
  const std::vector<ir::Value*>& inputs = model.graph->inputs();
  const bool lists_weights = std::ranges::any_of(inputs, [](const ir::Value* input) { return input->initializer(); });
  // A file that had to list its weights, and has nothing else to do, stays as it is.
  const bool had_to = lists_weights && !options.constant_weights && rewrite::count_replaceable(model) == 0;
  const std::unique_ptr<ir::Model> as_it_was = had_to ? ir::clone(model) : nullptr;
  rewrite::Changes changes = run_passes(model, options, sizes);
  if (as_it_was && changes.made.size() == 1 && changes.made.front().kind == kWeightsSettled) {
    model = std::move(*as_it_was);
    changes.made.clear();
  }
  return changes;
}

}  // namespace thaw::optimizing

namespace thaw {

void set_target(const std::string& name, OptimizeOptions& options) {
  options.target = name == "ort"        ? OptimizeTarget::kOrt
                   : name == "directml" ? OptimizeTarget::kDirectml
                                        : OptimizeTarget::kPortable;
  options.backend = options.target != OptimizeTarget::kPortable || name == "portable" ? "" : name;
  optimizing::backend_of(options);
}

std::vector<OptimizePass> optimize_passes() {
  std::vector<OptimizePass> passes;
  for (const optimizing::Pass& pass : optimizing::all_passes())
    passes.push_back({std::string(pass.name), std::string(pass.summary)});
  return passes;
}

}  // namespace thaw
