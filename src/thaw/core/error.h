// The one exception type of Thaw (thaw/error.h), under the name of its module.
#pragma once

#include "thaw/error.h"
