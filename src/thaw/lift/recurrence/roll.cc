#include "thaw/lift/recurrence/roll.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/transaction.h"
#include "thaw/lift/align/fold_sizes.h"
#include "thaw/lift/recurrence/emit_scan.h"
#include "thaw/lift/recurrence/find_strands.h"
#include "thaw/lift/recurrence/join_writes.h"
#include "thaw/lift/recurrence/unrolled_body.h"
#include "thaw/ops/rule/emit.h"
#include "thaw/rewrite/remove_unused.h"

namespace thaw::lifting {
namespace {

// A trace with what repeats in it.
struct Unfolded {
  explicit Unfolded(const std::string& called, ir::Model& in) : name(called), model(in) {
    recurrences = find_strands(*model.graph);
    facts = infer::infer(model, scope);
  }

  const std::string& name;
  ir::Model& model;
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

// The operators of a step, in order.
std::string outline(const Strands& strands) {
  std::string text;
  for (const Strand& strand : strands) text.append(strand.nodes.back()->op_type()).append(" ");
  return text;
}

// What some traces have as often as each other and unrolled to different lengths, by its look: the traces that have it.
// What chance pairs in one of them is in none of the others, or as long there.
std::map<std::string, std::vector<size_t>> unrolled_by_look(const Traces& traces) {
  std::map<std::string, std::vector<std::vector<int64_t>>> lengths;  // by trace, in the order of the graph
  for (size_t k = 0; k < traces.size(); ++k) {
    for (const Strands& strands : traces[k]->recurrences) {
      auto& of = lengths[outline(strands)];
      of.resize(traces.size());
      of[k].push_back(steps_of(strands));
    }
  }
  std::map<std::string, std::vector<size_t>> found;
  for (const auto& [look, of] : lengths) {
    size_t most = 0;
    for (const auto& each : of) most = std::max(most, each.size());
    std::vector<size_t> having;
    std::set<std::vector<int64_t>> different;
    for (size_t k = 0; k < traces.size(); ++k) {
      if (of[k].size() != most) continue;
      having.push_back(k);
      different.insert(of[k]);
    }
    if (different.size() > 1) found.emplace(look, std::move(having));
  }
  return found;
}

// Leaves of each trace what looks so.
void keep_alone(Unfolded& trace, const std::map<std::string, std::vector<size_t>>& looks) {
  std::erase_if(trace.recurrences, [&](const Strands& strands) { return !looks.contains(outline(strands)); });
}

bool same_order(const Traces& traces) {
  return std::ranges::all_of(traces, [&](const auto& trace) {
    return std::ranges::equal(trace->recurrences, traces.front()->recurrences, {}, outline, outline);
  });
}

// Whether all traces have it rolled; else it is left in all, and why is said.
bool roll_one(const Traces& traces, size_t index, std::string& why) {
  std::vector<std::unique_ptr<ir::Transaction>> edits;
  for (const auto& each : traces) {
    ir::Model& model = each->model;
    const Strands& strands = each->recurrences[index];
    const auto body = fold_steps(strands, each->facts, why);
    if (why.empty()) {
      edits.push_back(std::make_unique<ir::Transaction>(model));
      try {
        put_scan(model, strands, *body, each->facts);
      } catch (const ops::CannotWrite& cannot) {
        why = cannot.why;
      }
    }
    if (why.empty()) continue;
    why = fmt::format("{} (in {})", why, each->name);
    return false;
  }
  for (auto& edit : edits) edit->keep();
  return true;
}

Note note_of_scan(const Traces& traces, size_t index) {
  const Strands& strands = traces.front()->recurrences[index];
  Note note{fmt::format("steps from {} on", strands.front().nodes.front()->describe()),
            fmt::format("one Scan of {} nodes, over as many steps as there are", strands.size()),
            {}};
  for (const auto& each : traces) note.at.push_back(fmt::format("{} steps", steps_of(each->recurrences[index])));
  return note;
}

// What stays as it is of what the traces have unrolled to different lengths, and why.
std::vector<std::string> roll_all(const Traces& traces, std::vector<Note>& scans) {
  std::vector<std::string> left;
  for (size_t i = 0; i < traces.front()->recurrences.size(); ++i) {
    std::string why;
    Note note = note_of_scan(traces, i);
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
  std::vector<std::unique_ptr<ir::Model>> copies;
  Traces all;
  for (const Trace& trace : traces) {
    copies.push_back(ir::clone(*trace.model));
    write_as_rows(*copies.back());
    all.push_back(std::make_unique<Unfolded>(trace.name, *copies.back()));
  }
  const auto looks = unrolled_by_look(all);
  const auto has_all = [&](size_t k) {
    return std::ranges::all_of(looks, [&](const auto& look) { return std::ranges::binary_search(look.second, k); });
  };
  Rolled none{.left = {"no two traces repeat the same nodes"}};
  if (looks.empty()) return same_order(all) ? Rolled() : none;
  Rolled rolled;
  Traces long_enough;
  for (size_t k = 0; k < traces.size(); ++k) {
    if (has_all(k)) {
      keep_alone(*all[k], looks);
      long_enough.push_back(std::move(all[k]));
    } else {
      rolled.aside.push_back(k);
    }
  }
  if (long_enough.size() < 2 || !same_order(long_enough)) return none;
  // What is rolled leaves its inputs stacked, and what made them can be rolled then.
  for (int round = 0; round < kMostRounds; ++round) {
    const size_t before = rolled.scans.size();
    rolled.left = roll_all(long_enough, rolled.scans);
    if (rolled.left.empty() || rolled.scans.size() == before) break;
    for (auto& each : long_enough) each = std::make_unique<Unfolded>(each->name, each->model);
    const auto rest = unrolled_by_look(long_enough);
    for (auto& each : long_enough) keep_alone(*each, rest);
    if (rest.empty() || !same_order(long_enough)) break;
  }
  if (rolled.scans.empty()) return {.left = std::move(rolled.left)};
  for (size_t k = 0; k < traces.size(); ++k) {
    if (std::ranges::binary_search(rolled.aside, k)) continue;
    rewrite::remove_unused(*copies[k]);
    traces[k].model = std::move(copies[k]);
  }
  return rolled;
}

}  // namespace thaw::lifting
