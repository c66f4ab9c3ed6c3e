/* Preloaded into the command by a test: at the N-th call that changes files, counted from 1, the process is killed
   (STOP_HOW=kill), the call fails for want of room or by a fault of the disk (enospc, eio) or STOP_FILE is cut to a page
   (shorten) or written to in place (overwrite); from N + 1 on all is as it was. STOP_LOG gets a line for each. Processes that the command starts
   are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int count, at;
static const char *log_name, *how = "", *file;
static int no_nameless; /* a file system without nameless files */
static int no_exchange; /* nor one that exchanges two names */

__attribute__((constructor)) static void begin(void) {
  const char* text = getenv("STOP_AT");
  at = text ? atoi(text) : -1;
  log_name = getenv("STOP_LOG");
  how = getenv("STOP_HOW") ? getenv("STOP_HOW") : "";
  file = getenv("STOP_FILE");
  no_nameless = getenv("STOP_NAMED") != NULL;
  no_exchange = getenv("STOP_NO_EXCHANGE") != NULL;
  unsetenv("LD_PRELOAD");
}

static void overwrite(void) {
  const long fd = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY);
  syscall(SYS_pwrite64, fd, "overwritten", 11, lseek((int)fd, 0, SEEK_END) / 2);
  syscall(SYS_close, fd);
}

/* 1 where the call is to fail; does not come back where the process is to be killed. */
static int stop_here(const char* what) {
  if (at < 0) return 0;
  const int now = __sync_add_and_fetch(&count, 1);
  if (log_name) {
    const long fd = syscall(SYS_openat, AT_FDCWD, log_name, O_WRONLY | O_CREAT | O_APPEND, 0666);
    char line[64];
    const int size = snprintf(line, sizeof line, "%d %s\n", now, what);
    syscall(SYS_write, fd, line, size);
    syscall(SYS_close, fd);
  }
  if (now != at) return 0;
  if (strcmp(how, "shorten") == 0) {
    if (truncate(file, 4096) != 0) abort();
    return 0;
  }
  if (strcmp(how, "overwrite") == 0) {
    overwrite();
    return 0;
  }
  if (strcmp(how, "enospc") == 0 || strcmp(how, "eio") == 0) {
    errno = strcmp(how, "eio") == 0 ? EIO : ENOSPC;
    return 1;
  }
  syscall(SYS_kill, getpid(), SIGKILL);
  return 1;
}

/* What goes to a pipe, a socket or memory changes no file. */
static int is_file(int fd) {
  struct stat info;
  char link[32], name[16] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && readlink(link, name, sizeof name - 1) > 0 &&
         strncmp(name, "/memfd:", 7) != 0;
}

static int is_written(int fd) { return is_file(fd) && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY; }

#define WRAP_IF(condition, type, name, parameters, arguments)      \
  type name parameters {                                           \
    static type(*real) parameters;                                 \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    if ((condition) && stop_here(#name)) return -1;                \
    return real arguments;                                         \
  }
#define WRAP(type, name, parameters, arguments) WRAP_IF(1, type, name, parameters, arguments)

WRAP_IF(is_file(fd), ssize_t, write, (int fd, const void* data, size_t size), (fd, data, size))
WRAP_IF(is_file(fd), ssize_t, writev, (int fd, const struct iovec* data, int n), (fd, data, n))
WRAP_IF(is_file(fd), ssize_t, pwrite, (int fd, const void* data, size_t size, off_t to), (fd, data, size, to))
WRAP_IF(is_file(fd), ssize_t, pwrite64, (int fd, const void* data, size_t size, off_t to), (fd, data, size, to))
WRAP_IF(is_file(to), ssize_t, sendfile, (int to, int from, off_t* a, size_t size), (to, from, a, size))
WRAP(ssize_t, copy_file_range, (int from, off_t* a, int to, off_t* b, size_t size, unsigned flags),
     (from, a, to, b, size, flags))
WRAP_IF(is_file(fd), int, ftruncate, (int fd, off_t size), (fd, size))
WRAP_IF(is_file(fd), int, ftruncate64, (int fd, off_t size), (fd, size))
WRAP_IF(is_file(fd), int, fallocate, (int fd, int mode, off_t from, off_t size), (fd, mode, from, size))
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, link, (const char* from, const char* to), (from, to))
WRAP(int, linkat, (int a, const char* from, int b, const char* to, int flags), (a, from, b, to, flags))
WRAP(int, symlink, (const char* from, const char* to), (from, to))
WRAP(int, rename, (const char* from, const char* to), (from, to))
WRAP(int, renameat, (int a, const char* from, int b, const char* to), (a, from, b, to))
WRAP(int, unlinkat, (int fd, const char* name, int flags), (fd, name, flags))
WRAP(int, unlink, (const char* name), (name))
WRAP(int, remove, (const char* name), (name))
WRAP(int, rmdir, (const char* name), (name))
WRAP(int, mkdir, (const char* name, mode_t mode), (name, mode))
WRAP(int, mkdirat, (int fd, const char* name, mode_t mode), (fd, name, mode))

int renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
  if (no_exchange && (flags & 2) != 0) {
    errno = EINVAL;
    return -1;
  }
  if (stop_here(flags & 2 ? "exchange" : "renameat2")) return -1;
  return (int)syscall(SYS_renameat2, a, from, b, to, flags);
}

int close(int fd) {
  const int stops = is_written(fd) && stop_here("close");
  const int error = errno, closed = (int)syscall(SYS_close, fd);
  if (!stops) return closed;
  errno = error;
  return -1;
}

static int opened(int folder, const char* name, int flags, mode_t mode) {
  if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) != 0 && strncmp(name, "/dev/", 5) != 0 && strncmp(name, "/proc/", 6) != 0) {
    if (no_nameless && (flags & O_TMPFILE) == O_TMPFILE) {
      errno = EOPNOTSUPP;
      return -1;
    }
    if (stop_here("open")) return -1;
  }
  return (int)syscall(SYS_openat, folder, name, flags, mode);
}

#define WRAP_OPEN(name, first, folder)                    \
  int name(first const char* path, int flags, ...) {      \
    va_list list;                                         \
    va_start(list, flags);                                \
    const mode_t mode = va_arg(list, mode_t);             \
    va_end(list);                                         \
    return opened(folder, path, flags, mode);             \
  }
#define COMMA ,
WRAP_OPEN(open, , AT_FDCWD)
WRAP_OPEN(open64, , AT_FDCWD)
WRAP_OPEN(openat, int at_folder COMMA, at_folder)
WRAP_OPEN(openat64, int at_folder COMMA, at_folder)
