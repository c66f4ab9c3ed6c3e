#include "thaw/lift/explain.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/align/evidence.h"
#include "thaw/lift/align/same_node.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lift {
namespace {

bool same_tables(const std::vector<const ir::Tensor*>& a, const std::vector<const ir::Tensor*>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Tensor* x, const ir::Tensor* y) { return same_tensor(*x, *y); });
}

std::string place_of(const Difference& difference) {
  return fmt::format("{} reads '{}'", difference.node->describe(), difference.value->name());
}

// What a size was in each trace. Of one that never changed nothing is learned.
Note told(const Variable& variable) {
  std::vector<std::string> at;
  for (const int64_t value : variable.at) at.push_back(std::to_string(value));
  return {dim::to_string(variable.symbol),
          fmt::format("{}{}", fmt::join(at, ", "), variable.varies() ? "" : ": right at this value, untold at others"),
          at};
}

}  // namespace

Explanation::Explanation(std::vector<Trace>& traces, const Options& options, const Choices& choices)
    : options_(options),
      variables_(find_variables(traces, options.added, scope_)),
      tensor_sizes_(sizes_of_tensors(traces, variables_, scope_)),
      solver_(variables_, &choices, &tensor_sizes_),
      context_{variables_, solver_},
      held_back_(traces, variables_, tensor_sizes_) {
  for (Trace& trace : traces) rewrite::remove_unused(*trace.model);
  for (const Variable& v : variables_) report_.variables.push_back(told(v));
  alignment_ = align(traces);
  for (const std::string& clause : alignment_.unaligned)
    report_.unexplained.push_back({clause, "only constants and loops over windows are lifted"});
  for (const Difference& difference : alignment_.differences) explain(difference);
  if (!alignment_.loops.empty()) {
    const TraceShapes shapes(traces, variables_, alignment_);
    for (const Loop& loop : alignment_.loops) explain(loop, shapes, *traces.front().model);
  }
  for (auto& [where, message] : held_back_.said()) report_.held_back.push_back({where, message});
}

void Explanation::explain(const Difference& difference) {
  if (options_.keep_static.contains(difference.value->name())) return;
  std::string reason;
  const auto known = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return same_tables(group.readers.front()->tensors, difference.tensors);
  });
  if (known != groups_.end()) {
    report_.lifted.push_back({place_of(difference), known->fit.description, evidence(difference.tensors)});
    known->readers.push_back(&difference);
  } else if (auto fit = fit_table(difference.tensors, context_, reason)) {
    report_.lifted.push_back({place_of(difference), fit->description, evidence(difference.tensors)});
    held_back_.ask(difference.tensors, fit->description);
    groups_.push_back({{&difference}, std::move(*fit)});
  } else {
    report_.unexplained.push_back({place_of(difference), reason, evidence(difference.tensors)});
  }
}

void Explanation::explain(const Loop& loop, const TraceShapes& shapes, const ir::Model& first) {
  std::vector<std::vector<int64_t>> lengths;
  std::vector<std::string> evidence;
  for (const Unrolled& unrolled : loop.traces) {
    lengths.push_back(unrolled.lengths);
    evidence.push_back(fmt::format("{} branches", unrolled.lengths.size()));
  }
  const std::string place = fmt::format("{} joins a branch for each window", loop.traces[0].joins[0]->describe());
  auto group = std::find_if(loop_groups_.begin(), loop_groups_.end(),
                            [&](const LoopGroup& known) { return known.lengths == lengths; });
  if (group == loop_groups_.end()) {
    LoopGroup fresh{.lengths = lengths, .loops = {}, .size = {}, .fit = {}};
    std::string reason;
    if (!explain_lengths(fresh, reason)) {
      report_.unexplained.push_back({place, reason, evidence});
      return;
    }
    group = loop_groups_.insert(loop_groups_.end(), std::move(fresh));
  }
  try {
    group->loops.emplace_back(&loop, batched_body(loop, alignment_, shapes, first));
  } catch (const CannotRoll& reason) {
    report_.unexplained.push_back({place, reason.why, evidence});
    return;
  }
  report_.lifted.push_back({place,
                            group->size
                                ? fmt::format("one batch of windows of {}, the last of what is left", *group->size)
                                : "one batch of windows, padded: " + group->fit->description,
                            evidence});
}

// Windows of a grid are told by its sides. Windows of a list are told by their size, and by the tensor that is cut.
bool Explanation::explain_lengths(LoopGroup& group, std::string& reason) {
  const auto equal = equal_windows(group.lengths);
  const bool has_short_one = std::any_of(group.lengths.begin(), group.lengths.end(), [&](const auto& lengths) {
    return lengths.size() > 1 && lengths.back() != lengths.front();
  });
  if (equal && has_short_one) {
    group.size = equal;
    return true;
  }
  std::vector<ir::Tensor> lists;
  for (const auto& lengths : group.lengths)
    lists.push_back(ir::Tensor::from_int64("window_lengths", {static_cast<int64_t>(lengths.size())}, lengths));
  std::vector<const ir::Tensor*> tensors;
  for (const ir::Tensor& list : lists) tensors.push_back(&list);
  group.fit = fit_table(tensors, context_, reason);
  if (group.fit) held_back_.ask(tensors, group.fit->description);
  if (!group.fit) group.size = equal;
  return group.fit || group.size;
}

}  // namespace thaw::lift
