#include "thaw/lift/recurrence/roll.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/lift/align/fold_sizes.h"
#include "thaw/lift/recurrence/emit_scan.h"
#include "thaw/lift/recurrence/find_strands.h"
#include "thaw/lift/recurrence/join_writes.h"
#include "thaw/lift/recurrence/unrolled_body.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

// A trace with what repeats in it.
struct Unfolded {
  explicit Unfolded(Trace& of) : trace(&of) {
    recurrences = find_strands(*of.model->graph);
    facts = infer::infer(*of.model, scope);
  }

  Trace* trace;
  dim::Scope scope;
  infer::Result facts;
  std::vector<Strands> recurrences;
};
using Traces = std::vector<std::unique_ptr<Unfolded>>;

int64_t steps_of(const Strands& strands) {
  int64_t first = strands.front().first, end = strands.front().end();
  for (const Strand& strand : strands) {
    first = std::min(first, strand.first);
    end = std::max(end, strand.end());
  }
  return end - first;
}

// The operators of the steps of each, in order.
std::string outline(const Unfolded& trace) {
  std::string text;
  for (const Strands& strands : trace.recurrences) {
    for (const Strand& strand : strands) text.append(strand.nodes.back()->op_type()).append(" ");
    text.append("| ");
  }
  return text;
}

// The traces that repeat the same nodes, as far as most of them do; those with the most to repeat, where as many have
// less.
std::vector<size_t> most_alike(const Traces& traces) {
  std::map<std::string, std::vector<size_t>> groups;
  for (size_t k = 0; k < traces.size(); ++k) groups[outline(*traces[k])].push_back(k);
  const auto rank = [&](const auto& group) {
    const size_t repeated = traces[group.second.front()]->recurrences.size();
    return std::pair(repeated == 0 ? 0 : group.second.size(), group.first.size());
  };
  return std::ranges::max_element(groups, {}, rank)->second;
}

// Whether all traces have it rolled; else it is left in all, and why is said.
bool roll_one(const Traces& traces, size_t index, std::string& why) {
  std::vector<std::unique_ptr<ir::Transaction>> edits;
  for (const auto& each : traces) {
    const Strands& strands = each->recurrences[index];
    const auto body = fold_steps(strands, each->facts, why);
    if (!body) {
      why = fmt::format("{} (in {})", why, each->trace->name);
      return false;
    }
    edits.push_back(std::make_unique<ir::Transaction>(*each->trace->model));
    put_scan(*each->trace->model, strands, *body, each->facts);
  }
  for (auto& edit : edits) edit->keep();
  return true;
}

Note note_of(const Traces& traces, size_t index) {
  const Strands& strands = traces.front()->recurrences[index];
  Note note{fmt::format("steps from {} on", strands.front().nodes.front()->describe()),
            fmt::format("one Scan, of as many steps as there were, {} nodes each", strands.size()),
            {}};
  for (const auto& each : traces) note.at.push_back(std::to_string(steps_of(each->recurrences[index])));
  return note;
}

bool differs(const Traces& traces, size_t index) {
  return std::ranges::any_of(traces, [&](const auto& each) {
    return steps_of(each->recurrences[index]) != steps_of(traces.front()->recurrences[index]);
  });
}

// What stays as it is of what the traces have unrolled to different lengths, and why.
std::vector<std::string> roll_all(const Traces& traces, std::vector<Note>& scans) {
  std::vector<std::string> left;
  for (size_t i = 0; i < traces.front()->recurrences.size(); ++i) {
    std::string why;
    if (!differs(traces, i)) continue;
    Note note = note_of(traces, i);
    if (roll_one(traces, i, why)) {
      scans.push_back(std::move(note));
    } else {
      left.push_back(std::move(why));
    }
  }
  return left;
}

// What was computed of sizes as constants, and what was written into buffers as rows.
void write_as_rows(ir::Model& model) {
  fold_sizes(model);
  dim::Scope scope;
  join_writes(model, infer::infer(model, scope));
  rewrite::remove_unused(model);
}

}  // namespace

Rolled roll_recurrences(std::vector<Trace>& traces) {
  constexpr int kMostRounds = 8;
  std::vector<std::unique_ptr<ir::Transaction>> edits;
  Traces all;
  for (Trace& trace : traces) {
    edits.push_back(std::make_unique<ir::Transaction>(*trace.model));
    write_as_rows(*trace.model);
    all.push_back(std::make_unique<Unfolded>(trace));
  }
  const std::vector<size_t> alike = most_alike(all);
  if (alike.size() < 2 || all[alike.front()]->recurrences.empty()) {
    const bool any = std::ranges::any_of(all, [](const auto& each) { return !each->recurrences.empty(); });
    if (any && alike.size() < 2) return {.left = {"no two traces repeat the same nodes"}};
    return {};
  }
  Rolled rolled;
  for (size_t k = 0; k < traces.size(); ++k)
    if (!std::ranges::binary_search(alike, k)) rolled.aside.push_back(k);
  Traces long_enough;
  for (const size_t k : alike) long_enough.push_back(std::move(all[k]));
  // What is rolled leaves its inputs stacked, and what made them can be rolled then.
  for (int round = 0; round < kMostRounds; ++round) {
    const size_t before = rolled.scans.size();
    rolled.left = roll_all(long_enough, rolled.scans);
    if (rolled.left.empty() || rolled.scans.size() == before) break;
    for (auto& each : long_enough) each = std::make_unique<Unfolded>(*each->trace);
    if (most_alike(long_enough).size() < long_enough.size()) break;
  }
  if (rolled.scans.empty()) return {.left = std::move(rolled.left)};
  for (const size_t k : alike) {
    rewrite::remove_unused(*traces[k].model);
    edits[k]->keep();
  }
  return rolled;
}

}  // namespace thaw::lifting
