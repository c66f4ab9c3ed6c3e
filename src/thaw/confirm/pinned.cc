#include "thaw/confirm/pinned.h"

#include <memory>
#include <optional>

#include "thaw/confirm/original.h"
#include "thaw/run/session.h"

namespace thaw::confirm {
namespace {

constexpr int kPinnedPoints = 2;  // where sizes are left open

}  // namespace

AgainstReference compare_pinned(const ir::Model& pinned, const ir::Model& original, const Arrays& given,
                                const FeedOptions& feeds) {
  const std::unique_ptr<ir::Model> own = ir::clone(original);  // it may lose what it declares inside
  const Side before = [&](const SessionOptions& options) -> Runner {
    return [&given, model = std::make_shared<Original>(*own, options)](const Arrays& fed) {
      Arrays all = fed;
      all.insert(given.begin(), given.end());
      return model->run(all);
    };
  };
  const Side after = [&](const SessionOptions& options) -> Runner {
    return [&pinned, options, session = std::make_shared<std::optional<run::Session>>()](const Arrays& fed) {
      if (!*session) session->emplace(pinned, options);
      return (*session)->run(fed);
    };
  };
  return run_against_reference(pinned, feeds, kPinnedPoints, before, after);
}

}  // namespace thaw::confirm
