#include "thaw/run/session.h"

#include <utility>

#include "thaw/ops/rule/arity.h"
#include "thaw/run.h"
#include "thaw/run/runtime.h"
#include "thaw/verbs/access.h"

namespace thaw {

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
std::vector<std::string> Session::take_warnings() { return session_->take_warnings(); }

}  // namespace thaw
