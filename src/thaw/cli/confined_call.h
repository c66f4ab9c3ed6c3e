// A call of the command that is confined to folders (core/confined.h), as `thaw mcp` makes it: a process of the same program.
//
//   thaw --confined-to=read 2 /models /data check --format=json -- net.onnx
//
// It is no option for users: it allows nothing that the call could not do without it.
#pragma once

#include <string>
#include <vector>

#include "thaw/cli/options.h"
#include "thaw/core/confined.h"

namespace thaw::cli {

// The words before the verb's.
std::vector<std::string> confined_words(const Confinement& confinement);

// Where a call begins with these, confines the process and gives how many they are; 0 where it does not. Throws thaw::Error.
int take_confinement(int argc, char** argv);

// Throws thaw::Error for an option or argument that names a path outside, before anything is opened or made there.
void require_paths_inside(const Options& options);

}  // namespace thaw::cli
