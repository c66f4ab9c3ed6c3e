// How a verification is printed: a table for people, JSON for programs.
#pragma once

#include <string>

#include "thaw/report/style.h"
#include "thaw/run/verify.h"

namespace thaw::cli {

std::string verify_text(const VerifyOptions& options, const VerifyReport& report, const report::Style& style);
std::string verify_json(const VerifyOptions& options, const VerifyReport& report);

// "agrees", "differs", "model fails", "reference fails"; with "_" for spaces in JSON.
std::string_view name_of(VerifyStatus status);

}  // namespace thaw::cli
