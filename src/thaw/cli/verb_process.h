// A verb in a process of its own: the same program a second time. What it takes of memory goes with it, what ends it ends nothing else.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "thaw/core/fd.h"

namespace thaw::cli {

class VerbProcess {
 public:
  // Starts it, with nothing to read. `words`: without the program's name. Throws thaw::Error where the system starts none.
  explicit VerbProcess(const std::vector<std::string>& words);
  VerbProcess(const VerbProcess&) = delete;
  VerbProcess& operator=(const VerbProcess&) = delete;
  ~VerbProcess();  // kills it

  // What can be waited for: output and errors; -1 once they are at their end.
  int output_fd() const { return output_.fd.get(); }
  int errors_fd() const { return errors_.fd.get(); }

  // Takes what there is, and looks whether it has ended, without waiting: the status of waitpid once it has.
  std::optional<int> look();
  // Ends it: asks, and kills a little later, in look().
  void stop();

  const std::string& output() const { return output_.text; }
  const std::string& errors() const { return errors_.text; }
  // It printed more than anybody reads, and was stopped.
  bool has_printed_too_much() const { return output_.is_too_much; }

 private:
  struct Pipe {
    UniqueFd fd;
    std::string text;
    bool is_too_much = false;
  };
  static void take(Pipe& pipe, size_t most);

  pid_t pid_ = -1;
  Pipe output_, errors_;
  std::optional<int> status_;
  std::optional<std::chrono::steady_clock::time_point> kill_at_;
};

}  // namespace thaw::cli
