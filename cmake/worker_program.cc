// thaw-worker: what runs models in ONNX Runtime for programs that use libthaw.so. The command is its own.
#include <cstdio>

#include "thaw/run/worker_main.h"

int main(int argc, char** argv) {
  if (thaw::run::is_worker(argc, argv)) thaw::run::serve_as_worker(argc, argv);
  std::fputs("thaw-worker is started by libthaw.so, to run models within limits\n", stderr);
  return 2;
}
