// The end of a call that takes longer than Limits::timeout. What ONNX Runtime is at is stopped by then, and the verb says what it has;
// a verb that goes on all the same is ended a little later, with the one line that any error has. Nothing is half written: signals
// wait where files change their names (core/hold_signals.h), and all else is as if the process was killed.
#pragma once

#include <memory>

namespace thaw::cli {

class Overtime {
 public:
  // Made by the main thread. `json`: the error goes to stdout too.
  explicit Overtime(bool json);
  Overtime(const Overtime&) = delete;
  Overtime& operator=(const Overtime&) = delete;
  ~Overtime();

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;  // none where no time is set
};

}  // namespace thaw::cli
