// Frozen sizes as expressions of the inputs, axis by axis.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/fix/freedom.h"
#include "thaw/fix/passes.h"
#include "thaw/fix/thaw_attempt.h"
#include "thaw/ir/graph/transaction.h"

namespace thaw::fixing {

namespace {

// Each try holds one size more than the one before, so this bounds the work, not what can be found.
constexpr int kMostTries = 24;

// Every size but those that are held is freed, the result is looked at, and what does not move in it is held too; until
// nothing new is held. What a try rewrote is taken back whole.
class WholeAxes {
 public:
  explicit WholeAxes(rewrite::PassContext& context)
      : model_(context.model), changes_(context.changes), freedom_(context.model) {}

  // Returns how many changes it made.
  int run() {
    const size_t before = changes_.made.size();
    bool is_done = false;
    for (int tries = 0; tries < kMostTries && !is_done; ++tries) is_done = try_once();
    if (!is_done)
      changes_.left = {{.kind = "THAW010",
                        .location = "the graph",
                        .why = "its sizes depend on each other in more ways than fix tries"}};
    tell();
    return static_cast<int>(changes_.made.size() - before);
  }

 private:
  // True where nothing new is held.
  bool try_once() {
    ir::Transaction edit(model_);
    Attempt attempt = attempt_to_thaw(model_, held_);
    if (axes_.empty()) axes_ = attempt.axes;
    bool is_new = hold(attempt.bound);
    if (!is_new && attempt.changes.modified()) is_new = hold(freedom_.bound_in(model_, attempt));
    if (is_new) return false;
    edit.keep();
    std::ranges::move(attempt.changes.made, std::back_inserter(changes_.made));
    for (Change& left : attempt.changes.left) say(std::move(left));
    return true;
  }

  bool hold(const std::vector<Bound>& bound) {
    const size_t before = held_.size();
    for (const Bound& b : bound) {
      if (b.left.kind == code_of(frozen::FrozenRole::kWeight)) network_.insert(b.size);
      if (!held_.insert(b.size).second) continue;
      say(b.left);
      holders_.push_back(b);
    }
    return held_.size() > before;
  }

  void say(Change left) {
    const bool is_reported =
        std::ranges::any_of(left_, [&](const Change& other) { return other.location == left.location; });
    if (!is_reported) left_.push_back(std::move(left));
  }

  void tell() {
    for (Change& left : left_) {
      const bool is_thawed =
          std::ranges::any_of(changes_.made, [&](const Change& made) { return made.location == left.location; });
      if (!is_thawed) changes_.left.push_back(std::move(left));
    }
    // One line for all that one location holds.
    std::vector<std::pair<Change, std::vector<std::string>>> held_by;
    for (const Bound& b : holders_) {
      const auto axes = axes_.find(b.size);
      if (axes == axes_.end() || network_.contains(b.size)) continue;
      auto at = std::ranges::find_if(held_by, [&](const auto& one) { return one.first.location == b.left.location; });
      if (at == held_by.end()) at = held_by.insert(held_by.end(), {b.left, {}});
      at->second.insert(at->second.end(), axes->second.begin(), axes->second.end());
    }
    for (const auto& [holder, axes] : held_by)
      changes_.left.push_back(
          {.kind = holder.kind,
           .location = fmt::format("{}", fmt::join(axes, ", ")),
           .why = fmt::format("stays static, with every size derived from it, because of {} ({}); {}",
                              quoted(holder.location), holder.why, next_step(holder.kind))});
  }

  // A node is described with its name in quotes, a tensor by its name alone.
  static std::string quoted(const std::string& location) {
    return location.find('\'') == std::string::npos ? fmt::format("'{}'", location) : location;
  }

  static std::string_view next_step(std::string_view kind) {
    if (kind == "THAW018") return "`thaw batch` adds a batch axis";
    return "give exports at two sizes to `thaw lift`, or recorded outputs to `thaw fix --reference`";
  }

  ir::Model& model_;
  rewrite::Changes& changes_;
  const Freedom freedom_;
  std::set<std::string> held_;
  std::set<std::string> network_;  // of them, those that a weight fixes: that is how the network is made
  std::vector<Bound> holders_;
  std::vector<Change> left_;
  std::map<std::string, std::vector<std::string>> axes_;
};

}  // namespace

int thaw_sizes(rewrite::PassContext& context) { return WholeAxes(context).run(); }

}  // namespace thaw::fixing
