// What came of a call of a tool, for the one who made it.
#pragma once

#include <string>
#include <vector>

#include "thaw/cli/verb.h"
#include "thaw/cli/verb_process.h"

namespace thaw::cli {

struct ToolResult {
  std::vector<std::string> texts;  // of an error one sentence; else what was printed, then warnings
  std::string object = {};         // JSON on one line; empty: none
  bool is_error = false;
};

ToolResult failed_result(std::string sentence);

// Of a process that has ended; `status`: of waitpid.
ToolResult result_of(const VerbProcess& process, int status, const Verb& verb);

}  // namespace thaw::cli
