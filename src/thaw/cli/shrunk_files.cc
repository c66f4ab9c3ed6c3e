#include "thaw/cli/shrunk_files.h"

#include <csignal>
#include <cstring>

#include <unistd.h>

#include "thaw/cli/verb.h"
#include "thaw/core/mapped_file.h"

namespace thaw::cli {
namespace {

void say(const char* text) {
  // The process ends either way: who does not read it does not read it.
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void at_bus_error(int signal, siginfo_t* info, void*) {
  const char* name = info->si_code == BUS_ADRERR ? mapped_file_at(info->si_addr) : nullptr;
  if (name == nullptr) {
    std::signal(signal, SIG_DFL);  // not ours: the instruction runs again and ends as it would have
    return;
  }
  say("thaw: ");
  for (const char* at = name; *at != '\0'; ++at) {
    const char shown[] = {static_cast<unsigned char>(*at) < 0x20 || *at == 0x7f ? '?' : *at, '\0'};
    say(shown);
  }
  say(": is shorter than it was; expected a file that nobody writes to while it is read; load the model again\n");
  ::_exit(kWrong);
}

}  // namespace

void refuse_shrunk_files() {
  struct sigaction action{};
  action.sa_sigaction = at_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace thaw::cli
