// A term as text, each of the terms that it is made of on a line.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/prove/term.h"

namespace thaw::proving {

// Arguments before what they are arguments of, each once; "%3" is line 3, from 0 on. `names`: of terms that are leaves. Bytes of
// constants and of attributes are there by their hash.
std::vector<std::string> text_of(const Terms& terms, TermId id, const std::unordered_map<TermId, std::string>& names);

}  // namespace thaw::proving
