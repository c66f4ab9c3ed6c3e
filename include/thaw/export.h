// What libthaw.so shows: nothing else of it can be linked against.
#pragma once

#if defined(_WIN32)
#define THAW_API
#else
#define THAW_API __attribute__((visibility("default")))
#endif
