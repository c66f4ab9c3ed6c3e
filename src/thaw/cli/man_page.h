// The man page thaw(1), made from what the verbs declare.
#pragma once

#include <string>

namespace thaw::cli {

// In roff, as `thaw completion man` prints it and an installation has it.
std::string man_page();

}  // namespace thaw::cli
