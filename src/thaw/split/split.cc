#include "thaw/split/split.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/size_names.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/rewrite/remove_unused.h"
#include "thaw/split/cut_points.h"
#include "thaw/split/named_tensor.h"

namespace thaw::splitting {
namespace {

constexpr std::string_view kNarrow = "`thaw split` without --at lists cut points";

[[noreturn]] void refuse(const ir::Model& model, const std::string& tensor, std::string_view why,
                         std::string_view next = kNarrow) {
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("'{}' {}", tensor, why),
                                            .where = model.path.string(),
                                            .expected = "a tensor that a node of the main graph makes from the inputs",
                                            .next = std::string(next)});
}

// What leads to no output is in no part: a part of nothing else would be one that computes nothing.
std::unique_ptr<ir::Model> without_unused(const ir::Model& model) {
  std::unique_ptr<ir::Model> used = ir::clone(model);
  rewrite::remove_unused(*used);
  return used;
}

// used: of the model, as without_unused leaves it.
Cut cut_at(const ir::Model& model, const ir::Model& used, const Passings& passings,
           const std::vector<std::string>& names) {
  Cut cut;
  for (const std::string& name : names) {
    const std::string& tensor = named_tensor(model, name, kNarrow)->name();
    const ir::Value* value = used.graph->find(tensor);
    if (!value) refuse(model, tensor, "leads to no output");
    if (value->is_input()) refuse(model, name, "is an input");
    if (passings.of(value) == Passing::kConstant) refuse(model, name, "is a constant");
    if (std::ranges::find(cut, value) == cut.end()) cut.push_back(value);
  }
  return cut;
}

uint64_t last_position(const Cut& cut) {
  uint64_t position = 0;
  for (const ir::Value* value : cut) position = std::max(position, ir::Graph::position_of(value->producer()));
  return position;
}

std::vector<Cut> chosen_cuts(const ir::Model& model, const ir::Model& used, dim::Scope& scope,
                             const infer::Result& facts, const Passings& passings, const SplitOptions& options) {
  if (options.at.empty()) {
    const NamedSizes sizes = infer::size_names(used, facts, scope).resolve(options.sizes, "sizes");
    return balanced_cuts(find_cut_positions(used, scope, facts, passings, sizes), options.parts, options.balance);
  }
  std::vector<Cut> cuts;
  for (const std::vector<std::string>& names : options.at) cuts.push_back(cut_at(model, used, passings, names));
  std::ranges::stable_sort(cuts, {}, last_position);
  return cuts;
}

// A tensor that is in two cuts; null where none is.
const ir::Value* repeated_in(const std::vector<Cut>& cuts) {
  std::set<const ir::Value*> met;
  for (const Cut& cut : cuts)
    for (const ir::Value* value : cut)
      if (!met.insert(value).second) return value;
  return nullptr;
}

// Each stage has work to do.
void require_work(const ir::Model& model, const Passings& passings, const Stages& stages,
                  const std::vector<Cut>& cuts) {
  std::vector<bool> works(static_cast<size_t>(stages.count()));
  for (const ir::Node* node : model.graph->nodes()) {
    const int stage = stages.of(node);
    if (stage < 0) continue;
    for (const ir::Value* output : node->outputs())
      if (output && passings.of(output) == Passing::kTensor) works[static_cast<size_t>(stage)] = true;
  }
  const auto idle = std::ranges::find(works, false);
  if (idle == works.end()) return;
  if (const ir::Value* twice = repeated_in(cuts))
    refuse(model, twice->name(), "is named in two cuts, between which nothing is left", "name each tensor once");
  const auto stage = static_cast<size_t>(idle - works.begin());
  refuse(model, cuts[std::min(stage, cuts.size() - 1)].front()->name(),
         stage + 1 == works.size() ? "is where the model ends: nothing is left after it"
                                   : "adds nothing to the cut before it");
}

}  // namespace

Result split(const ir::Model& model, const SplitOptions& options) {
  ops::require_arity(model);
  if (options.at.empty() && options.parts < 2)
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = fmt::format("{} parts are asked for", options.parts), .where = "split", .expected = "2 or more"});
  const std::unique_ptr<ir::Model> used = without_unused(model);
  dim::Scope scope;
  const infer::Result facts = infer::infer(*used, scope);
  const Passings passings(*used, facts);
  const std::vector<Cut> cuts = chosen_cuts(model, *used, scope, facts, passings, options);
  const Stages stages(*used, passings, cuts);
  require_work(*used, passings, stages, cuts);
  Result result;
  result.parts = make_parts(*used, scope, facts, passings, stages, cuts, result.carried);
  model.budget->require(model.path.string());
  return result;
}

std::vector<CutPoint> cut_points(const ir::Model& model, const NamedSizes& sizes) {
  ops::require_arity(model);
  const std::unique_ptr<ir::Model> used = without_unused(model);
  dim::Scope scope;
  const infer::Result facts = infer::infer(*used, scope);
  const Passings passings(*used, facts);
  const NamedSizes known = infer::size_names(*used, facts, scope).resolve(sizes, "sizes");
  const CutPositions positions = find_cut_positions(*used, scope, facts, passings, known);
  std::vector<CutPoint> points;
  for (const CutPosition* position : narrow_cut_positions(positions)) {
    CutPoint& point = points.emplace_back();
    for (const ir::Value* value : position->passing) point.tensors.push_back(value->name());
    if (position->bytes.is_known()) point.bytes = dim::to_string(position->bytes);
    if (positions.weights > 0)
      point.weight_share_before =
          static_cast<double>(position->weights_before) / static_cast<double>(positions.weights);
    if (positions.flops > 0) point.flops_share_before = position->flops_before / positions.flops;
  }
  return points;
}

}  // namespace thaw::splitting
