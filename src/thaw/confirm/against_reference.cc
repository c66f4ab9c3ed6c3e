#include "thaw/confirm/against_reference.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "thaw/confirm/cost_of_runs.h"
#include "thaw/confirm/likely_feeds.h"
#include "thaw/confirm/model_inputs.h"
#include "thaw/confirm/own_sizes.h"
#include "thaw/confirm/reconsider.h"
#include "thaw/core/error.h"
#include "thaw/run/chosen_sizes.h"
#include "thaw/run/session.h"

namespace thaw::confirm {

namespace {

class ReferenceComparison {
 public:
  ReferenceComparison(const run::Feeder& feeder, const Runner& wanted, const Judge& judge)
      : feeder_(feeder), wanted_(wanted), judge_(judge) {}

  // At up to `points` sizes more. False where nothing more can be tried.
  bool compare_at(run::ChosenSizes& choice, const run::Point& base, size_t points) {
    const size_t most = found_.checks.size() + points;
    std::optional<run::Point> point = choice.has_choice() ? choice.next() : base;
    while (point && found_.checks.size() < most) {
      const bool is_new = std::ranges::find(seen_, *point) == seen_.end();
      bool runs = false;
      try {
        runs = is_new && compare_at(*point);
      } catch (const run::RunTimedOut& error) {
        failure_ = error.what();
        found_.has_timed_out = true;
        return false;
      }
      if (choice.has_choice()) choice.tell(runs);
      point = choice.has_choice() ? choice.next() : std::nullopt;
    }
    if (failure_.empty()) failure_ = choice.too_large();
    return true;
  }

  AgainstReference take() {
    if (found_.checks.empty()) found_.not_compared.push_back("the original does not run here: " + failure_);
    return std::move(found_);
  }

 private:
  // Whether the model runs there.
  bool compare_at(const run::Point& point) {
    seen_.push_back(point);
    Arrays fed, results;
    try {
      fed = feeder_.make(point);
      results = wanted_(fed);
    } catch (const run::RunTimedOut&) {
      throw;
    } catch (const Error& error) {
      if (failure_.empty()) failure_ = error.what();
      return false;
    }
    RunCheck check;
    check.name = point.sizes.empty() ? "the model's sizes" : run::describe(point);
    note_inputs(fed, check);
    try {
      judge_(fed, results, check);
    } catch (const Error& error) {
      fail_check(check, error.what());
    }
    found_.checks.push_back(std::move(check));
    return true;
  }

  const run::Feeder& feeder_;
  const Runner& wanted_;
  const Judge& judge_;
  AgainstReference found_;
  std::vector<run::Point> seen_;
  std::string failure_;
};

AgainstReference judge_drawn(const ir::Model& drawn, const FeedOptions& feeds, int points, const Runner& wanted,
                             const Judge& judge) {
  dim::Scope scope;
  const ModelInputs known = look_at_inputs(drawn, scope);
  const run::Feeder feeder(known.inputs, scope, feeds);
  const run::SizeConditions conditions(known.conditions);
  const run::RunCost cost = cost_of_runs(drawn, known.facts);
  ReferenceComparison comparison(feeder, wanted, judge);
  // Its own sizes first: it may run at no others.
  run::Point own;
  const std::map<std::string, int64_t> sizes = own_sizes(drawn, known.inputs, scope);
  for (const run::FreeSymbol& symbol : feeder.free_symbols({}))
    if (const auto size = sizes.find(symbol.name); size != sizes.end())
      own.sizes.emplace_back(symbol.name, size->second);
  run::ChosenSizes first(feeder, scope, conditions, cost, own), others(feeder, scope, conditions, cost, {});
  if (comparison.compare_at(first, own, 1) && others.has_choice())
    comparison.compare_at(others, {}, static_cast<size_t>(points) - 1);
  return comparison.take();
}

// With all of the group together.
AgainstReference judge_each(const ir::Model& drawn, const std::vector<FeedOptions>& group, int points,
                            const Runner& wanted, const Judge& judge) {
  AgainstReference together;
  for (const FeedOptions& feeds : group) {
    AgainstReference compared = judge_drawn(drawn, feeds, points, wanted, judge);
    std::ranges::move(compared.checks, std::back_inserter(together.checks));
    together.has_timed_out = compared.has_timed_out;
    together.not_compared = std::move(compared.not_compared);
    if (together.has_timed_out) break;
  }
  if (!together.checks.empty()) together.not_compared.clear();
  return together;
}

}  // namespace

AgainstReference run_against_reference(const ir::Model& drawn, const FeedOptions& feeds, int points, const Side& wanted,
                                       const Side& got) {
  const Runner run_wanted = wanted(check_session()), run_got = got(check_session());
  std::optional<std::pair<Runner, Runner>> plain;
  return judge_against_reference(drawn, feeds, points, run_wanted,
                                 [&](const Arrays& fed, const Arrays& results, RunCheck& check) {
                                   compare_outputs(results, run_got(fed), check);
                                   reconsider(check, [&](RunCheck& again) {
                                     if (!plain) plain.emplace(wanted(as_it_is_written()), got(as_it_is_written()));
                                     compare_outputs(plain->first(fed), plain->second(fed), again);
                                   });
                                 });
}

AgainstReference judge_against_reference(const ir::Model& drawn, const FeedOptions& feeds, int points,
                                         const Runner& wanted, const Judge& judge) {
  if (std::string reason = lacks_memory(drawn); !reason.empty())
    return {.checks = {}, .not_compared = {"nothing was compared: " + reason}};
  const std::vector<FeedOptions> grids = grid_feeds(drawn, feeds);
  AgainstReference small = judge_each(drawn, grids, points, wanted, judge);
  if (small.has_timed_out || (!grids.empty() && small.checks.size() >= grids.size())) return small;
  AgainstReference compared = judge_drawn(drawn, feeds, points, wanted, judge);
  if (compared.checks.empty() && !small.checks.empty()) return small;
  std::ranges::move(small.checks, std::back_inserter(compared.checks));
  if (!compared.checks.empty() || compared.has_timed_out) return compared;
  // A model may take few of the integers that are drawn.
  for (const std::vector<FeedOptions>& group : likely_feeds(drawn, feeds))
    if (AgainstReference likely = judge_each(drawn, group, points, wanted, judge); !likely.checks.empty())
      return likely;
  return compared;
}

}  // namespace thaw::confirm
