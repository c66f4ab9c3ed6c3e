// TypeProto, read and written. Internal to ir/.
#pragma once

#include <string_view>

#include "thaw/ir/data/types.h"
#include "thaw/ir/wire/wire_encoder.h"

namespace thaw::ir {

inline constexpr int kMaxNesting = 100;  // of types within types, and of graphs within graphs

Type read_type(std::string_view bytes);  // throws wire::Malformed
bool is_declared(const Type& type);      // false: there is nothing to write
void write_type(wire::Encoder& out, const Type& type);

}  // namespace thaw::ir
