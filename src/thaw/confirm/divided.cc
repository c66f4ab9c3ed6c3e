#include "thaw/confirm/divided.h"

#include <deque>
#include <memory>

#include "thaw/confirm/original.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr int kDividedPoints = 3;

class Chain {
 public:
  Chain(std::span<const ir::Model* const> parts, const SessionOptions& options) : parts_(parts), options_(options) {}

  // All that comes out of any part.
  Arrays run(const Arrays& feeds) {
    Arrays known = feeds;
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (sessions_.size() == i) sessions_.emplace_back(*parts_[i], options_);
      Arrays taken;
      for (const ir::Value* input : parts_[i]->graph->inputs())
        if (const auto found = known.find(input->name()); found != known.end()) taken.insert(*found);
      for (auto& [name, array] : sessions_[i].run(taken)) known.insert_or_assign(name, std::move(array));
    }
    return known;
  }

 private:
  std::span<const ir::Model* const> parts_;
  SessionOptions options_;
  std::deque<run::Session> sessions_;
};

}  // namespace

AgainstReference compare_parts(std::span<const ir::Model* const> parts, const ir::Model& whole,
                               const FeedOptions& feeds) {
  const std::unique_ptr<ir::Model> own = ir::clone(whole);  // it may lose what it declares inside
  const Side before = [&](const SessionOptions& options) -> Runner {
    return [model = std::make_shared<Original>(*own, options)](const Arrays& fed) { return model->run(fed); };
  };
  const Side after = [&](const SessionOptions& options) -> Runner {
    return [chain = std::make_shared<Chain>(parts, options)](const Arrays& fed) { return chain->run(fed); };
  };
  return run_against_reference(whole, feeds, kDividedPoints, before, after);
}

}  // namespace thaw::confirm
