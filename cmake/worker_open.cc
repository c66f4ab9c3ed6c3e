// open(2) and its like for the programs that are workers: a file that the worker's sandbox denies is asked of Thaw
// (src/thaw/run/handed_files.h), and the profile that ONNX Runtime writes is memory (src/thaw/run/profile.h). Everything else is as the C library has it. A program's own functions come before those of
// libraries, so that ONNX Runtime calls these.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>

#include "thaw/core/sanitized.h"
#include "thaw/run/handed_files.h"
#include "thaw/run/profile.h"

#ifndef THAW_SANITIZED  // sanitizers have functions of these names themselves, and workers without a sandbox

namespace {

// The next function of the name: the C library's, or one that a preloaded library has for it.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

using Open = int(const char*, int, ...);
using OpenChecked = int(const char*, int);
using OpenAt = int(int, const char*, int, ...);
using OpenStream = std::FILE*(const char*, const char*);

// `fd` is what the next function gave.
int or_handed(int fd, int folder, const char* path, int flags) {
  if (fd >= 0 || errno != EACCES || (flags & (O_ACCMODE | O_CREAT | O_DIRECTORY)) != 0) return fd;
  if (folder != AT_FDCWD && *path != '/') return fd;
  const int handed = thaw::run::file_from_thaw(path);
  if (handed < 0) errno = EACCES;
  return handed;
}

std::FILE* or_handed(std::FILE* file, const char* path, const char* mode) {
  if (file == nullptr && mode[0] == 'w')
    if (const int memory = thaw::run::profile_memory(path); memory >= 0) return ::fdopen(memory, mode);
  if (file != nullptr || errno != EACCES || mode[0] != 'r' || std::strchr(mode, '+') != nullptr) return file;
  const int handed = thaw::run::file_from_thaw(path);
  if (handed >= 0) return ::fdopen(handed, mode);
  errno = EACCES;
  return nullptr;
}

// The mode is there where a file may be made.
mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
}

}  // namespace

// Under other names in this source, since headers say what those of the C library look like, each in its own way.
#define THAW_NAMED(name) __asm__(name) __attribute__((visibility("default"), used))

extern "C" {

int thaw_open(const char* path, int flags, ...) THAW_NAMED("open");
int thaw_open64(const char* path, int flags, ...) THAW_NAMED("open64");
int thaw_open_2(const char* path, int flags) THAW_NAMED("__open_2");
int thaw_open64_2(const char* path, int flags) THAW_NAMED("__open64_2");
int thaw_openat(int folder, const char* path, int flags, ...) THAW_NAMED("openat");
int thaw_openat64(int folder, const char* path, int flags, ...) THAW_NAMED("openat64");
std::FILE* thaw_fopen(const char* path, const char* mode) THAW_NAMED("fopen");
std::FILE* thaw_fopen64(const char* path, const char* mode) THAW_NAMED("fopen64");

int thaw_open(const char* path, int flags, ...) {
  static auto* const real = next<Open>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return or_handed(real(path, flags, mode), AT_FDCWD, path, flags);
}

int thaw_open64(const char* path, int flags, ...) {
  static auto* const real = next<Open>("open64");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return or_handed(real(path, flags, mode), AT_FDCWD, path, flags);
}

int thaw_open_2(const char* path, int flags) {
  static auto* const real = next<OpenChecked>("__open_2");
  return or_handed(real(path, flags), AT_FDCWD, path, flags);
}

int thaw_open64_2(const char* path, int flags) {
  static auto* const real = next<OpenChecked>("__open64_2");
  return or_handed(real(path, flags), AT_FDCWD, path, flags);
}

int thaw_openat(int folder, const char* path, int flags, ...) {
  static auto* const real = next<OpenAt>("openat");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return or_handed(real(folder, path, flags, mode), folder, path, flags);
}

int thaw_openat64(int folder, const char* path, int flags, ...) {
  static auto* const real = next<OpenAt>("openat64");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return or_handed(real(folder, path, flags, mode), folder, path, flags);
}

std::FILE* thaw_fopen(const char* path, const char* mode) {
  static auto* const real = next<OpenStream>("fopen");
  return or_handed(real(path, mode), path, mode);
}

std::FILE* thaw_fopen64(const char* path, const char* mode) {
  static auto* const real = next<OpenStream>("fopen64");
  return or_handed(real(path, mode), path, mode);
}

}  // extern "C"

#undef THAW_NAMED

#endif
