// The operators on optional values; part of the sequence family.
#pragma once

namespace thaw::ops {

class Registry;

// Optional, OptionalHasElement, OptionalGetElement.
void add_optional_ops(Registry&);

}  // namespace thaw::ops
