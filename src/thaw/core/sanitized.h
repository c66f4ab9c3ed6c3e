// THAW_SANITIZED: defined where this code is compiled with a sanitizer, whose own maps, threads and reports go past limits
// that hold for others.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define THAW_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define THAW_SANITIZED
#endif
#endif

namespace thaw {

#ifdef THAW_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace thaw
