// The one exception type of Thaw (thaw/error.h), under its room's name.
#pragma once

#include "thaw/error.h"
