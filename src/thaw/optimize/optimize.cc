#include "thaw/optimize/optimize.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/core/suggest.h"
#include "thaw/frozen/frozen.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/target/target.h"
#include "thaw/optimize/attention/grouped_rotary.h"
#include "thaw/optimize/attention/joined_heads.h"
#include "thaw/optimize/constants.h"
#include "thaw/optimize/control.h"
#include "thaw/optimize/directml_opset.h"
#include "thaw/optimize/fusions.h"
#include "thaw/optimize/push_transposes.h"
#include "thaw/optimize/reshape_targets.h"
#include "thaw/optimize/share.h"
#include "thaw/optimize/split_sequences.h"
#include "thaw/optimize/tables.h"
#include "thaw/rewrite/change_opset.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/rewrite/fold.h"
#include "thaw/rewrite/list_initializers.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/rewrite/sites.h"

namespace thaw::optimizing {
namespace {

constexpr int kMostRounds = 32;
constexpr size_t kMostUnrolled = 4000;  // nodes that loops may add in all

struct Work {
  ir::Model& model;
  const OptimizeOptions& options;
  infer::Inference& facts;
  rewrite::Changes& changes;
  uint64_t most_bytes;  // that constants may take in all
  FrozenSizes sizes;
  size_t most_nodes;                // that loops in loops may become together
  std::optional<Constants> frozen;  // looked for when first asked
  size_t changes_before = 0;        // as many as there were when they were looked for at the end of a round
  int done = 0;                     // so far in this round
};

Constants frozen_constants(const ir::Model& model, FrozenSizes sizes) {
  Constants found;
  if (sizes == FrozenSizes::kMeant) return found;
  dim::Scope scope;
  for (const frozen::FrozenSite& site : frozen::find_frozen(model, scope).sites)
    if (site.constant) found.insert(site.constant);
  return found;
}

// The constants that a size was frozen in. They stay apart from others that happen to be equal, and nothing is computed
// from them for good: `check`, `fix` and `lift` find them where they were.
const Constants& frozen_in(Work& work) {
  if (!work.frozen) work.frozen = frozen_constants(work.model, work.sizes);
  return *work.frozen;
}

// Whether a constant that a size was frozen in holds none any more, as what read it became another node.
bool thaws(Work& work) {
  if (work.changes.made.size() == work.changes_before || frozen_in(work).empty()) return false;
  work.changes_before = work.changes.made.size();
  const Constants before = std::exchange(work.frozen, std::nullopt).value();
  return std::ranges::any_of(rewrite::all_graphs(*work.model.graph), [&](const ir::Graph* graph) {
    return std::ranges::any_of(graph->initializers(), [&](const ir::Value* value) {
      return before.contains(value) && !frozen_in(work).contains(value);
    });
  });
}

template <std::span<const Simplification> (*table)()>
int simplify_by(Work& work) {
  return simplify(work.model, work.facts, table(), frozen_in(work), work.changes);
}

template <int (*pass)(ir::Model&, infer::Inference&, rewrite::Changes&)>
int run_pass(Work& work) {
  return pass(work.model, work.facts, work.changes);
}

int write_directml_forms(Work& work) {
  if (work.options.target != OptimizeTarget::kDirectml) return 0;
  const int gone =
      run_pass<merge_branches>(work) + run_pass<add_scans_at_once>(work) + run_pass<map_rows_at_once>(work);
  if (gone > 0) work.frozen.reset();  // constants of branches have moved
  return gone + simplify_by<directml_forms>(work);
}

int fold(Work& work) {
  const uint64_t bytes = weigh(*work.model.graph).bytes;
  return rewrite::fold_constants(
      work.model, work.facts,
      {.most_growth = work.most_bytes - std::min(work.most_bytes, bytes), .keep = frozen_in(work)}, work.changes);
}

int share_equal_constants(Work& work) { return share_constants(work.model, work.facts, frozen_in(work), work.changes); }

int unroll_known_loops(Work& work) {
  const int count = unroll_loops(work.model, work.facts, frozen_in(work), work.most_nodes, work.changes);
  if (count > 0) work.frozen.reset();  // the body's constants have moved
  return count;
}

bool has_ifs(const ir::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const ir::Node* node) {
    const auto inner = node->subgraphs();
    return !inner.empty() &&
           (node->op_type() == "If" || std::ranges::any_of(inner, [](const ir::Graph* one) { return has_ifs(*one); }));
  });
}

