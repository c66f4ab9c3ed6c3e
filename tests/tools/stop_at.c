/* Preloaded into the command by a test: at the N-th call that changes files, counted from 1, the process is killed
   (STOP_HOW=kill), the call fails (STOP_HOW=fail) or STOP_FILE is cut to a page (STOP_HOW=shorten); from N + 1 on all is
   as it was. STOP_LOG gets a line for each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int count;

/* 1 where the call is to fail; does not come back where the process is to be killed. */
static int stop_here(const char* what) {
  static int at = -1;
  const char *text = getenv("STOP_AT"), *log = getenv("STOP_LOG"), *how = getenv("STOP_HOW");
  if (at < 0) at = text ? atoi(text) : 0;
  const int now = __sync_add_and_fetch(&count, 1);
  if (log) {
    const long fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    char line[64];
    const int size = snprintf(line, sizeof line, "%d %s\n", now, what);
    syscall(SYS_write, fd, line, size);
    syscall(SYS_close, fd);
  }
  if (now != at) return 0;
  if (how && strcmp(how, "shorten") == 0) {
    if (truncate(getenv("STOP_FILE"), 4096) != 0) abort();
    return 0;
  }
  if (how && strcmp(how, "fail") == 0) {
    errno = ENOSPC;
    return 1;
  }
  kill(getpid(), SIGKILL);
  return 1;
}

#define WRAP(type, name, parameters, arguments)                    \
  type name parameters {                                           \
    static type(*real) parameters;                                 \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    if (stop_here(#name)) return -1;                               \
    return real arguments;                                         \
  }

WRAP(ssize_t, write, (int fd, const void* data, size_t size), (fd, data, size))
WRAP(ssize_t, pwrite, (int fd, const void* data, size_t size, off_t at), (fd, data, size, at))
WRAP(ssize_t, copy_file_range, (int from, off_t* a, int to, off_t* b, size_t size, unsigned flags),
     (from, a, to, b, size, flags))
WRAP(int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, linkat, (int a, const char* from, int b, const char* to, int flags), (a, from, b, to, flags))
WRAP(int, renameat, (int a, const char* from, int b, const char* to), (a, from, b, to))
WRAP(int, renameat2, (int a, const char* from, int b, const char* to, unsigned flags), (a, from, b, to, flags))
WRAP(int, unlinkat, (int fd, const char* name, int flags), (fd, name, flags))
WRAP(int, unlink, (const char* name), (name))
WRAP(int, remove, (const char* name), (name))
WRAP(int, mkdir, (const char* name, mode_t mode), (name, mode))

int openat(int folder, const char* name, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) != 0) {
    if (getenv("STOP_NAMED") && (flags & O_TMPFILE) == O_TMPFILE) { /* a file system without nameless files */
      errno = EOPNOTSUPP;
      return -1;
    }
    if (stop_here("openat")) return -1;
  }
  return (int)syscall(SYS_openat, folder, name, flags, mode);
}
