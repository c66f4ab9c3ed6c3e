#include "thaw/confirm/divided.h"

#include "thaw/confirm/beside.h"
#include "thaw/confirm/original.h"
#include "thaw/confirm/run_check.h"
#include "thaw/confirm/same_noise.h"
#include "thaw/optimize/optimize.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr int kPoints = 3;

class Chain {
 public:
  explicit Chain(const std::vector<splitting::Part>& parts) : parts_(parts), made_(parts.size()) {}

  // All that comes out of any part.
  Arrays run(const Arrays& feeds) {
    Arrays known = feeds;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (sessions_.size() == i) open(i);
      Arrays taken;
      for (const ir::Value* input : parts_[i].model->graph->inputs())
        if (const auto found = known.find(input->name()); found != known.end()) taken.insert(*found);
      for (auto& [name, array] : sessions_[i].run(taken)) known.insert_or_assign(name, std::move(array));
    }
    return known;
  }

 private:
  void open(size_t i) {
    sessions_.emplace_back(with_same_noise(*parts_[i].model, made_[i]), check_session());
    if (made_[i]) const run::Session as_written(*parts_[i].model, check_session());
  }

  const std::vector<splitting::Part>& parts_;
  std::vector<std::unique_ptr<ir::Model>> made_;  // of parts that draw numbers
  std::vector<run::Session> sessions_;
};

}  // namespace

Divided split(const ir::Model& model, const SplitOptions& options,
              const std::function<void(const std::vector<splitting::Part>&)>& require) {
  Divided divided;
  splitting::Result result = splitting::split(model, options);
  divided.parts = std::move(result.parts);
  if (require) require(divided.parts);
  SplitReport& report = divided.report;
  report.carried = std::move(result.carried);
  for (const splitting::Part& part : divided.parts) {
    SplitPart& told = report.parts.emplace_back();
    for (const ir::Value* input : part.model->graph->inputs()) told.inputs.push_back(input->name());
    told.outputs = part.outputs;
    const optimizing::Weight weight = optimizing::weigh(*part.model->graph);
    told.nodes = weight.nodes;
    told.weights = weight.bytes;
  }
  if (!options.check) return divided;
  const std::unique_ptr<ir::Model> own = with_same_noise(model);
  Original whole(*own, check_session());
  Chain chain(divided.parts);
  Beside beside = run_beside(
      model, options.feeds, kPoints, [&](const Arrays& feeds) { return whole.run(feeds); },
      [&](const Arrays& feeds) { return chain.run(feeds); });
  report.checks = std::move(beside.checks);
  report.uncompared = std::move(beside.uncompared);
  return divided;
}

}  // namespace thaw::confirm
