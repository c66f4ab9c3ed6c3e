#include "thaw/verbs/worker.h"

#include "thaw/run/sandbox.h"
#include "thaw/run/worker.h"
#include "thaw/run/worker_main.h"

namespace thaw::verbs {

void serve_if_worker(int argc, char** argv) {
  if (run::is_worker(argc, argv)) run::serve_as_worker(argc, argv);
  run::use_worker_program("/proc/self/exe");
}

std::string sandbox_text() { return run::sandbox_text(); }

}  // namespace thaw::verbs
