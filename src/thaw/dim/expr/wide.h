// An integer that holds the product of any two int64. Internal to dim/.
#pragma once

namespace thaw::dim {

__extension__ typedef __int128 Wide;

}  // namespace thaw::dim