// Those that follow each other are one before what lies between others is looked at.
int move_transposes(Work& work) {
  if (work.done > 0) return 0;
  return push_transposes(work.model, work.facts, work.changes);
}

int write_sequences(Work& work) {
  return simplify_by<plain_sequences>(work) + split_plainly(work.model, work.facts, frozen_in(work), work.changes);
}

int take_known_branches(Work& work) {
  if (!has_ifs(*work.model.graph)) return 0;
  const int count = take_branches(work.model, work.facts, !frozen_in(work).empty(), work.changes);
  if (count > 0) work.frozen.reset();  // the branches' constants have moved
  return count;
}

int write_targets(Work& work) {
  return frozen_in(work).empty() ? write_reshape_targets(work.model, work.facts, work.changes)
                                 : simplify_by<kept_sizes>(work);
}

// For passes that move constants, so that those that a size was frozen in are looked for again.
template <int (*pass)(ir::Model&, infer::Inference&, rewrite::Changes&)>
int run_and_look_again(Work& work) {
  const int count = run_pass<pass>(work);
  if (count > 0) work.frozen.reset();
  return count;
}

int remove_dead(Work& work) {
  const size_t before = work.model.graph->num_nodes();
  rewrite::remove_unused(work.model);
  return static_cast<int>(before - work.model.graph->num_nodes());
}

// Without those that would write an operator for which DirectML has no kernel. A name that no operator has is of a fusion that
// adds to one that is there.
int fuse_what_is_taken(Work& work, std::vector<rewrite::Fusion> fusions) {
  if (work.options.target == OptimizeTarget::kDirectml) {
    std::erase_if(fusions, [&, opset = work.model.opset("").value_or(0)](const rewrite::Fusion& fusion) {
      const std::string_view op = fusion.name.substr(0, fusion.name.find(' '));
      return ops::registry().find("", op) && !ops::find_kernel(directml_operators(), op, opset);
    });
  }
  return rewrite::fuse(work.model, work.facts, fusions, work.changes);
}

int fuse_activations(Work& work) { return fuse_what_is_taken(work, fused_activations(work.options.target)); }

int fuse_norms(Work& work) { return fuse_what_is_taken(work, fused_norms(work.options.target)); }

int fuse_attentions(Work& work) {
  return fuse_attention(work.model, work.facts, work.options.target, work.changes) + run_pass<join_heads>(work) +
         run_pass<rotate_inside>(work);
}

int fuse_rotaries(Work& work) { return fuse_rotary(work.model, work.facts, work.options.target, work.changes); }

int fold_by_channel(Work& work) {
  return run_pass<fuse_convolutions>(work) + run_pass<fuse_linear_norms>(work) + simplify_by<whole_convolutions>(work);
}

template <int (*pass)(ir::Model&, infer::Inference&, rewrite::Changes&)>
int run_for_ort(Work& work) {
  return work.options.target == OptimizeTarget::kOrt ? run_pass<pass>(work) : 0;
}

struct Step {
  std::string_view name, summary;
  int (*run)(Work&);  // how much it did
  OptimizeLevel level = OptimizeLevel::kClean;
  bool comes_last = false;  // in rounds that found nothing else: what others look for goes into it
};

