// A server of the Model Context Protocol over stdin and stdout: JSON-RPC 2.0, a message a line. The verbs are its tools.
//
// It speaks the revision 2026-07-28, whose requests each say theirs, and 2025-11-25 and 2025-06-18, which begin with `initialize`. Calls run one after the
// other, each in a process of its own (verb_process.h) that is confined to the given folders (confined_call.h). All else is answered
// meanwhile.
#pragma once

#include "thaw/core/confined.h"

namespace thaw::cli {

struct McpOptions {
  Confinement confinement;  // folders as they really are; paths are relative to the first, which is the working folder
  double timeout = 0;       // seconds of a call; 0: as long as it takes
};

// Serves until stdin is at its end, which ends calls that run.
void serve_mcp(const McpOptions& options);

}  // namespace thaw::cli
