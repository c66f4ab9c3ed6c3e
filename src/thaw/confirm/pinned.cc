#include "thaw/confirm/pinned.h"

#include "thaw/confirm/beside.h"
#include "thaw/confirm/original.h"
#include "thaw/confirm/run_check.h"
#include "thaw/confirm/same_noise.h"
#include "thaw/optimize/optimize.h"
#include "thaw/pin/pin.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr int kPoints = 2;  // where sizes are left open

}  // namespace

Pinned pin_unchecked(ir::Model& model, const PinOptions& options) {
  Pinned result;
  PinReport& report = result.report;
  report.nodes_before = optimizing::weigh(*model.graph).nodes;
  pinning::Pinned pinned = pinning::pin(model, options);
  report.changed = std::move(pinned.changes.made);
  report.open = std::move(pinned.open);
  report.nodes_after = optimizing::weigh(*model.graph).nodes;
  result.given = std::move(pinned.given);
  return result;
}

void check(Pinned& pinned, const ir::Model& model, const ir::Model& original, const PinOptions& options) {
  if (!options.check) return;
  const std::unique_ptr<ir::Model> own = with_same_noise(original);
  std::unique_ptr<ir::Model> made;
  const ir::Model& result = with_same_noise(model, made);
  Original before(*own, check_session());
  std::optional<run::Session> after;
  const auto run_before = [&](const Arrays& feeds) {
    Arrays all = feeds;
    all.insert(pinned.given.begin(), pinned.given.end());
    return before.run(all);
  };
  const auto run_after = [&](const Arrays& feeds) {
    if (made) const run::Session as_written(model, check_session());
    if (!after) after.emplace(result, check_session());
    return after->run(feeds);
  };
  Beside beside = run_beside(model, options.feeds, kPoints, run_before, run_after);
  pinned.report.checks = std::move(beside.checks);
  pinned.report.uncompared = std::move(beside.uncompared);
}

PinReport pin(ir::Model& model, const ir::Model& original, const PinOptions& options) {
  Pinned pinned = pin_unchecked(model, options);
  check(pinned, model, original, options);
  return std::move(pinned.report);
}

}  // namespace thaw::confirm
