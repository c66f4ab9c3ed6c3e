// Signals wait while this lives: for the moments in which several files change their names one after the other.
//
// It holds for the calling thread; a signal that another thread of the process takes, and SIGKILL, come at once.
#pragma once

#include <signal.h>

namespace thaw {

class HoldSignals {
 public:
  HoldSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  HoldSignals(const HoldSignals&) = delete;
  HoldSignals& operator=(const HoldSignals&) = delete;
  ~HoldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace thaw
