#include "thaw/lift/aside.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/lift/align/align.h"
#include "thaw/lift/align/even_out.h"

namespace thaw::lifting {
namespace {

size_t count_nodes(const ir::Model& model) {
  size_t count = 0;
  for (const ir::Node* node : model.graph->nodes()) count += node->constant() ? 0 : 1;
  return count;
}

// Large constants that two traces have or more, by name: what was learned. Tables that grow have other sizes.
std::set<std::string> names_of_learned(const std::vector<Trace>& traces) {
  constexpr int64_t kFewest = 64;
  std::map<std::pair<std::string, std::vector<int64_t>>, int> seen;
  std::set<std::string> names;
  for (const Trace& trace : traces) {
    for (const ir::Value* value : trace.model->graph->initializers()) {
      const ir::Tensor& tensor = *value->initializer();
      if (!ir::is_floating(tensor.data_type) || tensor.num_elements() < kFewest) continue;
      if (++seen[{value->name(), tensor.dims}] == 2) names.insert(value->name());
    }
  }
  return names;
}

// Evens the traces out. Whether one of them has not all of that any more: it was folded with all that is made of it.
bool fold_learned(std::vector<Trace>& traces) {
  const std::set<std::string> names = names_of_learned(traces);
  even_out(traces);
  return std::ranges::any_of(traces, [&](const Trace& trace) {
    return std::ranges::any_of(names, [&](const std::string& name) { return !trace.model->graph->find(name); });
  });
}

// Their places, those of the fewest nodes first.
std::vector<size_t> folded_furthest(const std::vector<Trace>& traces) {
  std::vector<size_t> counts, order;
  for (const Trace& trace : traces) {
    order.push_back(counts.size());
    counts.push_back(count_nodes(*trace.model));
  }
  std::ranges::stable_sort(order, {}, [&](size_t k) { return counts[k]; });
  while (!order.empty() && counts[order.back()] == counts[order.front()]) order.pop_back();
  return order;
}

std::vector<Trace> copies_of(const std::vector<Trace>& traces) {
  std::vector<Trace> copies;
  for (const Trace& trace : traces) copies.push_back({trace.name, ir::clone(*trace.model), trace.values, trace.sizes});
  return copies;
}

}  // namespace

Aside::Aside(std::vector<Trace>& traces, const std::vector<size_t>& which) : traces_(traces) {
  for (size_t i = which.size(); i-- > 0;) {
    kept_.push_back(std::move(traces[which[i]]));
    traces.erase(traces.begin() + static_cast<std::ptrdiff_t>(which[i]));
  }
}

Aside::~Aside() {
  for (auto trace = kept_.rbegin(); trace != kept_.rend(); ++trace) traces_.push_back(std::move(*trace));
}

Attempt lift_evened(std::vector<Trace>& traces, const std::function<Attempt()>& lift_even) {
  const std::vector<size_t> order =
      traces.size() < 3 || aligned(traces) ? std::vector<size_t>() : folded_furthest(traces);
  const std::vector<Trace> before = order.empty() ? std::vector<Trace>() : copies_of(traces);
  if (!fold_learned(traces) || order.empty()) return lift_even();
  std::optional<Error> refused;
  Attempt all;
  try {
    all = lift_even();
    if (all.is_whole()) return all;
  } catch (const Error& error) {
    refused = error;
  }
  all.edit.reset();
  for (size_t few = 1; few <= order.size() && few + 2 <= traces.size(); ++few) {
    std::vector<size_t> which(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(few));
    std::ranges::sort(which);
    traces = copies_of(before);
    try {
      const Aside aside(traces, which);
      if (fold_learned(traces)) continue;
      Attempt others = lift_even();
      if (!others.is_whole()) continue;
      for (const size_t k : which)
        others.report.holdout.push_back(
            {before[k].name, "a learned table was folded into it: it is only compared with"});
      return others;
    } catch (const Error&) {
      // What is said of all traces is told.
    }
  }
  if (refused) throw Error(*refused);
  return all;
}

}  // namespace thaw::lifting
