#include "thaw/confirm/original.h"

#include "thaw/core/error.h"
#include "thaw/run/relax.h"

namespace thaw::confirm {

Arrays Original::run(const Arrays& feeds) {
  if (!refused_.empty()) throw Error(ErrorCode::kRuntimeFailed, {refused_});
  try {
    if (!session_) session_.emplace(model_, options_);
    return session_->run(feeds);
  } catch (const run::RunTimedOut&) {
    throw;  // not for sizes that are declared
  } catch (const Error&) {
    if (relaxed_) throw;
    relax();
    return session_->run(feeds);
  }
}

void Original::relax() {
  relaxed_ = true;
  run::drop_declared_sizes(model_);
  try {
    session_.emplace(model_, options_);
  } catch (const Error& error) {
    refused_ = error.what();
    throw;
  }
}

}  // namespace thaw::confirm