// One round, in order.
constexpr Step kSteps[] = {
    {"functions", "calls of the model's own functions become their bodies", run_and_look_again<inline_functions>},
    {"constants", "Constant nodes become initializers", run_and_look_again<list_constants>},
    {"identities", "nodes that give what they take go", simplify_by<identities>},
    {"layouts", "Transposes, reshapings, Slices, Concats and Pads that follow each other become one",
     simplify_by<merged_layouts>},
    {"numbers", "Casts, limits, signs and conditions that follow each other become one", simplify_by<merged_numbers>},
    {"reductions", "reductions of reductions, their axes put back, stretches of shapes",
     simplify_by<merged_reductions>},
    {"transposes", "Transposes move towards those that take them back", move_transposes},
    {"sequences", "sequences and optionals of known items become tensors", write_sequences},
    {"fold", "what is computed from constants alone is computed once", fold},
    {"branches", "an If with a known condition becomes its branch", take_known_branches},
    {"loops", "a Loop of a few rounds that are known becomes its rounds", unroll_known_loops},
    {"einsums", "an Einsum that is a Transpose or a MatMul becomes that", simplify_by<plain_einsums>},
    {"states", "zeros that a recurrence begins with anyway go", run_and_look_again<drop_zero_states>},
    {"quantization", "what is dequantized and quantized alike stays as it was", simplify_by<equal_quantization>},
    {"share-constants", "equal constants are stored once", share_equal_constants},
    {"share-nodes", "what is computed twice is computed once", run_pass<share_nodes>},
    {"share-sizes", "a size that is computed in several ways is computed in one", run_pass<share_sizes>},
    {"reshape-targets", "computed shapes become constants of 0 and -1", write_targets},
    {"directml",
     "positions counted without shapes, convolutions over two axes, branches, maps and sums without graphs (directml)",
     write_directml_forms},
    {"activations", "arithmetic that an activation stands for", fuse_activations, OptimizeLevel::kFuse},
    {"norms", "arithmetic that a normalization stands for", fuse_norms, OptimizeLevel::kFuse},
    {"rotary", "halves of heads that turn against each other", fuse_rotaries, OptimizeLevel::kFuse},
    {"attention", "softmax over scaled products of q and k, times v", fuse_attentions, OptimizeLevel::kFuse},
    {"skips", "a sum and the normalization after it become one (ort)", run_for_ort<fuse_skips>, OptimizeLevel::kFuse},
    {"convolutions",
     "what follows a convolution or a product with a weight by channel, and zeros around its input, go into it",
     fold_by_channel, OptimizeLevel::kFuse},
    {"block-weights", "a MatMul with a weight that is dequantized by blocks becomes MatMulNBits (ort)",
     run_for_ort<fuse_block_weights>, OptimizeLevel::kFuse},
    {"conv-activations", "a convolution or a product and its activation become one (ort)",
     run_for_ort<fuse_conv_activations>, OptimizeLevel::kFuse, true},
    {"products", "a MatMul takes its scale and its Transposes (ort)", run_for_ort<fuse_products>, OptimizeLevel::kFuse,
     true},
    {"unused", "what nothing reads goes", remove_dead},
};

std::vector<Step> chosen_steps(const OptimizeOptions& options) {
  const auto require_known = [](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (std::ranges::any_of(kSteps, [&](const Step& step) { return step.name == name; })) continue;
      std::vector<std::string_view> known;
      for (const Step& step : kSteps) known.push_back(step.name);
      std::string all;
      for (const Step& step : kSteps) all.append(all.empty() ? "" : ", ").append(step.name);
      throw Error(ErrorCode::kInvalidArgument, {.what = "there is no pass '" + name + "'" + did_you_mean(name, known),
                                                .where = "optimize",
                                                .expected = "one of " + all,
                                                .next = "give one of these to --only or --skip"});
    }
  };
  require_known(options.only);
  require_known(options.skip);
  std::vector<Step> steps;
  for (const Step& step : kSteps) {
    const auto is_in = [&](const std::vector<std::string>& names) { return std::ranges::count(names, step.name) > 0; };
    // What a pass leaves behind goes whichever they are.
    const bool is_wanted = options.only.empty() || is_in(options.only) || step.run == remove_dead;
    if (is_wanted && step.level <= options.level && !is_in(options.skip)) steps.push_back(step);
  }
  return steps;
}

// Constants move and are shared before anything is inferred: whatever reads them would be inferred again, to the same. Returns
// those that a size was frozen in, where they were looked for.
std::optional<Constants> put_constants_in_order(ir::Model& model, const std::vector<Step>& steps, FrozenSizes sizes,
                                                rewrite::Changes& changes) {
  const auto is_wanted = [&](std::string_view name) {
    return std::ranges::any_of(steps, [&](const Step& step) { return step.name == name; });
  };
  if (is_wanted("constants")) list_constants(model, changes);
  if (!is_wanted("share-constants")) return std::nullopt;
  Constants frozen = frozen_constants(model, sizes);
  share_constants(model, frozen, changes);
  return frozen;
}

constexpr const char* kWeightsSettled = "take weights off the inputs";

// Files of IR versions before 4 list every weight among the inputs; from then on that lets a caller replace one.
void settle_weights(ir::Model& model, const OptimizeOptions& options, rewrite::Changes& changes) {
  if (!options.constant_weights && rewrite::count_replaceable(model) > 0) return;
  if (const int count = rewrite::make_weights_constants(model); count > 0)
    changes.made.push_back({.kind = kWeightsSettled,
                            .place = "the model",
                            .part = {},
                            .replaced = {},
                            .why = fmt::format("{} became constants", count)});
}

