// A program that is its own worker: models run in a second process of it (run/worker.h).
#pragma once

#include <string>

namespace thaw::verbs {

// First thing in main. Does not return in the process that runs models.
void serve_if_worker(int argc, char** argv);

// What this kernel has of the sandbox that models run in, a line each.
std::string sandbox_text();

}  // namespace thaw::verbs
