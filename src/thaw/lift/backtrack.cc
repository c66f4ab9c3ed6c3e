#include "thaw/lift/backtrack.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace thaw::lifting {
namespace {

constexpr size_t kMostAttempts = 30, kMostSolutions = 8;

class Backtracking {
 public:
  explicit Backtracking(const std::function<Attempt(Choices)>& attempt) : attempt_(attempt) {}

  Attempt run() {
    Attempt best = attempt({});
    while (best.is_whole() && best.contradictions.broken > 0) {
      best.edit.reset();
      auto better = improve(best);
      if (!better) break;
      best = std::move(*better);
    }
    note_choices(best);
    return best;
  }

 private:
  Attempt attempt(Choices choices) {
    ++attempts_;
    return attempt_(std::move(choices));
  }

  // An attempt with one choice changed and less to contradict.
  std::optional<Attempt> improve(const Attempt& best) {
    std::vector<std::pair<Rule, std::vector<int64_t>>> suspects;
    for (const auto& [wanted, rule] : best.solved) suspects.emplace_back(rule, wanted);
    std::stable_sort(suspects.begin(), suspects.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [rule, wanted] : suspects) {
      for (size_t next = 1; next < kMostSolutions && attempts_ < kMostAttempts; ++next) {
        Choices choices = best.choices;
        choices[wanted].index += next;
        Attempt other = attempt(std::move(choices));
        const auto solved = other.solved.find(wanted);
        const bool is_made_up = solved != other.solved.end() && solved->second == Rule::kMadeUp;
        if (!other.is_whole() || is_made_up) break;  // no more solutions
        if (other.contradictions.num_sound_nodes > best.contradictions.num_sound_nodes) return other;
      }
    }
    return std::nullopt;
  }

  const std::function<Attempt(Choices)>& attempt_;
  size_t attempts_ = 0;
};

}  // namespace

void note_choices(Attempt& best) {
  const Contradictions& c = best.contradictions;
  if (!best.is_whole() || c.sizes == 0) return;
  if (c.broken > 0) {
    best.report.unexplained.push_back(
        {c.first, fmt::format("shape inference fails at {} of {} unseen sizes; add a trace at another size", c.broken,
                              c.sizes)});
    return;
  }
  best.report.inferred.push_back({"shape inference", fmt::format("passes at {} unseen sizes", c.sizes)});
  for (const auto& [wanted, choice] : best.choices) {
    if (choice.index == 0) continue;
    best.report.inferred.push_back({fmt::format("{}", fmt::join(wanted, ", ")),
                                    fmt::format("{} simpler solutions rejected by other nodes", choice.index)});
  }
}

Attempt backtrack(const std::function<Attempt(Choices)>& attempt) { return Backtracking(attempt).run(); }

}  // namespace thaw::lifting
