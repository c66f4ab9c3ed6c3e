// Where two terms differ: the smallest place that is seen.
#pragma once

#include <string>

#include "thaw/prove/term.h"

namespace thaw::proving {

// "Softmax 'b.3' against MultiHeadAttention 'b.3'", of two terms that are not one.
std::string difference(const Terms& terms, TermId a, TermId b);

}  // namespace thaw::proving
