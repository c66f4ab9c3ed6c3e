// What became of one constant of a trace, and where.
#pragma once

#include <string>
#include <vector>

namespace thaw::lifting::onetrace {

struct Note {
  std::string code;  // the rule of `thaw check` that it answers; may be empty
  std::string where, message;
  std::vector<std::string> at = {};  // what stands there at the export, then in each case
};

}  // namespace thaw::lifting::onetrace
