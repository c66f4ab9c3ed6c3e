// A number that tells models apart by what they hold, weights included, wherever their files lie.
#pragma once

#include <string>
#include <string_view>

#include "thaw/ir/graph/model.h"

namespace thaw::ir {

// "xxh3-128:" and 32 hexadecimal digits: of the bytes that serialize() makes without `metadata_props`, and of external data. It is no
// signature: models of one hash can be made.
std::string hash_of(const Model& model);
// Whether a text is of that form.
bool is_hash(std::string_view text);

}  // namespace thaw::ir
