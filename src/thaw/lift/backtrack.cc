#include "thaw/lift/backtrack.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/ir/graph/transaction.h"
#include "thaw/lift/explain.h"
#include "thaw/lift/rewrite.h"
#include "thaw/lift/solve/contradictions.h"

namespace thaw::lift {
namespace {

constexpr size_t kMostAttempts = 100, kMostSolutions = 8;

struct Attempt {
  Choices choices;
  Report report;
  std::map<std::vector<int64_t>, Rule> solved;
  Contradictions contradictions;
  std::unique_ptr<ir::Transaction> edit = {};  // the rewrite, taken back where nobody keeps it
  bool is_whole() const { return report.unexplained.empty(); }
};

class Backtracking {
 public:
  Backtracking(std::vector<Trace>& traces, const Options& options)
      : traces_(traces), options_(options), model_(*traces.front().model) {}

  Report run() {
    Attempt best = attempt({});
    while (best.is_whole() && best.contradictions.broken > 0) {
      best.edit.reset();
      auto better = improve(best);
      if (!better) break;
      best = std::move(*better);
    }
    say(best);
    if (best.is_whole()) best.edit->keep();
    return std::move(best.report);
  }

 private:
  // The traces explained with these choices, and the first rewritten.
  Attempt attempt(Choices choices) {
    ++attempts_;
    Attempt made{.choices = std::move(choices)};
    Explanation explanation(traces_, options_, made.choices);
    made.report = std::move(explanation.report());
    made.solved = explanation.solved();
    if (!made.is_whole()) return made;
    std::unordered_set<const ir::Node*> traced;
    for (const ir::Node* node : model_.graph->nodes()) traced.insert(node);
    made.edit = std::make_unique<ir::Transaction>(model_);
    rewrite(traces_, options_, explanation);
    // What is kept static contradicts other sizes, as it is asked to.
    if (options_.keep_static.empty())
      made.contradictions = find_contradictions(model_, explanation.variables(), traced);
    return made;
  }

  // An attempt with one choice changed and less to contradict.
  std::optional<Attempt> improve(const Attempt& best) {
    std::vector<std::pair<Rule, std::vector<int64_t>>> suspects;
    for (const auto& [wanted, rule] : best.solved) suspects.emplace_back(rule, wanted);
    std::stable_sort(suspects.begin(), suspects.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [rule, wanted] : suspects) {
      for (size_t next = 1; next < kMostSolutions && attempts_ < kMostAttempts; ++next) {
        Choices choices = best.choices;
        choices[wanted] += next;
        Attempt other = attempt(std::move(choices));
        if (!other.is_whole()) break;  // no more solutions
        if (other.contradictions.reached > best.contradictions.reached) return other;
      }
    }
    return std::nullopt;
  }

  static void say(Attempt& best) {
    const Contradictions& c = best.contradictions;
    if (!best.is_whole() || c.sizes == 0) return;
    if (c.broken > 0) {
      best.report.unexplained.push_back(
          {c.first,
           fmt::format("the sizes that were found contradict each other at {} of {} sizes that no trace has; a "
                       "trace at another one tells what these leave open",
                       c.broken, c.sizes)});
      return;
    }
    best.report.inferred.push_back(
        {fmt::format("{} sizes that no trace has", c.sizes), "every node can be right at each of them"});
    for (const auto& [wanted, passed] : best.choices)
      best.report.inferred.push_back({fmt::format("{}", fmt::join(wanted, ", ")),
                                      fmt::format("{} simpler solutions contradict other nodes", passed)});
  }

  std::vector<Trace>& traces_;
  const Options& options_;
  ir::Model& model_;
  size_t attempts_ = 0;
};

}  // namespace

Report backtrack(std::vector<Trace>& traces, const Options& options) { return Backtracking(traces, options).run(); }

}  // namespace thaw::lift
