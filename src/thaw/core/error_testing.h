// For tests: what a call that fails says.
#pragma once

#include <string>

#include "thaw/core/error.h"

namespace thaw {

// The text of the thaw::Error that the call throws; "no error" if it throws none.
template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace thaw