// Functions keep the opset that they import: calls become nodes before the model has another one.
void settle_opset(ir::Model& model, const OptimizeOptions& options, bool inlines, rewrite::Changes& changes) {
  const bool is_for_directml = options.target == OptimizeTarget::kDirectml;
  if (options.opset == 0 && !is_for_directml) return;
  if (inlines && !model.functions.empty()) {
    dim::Scope scope;
    infer::Inference facts(model, scope, infer::UnknownSizes::kNamed);
    inline_functions(model, facts, changes);
  }
  if (options.opset != 0) return rewrite::change_opset(model, options.opset, changes);
  change_to_directml_opset(model, changes);
}

}  // namespace

bool is_fusion(std::string_view pass) {
  return std::ranges::any_of(kSteps,
                             [&](const Step& step) { return step.name == pass && step.level == OptimizeLevel::kFuse; });
}

Weight weigh(const ir::Graph& graph) {
  Weight weight;
  for (const ir::Value* value : graph.initializers()) weight.bytes += value->initializer()->num_bytes();
  for (const ir::Node* node : graph.nodes()) {
    ++weight.nodes;
    if (node->constant()) weight.bytes += node->constant()->num_bytes();
    for (const ir::Graph* inner : node->subgraphs()) {
      const Weight deeper = weigh(*inner);
      weight.nodes += deeper.nodes;
      weight.bytes += deeper.bytes;
    }
  }
  return weight;
}

namespace {

rewrite::Changes run_steps(ir::Model& model, const OptimizeOptions& options, FrozenSizes sizes) {
  const Phase phase("optimizing");
  ops::require_arity(model);
  const std::vector<Step> steps = chosen_steps(options);
  const std::vector<ir::Value*>& initializers = model.graph->initializers();
  const std::unordered_set<const ir::Value*> known(initializers.begin(), initializers.end());
  rewrite::Changes changes;
  settle_weights(model, options, changes);
  const bool inlines = std::ranges::any_of(steps, [](const Step& step) { return step.name == "functions"; });
  settle_opset(model, options, inlines, changes);
  const std::vector<rewrite::Change> left_before = changes.left;
  const uint64_t most_bytes = weigh(*model.graph).bytes + options.max_growth;
  const size_t most_nodes = model.graph->num_nodes() + kMostUnrolled;
  std::optional<Constants> frozen = put_constants_in_order(model, steps, sizes, changes);
  dim::Scope scope;
  infer::Inference facts(model, scope, infer::UnknownSizes::kNamed);
  Work work{model, options, facts, changes, most_bytes, sizes, most_nodes, std::move(frozen)};
  for (int round = 0; round < kMostRounds; ++round) {
    int done = 0;
    changes.left = left_before;  // the last round tells what is left
    for (const Step& step : steps) {
      if (step.comes_last && done > 0) continue;
      work.done = done;
      const int count = step.run(work);
      if (const std::string name(step.name); count > 0 && std::ranges::count(changes.passes, name) == 0)
        changes.passes.push_back(name);
      if (count > 0 && step.run == remove_dead)
        changes.made.push_back({.kind = "remove what nothing reads",
                                .place = "the model",
                                .part = {},
                                .replaced = {},
                                .why = fmt::format("{} node{} went", count, count == 1 ? "" : "s")});
      if (step.run != remove_dead || done == 0) done += count;
    }
    if (done == 0 && !thaws(work)) break;
  }
  rewrite::list_initializers(model, known);
  return changes;
}

}  // namespace

rewrite::Changes optimize(ir::Model& model, const OptimizeOptions& options, FrozenSizes sizes) {
  const std::vector<ir::Value*>& inputs = model.graph->inputs();
  const bool lists_weights = std::ranges::any_of(inputs, [](const ir::Value* input) { return input->initializer(); });
  // A file that had to list its weights, and has nothing else to do, stays as it is.
  const bool had_to = lists_weights && !options.constant_weights && rewrite::count_replaceable(model) == 0;
  const std::unique_ptr<ir::Model> as_it_was = had_to ? ir::clone(model) : nullptr;
  rewrite::Changes changes = run_steps(model, options, sizes);
  if (as_it_was && changes.made.size() == 1 && changes.made.front().kind == kWeightsSettled) {
    model = std::move(*as_it_was);
    changes.made.clear();
  }
  return changes;
}

}  // namespace thaw::optimizing

namespace thaw {

std::vector<OptimizePass> optimize_passes() {
  std::vector<OptimizePass> passes;
  for (const optimizing::Step& step : optimizing::kSteps)
    passes.push_back({std::string(step.name), std::string(step.summary)});
  return passes;
}

}  // namespace thaw
