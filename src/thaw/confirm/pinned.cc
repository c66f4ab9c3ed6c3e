#include "thaw/confirm/pinned.h"

#include <memory>
#include <optional>

#include "thaw/confirm/original.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr int kPinnedPoints = 2;  // where sizes are left open

}  // namespace

Beside compare_pinned(const ir::Model& pinned, const ir::Model& original, const Arrays& given,
                      const FeedOptions& feeds) {
  const std::unique_ptr<ir::Model> own = ir::clone(original);  // it may lose what it declares inside
  Original before(*own, check_session());
  std::optional<run::Session> after;
  const auto run_before = [&](const Arrays& fed) {
    Arrays all = fed;
    all.insert(given.begin(), given.end());
    return before.run(all);
  };
  const auto run_after = [&](const Arrays& fed) {
    if (!after) after.emplace(pinned, check_session());
    return after->run(fed);
  };
  return run_beside(pinned, feeds, kPinnedPoints, run_before, run_after);
}

}  // namespace thaw::confirm
