#include "thaw/run/session.h"

#include <utility>

#include "thaw/core/call_clock.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/run.h"
#include "thaw/run/providers.h"
#include "thaw/run/runtime.h"
#include "thaw/verbs/access.h"

namespace thaw {

void set_providers(std::vector<Provider> providers) {
  const CallClock clock;
  run::require_providers(providers);
  run::set_providers(std::move(providers));
}
std::vector<Provider> providers() { return run::process_providers(); }
void set_onnxruntime(const std::filesystem::path& path) { run::set_runtime(path); }

Session::Session(const std::filesystem::path& path, const SessionOptions& options) {
  ops::require_arity(*ir::load(path));
  session_ = std::make_unique<run::Session>(path, options);
}
Session::Session(const Model& model, const SessionOptions& options)
    : session_(std::make_unique<run::Session>(ModelAccess::of(model), options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::vector<Port> Session::inputs() const { return session_->inputs(); }
std::vector<Port> Session::outputs() const { return session_->outputs(); }
Arrays Session::run(const Arrays& feeds, const std::vector<std::string>& wanted) {
  return session_->run(feeds, wanted);
}
Runtime Session::runtime() const { return session_->runtime(); }
Placement Session::placement() { return session_->placement(); }
std::vector<std::string> Session::take_warnings() { return session_->take_warnings(); }

}  // namespace thaw
