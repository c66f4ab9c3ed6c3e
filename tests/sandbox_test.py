"""ONNX Runtime's process is a sandbox, as far as the kernel has it: a library that is opened there gets at nothing of the user's, and models
run in it as they do outside."""
import ctypes
import os
import platform
import re
import shutil
import socket
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conftest import SOURCE

F, BOOL = TensorProto.FLOAT, TensorProto.BOOL
LANDLOCK, SECCOMP = 444, {"x86_64": 317, "aarch64": 277}.get(platform.machine())
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler to make a hostile library")

# What it gets, it says as ONNX Runtime's version, which Thaw's error shows. Each attempt is made twice: when the library is opened, and when
# ONNX Runtime is asked of it.
HOSTILE = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char report[4096] = "got:";
static void got(const char *what, int yes) {
  if (yes) { strcat(report, " "); strcat(report, what); }
}

static int holds(const char *path, const char *word) {  /* by the system call itself, as what is linked can be replaced */
  static char text[1 << 16];
  long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0), n;
  if (fd < 0) return 0;
  n = read(fd, text, sizeof text);
  close(fd);
  return n > 0 && memmem(text, n, word, strlen(word)) != 0;
}

/* Or is done already: the library may be opened more than once. */
static int done(int result) { return result == 0 || errno == EEXIST || errno == ENOENT; }

static int makes(const char *path) {
  long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0644);
  return fd >= 0;
}

static int runs(int how) {
  char *words[] = {"touch", FOLDER "/executed", 0};
  pid_t pid;
  int status = -1;
  if (how == 0) return posix_spawnp(&pid, "touch", 0, 0, words, environ) == 0 && waitpid(pid, &status, 0) == pid && status == 0;
  if (how == 1) return system("touch " FOLDER "/executed") == 0;
  pid = how == 2 ? fork() : syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(0);
  return pid > 0 && waitpid(pid, &status, 0) == pid;
}

static int reaches(int family) {
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = FOLDER "/socket"};
  int fd = socket(family, SOCK_STREAM, 0);
  if (fd < 0) return 0;
  return connect(fd, family == AF_INET ? (void *)&in : (void *)&un, family == AF_INET ? sizeof in : sizeof un) == 0;
}

static int listens(void) {
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  return fd >= 0 && bind(fd, (void *)&in, sizeof in) == 0 && listen(fd, 1) == 0;
}

static int sends(void) {
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return sendto(socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0, (void *)&in, sizeof in) == 1;
}

static void try_all(void) {
  char path[512], byte = 0;
  int parent = getppid();
  FILE *file = fopen(FOLDER "/planted", "r");
  got("read", holds(FOLDER "/planted", "SECRET") || open(FOLDER "/planted", O_RDONLY) >= 0 || file != 0);
  got("read_beside", holds(FOLDER "/names.sorted", "SECRET") || holds(FOLDER "/key.so.pem", "SECRET"));
  got("read_root", holds("/proc/self/root" FOLDER "/planted", "SECRET"));
  got("read_home", holds("/etc/passwd", "root"));
  snprintf(path, sizeof path, "/proc/%d/root%s/planted", parent, FOLDER);
  got("read_parent_root", holds(path, "SECRET"));
  snprintf(path, sizeof path, "/proc/%d/environ", parent);
  got("read_parent_environ", holds(path, "PLANTED_VARIABLE"));
  snprintf(path, sizeof path, "/proc/%d/cmdline", parent);
  got("read_parent_cmdline", holds(path, "run"));
  got("list", opendir(FOLDER) != 0 || opendir("/tmp") != 0);
  got("variable", getenv("PLANTED_VARIABLE") != 0 || holds("/proc/self/environ", "PLANTED_VARIABLE"));
  got("write", makes(FOLDER "/made"));
  got("write_tmp", makes(TEMPORARY "/made"));
  got("write_over", open(FOLDER "/planted", O_WRONLY) >= 0 || open(FOLDER "/planted", O_RDWR) >= 0);
  got("unnamed", open(FOLDER, O_TMPFILE | O_RDWR, 0600) >= 0);
  got("folder", done(mkdir(FOLDER "/folder", 0755)));
  got("link", done(symlink("planted", FOLDER "/symbolic")) || done(link(FOLDER "/planted", FOLDER "/hard")));
  got("rename", done(rename(FOLDER "/moved", FOLDER "/moved_away")));
  got("remove", done(unlink(FOLDER "/removed")));
  got("truncate", truncate(FOLDER "/cut", 1) == 0);
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)syscall(SYS_gettid));
  got("thread_name", open(path, O_WRONLY) >= 0);
  errno = 0;
  unlink(FOLDER "/nothing");
  got("not_there", errno == ENOENT);
  got("rights", chmod(FOLDER "/planted", 0600) == 0);
  struct timespec times[2] = {{1, 0}, {1, 0}};
  got("times", utimensat(AT_FDCWD, FOLDER "/planted", times, 0) == 0);
  got("exec", runs(0) || runs(1));
  got("fork", runs(2) || runs(3));
  got("tcp", reaches(AF_INET));
  got("unix", reaches(AF_UNIX));
  got("listen", listens());
  got("udp", sends());
  got("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0, 0}) == 0);
  got("signal", kill(parent, 0) == 0);
  struct iovec local = {&byte, 1}, remote = {(void *)&report, 1};
  errno = 0;
  process_vm_readv(parent, &local, 1, &remote, 1, 0);
  got("peek", errno != EPERM);  /* there may be nothing at that address */
  got("namespace", unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWNS) == 0);
  errno = 0;
  long ring = syscall(425, 1, 0);
  got("io_uring", ring >= 0 || errno == EFAULT);
  errno = 0;
  syscall(SYS_bpf, 0, 0, 0);
  got("bpf", errno != EPERM);
  errno = 0;
  syscall(SYS_keyctl, 0, -3, 0);
  got("keys", errno != EPERM);
  got("trace", ptrace(PTRACE_SEIZE, parent, 0, 0) == 0 && (ptrace(PTRACE_DETACH, parent, 0, 0), 1));
}

static void try_calls(void) {  /* which must be denied before they do anything */
#ifdef CALLS
  static const struct { const char *name; long number; } calls[] = {CALLS};
  for (unsigned long i = 0; i < sizeof calls / sizeof *calls; i++) {
    errno = 0;
    syscall(calls[i].number, 0, 0, 0, 0, 0, 0);
    got(calls[i].name, errno != EPERM);
  }
#endif
#ifdef __x86_64__
  got("x32", syscall(0x40000000 + SYS_getpid) > 0);
#endif
}

__attribute__((constructor)) static void opened(void) { try_all(); }

static const void *api(unsigned version) { return 0; }
static const char *version(void) { return report; }
static const struct { const void *(*api)(unsigned); const char *(*version)(void); } base = {api, version};
const void *OrtGetApiBase(void) { strcat(report, " then:"); try_all(); try_calls(); return &base; }
"""


def value(name, dims, dtype=F):
    return helper.make_tensor_value_info(name, dtype, dims)


def doubled():
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [value("x", ["n", 4])], [value("y", ["n", 4])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def has(thaw):
    """What this kernel has of a sandbox: (Landlock's version, whether calls are filtered)."""
    text = thaw("--version", "--verbose", code=0).stdout
    if "sanitizer" in text:
        pytest.skip("a sanitizer's build has no sandbox")
    found = re.search(r"Landlock (\d+)", text)
    return int(found[1]) if found else 0, "seccomp)" in text.split("network")[1].split("\n")[0] and "none" in text


def without_call(*numbers, answer=38):
    """For `preexec_fn`: a kernel that lacks system calls (ENOSYS), by a filter of its own."""
    def install():
        code = [(0x20, 0, 0, 0)]
        for number in numbers:
            code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | answer)]
        code.append((0x06, 0, 0, 0x7FFF0000))
        instructions = b"".join(op.to_bytes(2, "little") + bytes([yes, no]) + k.to_bytes(4, "little") for op, yes, no, k in code)
        buffer = ctypes.create_string_buffer(instructions)
        program = (ctypes.c_uint16 * 8)(len(code))
        ctypes.memmove(ctypes.addressof(program) + 8, ctypes.byref(ctypes.c_void_p(ctypes.addressof(buffer))), 8)
        libc = ctypes.CDLL(None)
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program)) == 0
    return install


class Hostile:
    """A folder with the library and what it is after, and calls of Thaw that open it."""

    def __init__(self, thaw, folder, calls=()):
        self.thaw, self.folder = thaw, folder
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(str(folder / "socket"))
        self.unix.listen()
        (folder / "temporary").mkdir()
        for name in ("planted", "moved", "removed", "cut", "names.sorted", "key.so.pem"):
            (folder / name).write_text("SECRET of the user's")
        onnx.save(doubled(), folder / "model.onnx")
        source = folder / "hostile.c"
        source.write_text(HOSTILE)
        words = {"FOLDER": f'"{folder}"', "TEMPORARY": f'"{folder / "temporary"}"', "PORT": self.tcp.getsockname()[1]}
        if calls:
            words["CALLS"] = ", ".join(f'{{"{name}", {number}}}' for name, number in calls)
        subprocess.run(["cc", "-w", "-shared", "-fPIC", *(f"-D{name}={text}" for name, text in words.items()), "-o", folder / "hostile.so", source],
                       check=True)
        source.unlink()
        self.before = self.state()

    def state(self):
        return {path.name: (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_text() if path.suffix == "" and path.is_file() else "")
                for path in self.folder.rglob("*") if path.name != "temporary"}

    def gets(self, *options, **kw):
        """The words of what it got, in either of its chances."""
        environment = {**os.environ, "THAW_ONNXRUNTIME": str(self.folder / "hostile.so"), "PLANTED_VARIABLE": "SECRET",
                       "TMPDIR": str(self.folder / "temporary")}
        line = self.thaw.error("run", self.folder / "model.onnx", "--sizes", "n=3", *options, env=environment, **kw)
        found = re.search(r"version got:(.*) then:(.*) has no API \d+", line)
        assert found, line
        return set(found[1].split()) | set(found[2].split())

    def was_reached(self):
        for server in (self.tcp, self.unix):
            server.settimeout(0.2)
            try:
                server.accept()
                return True
            except TimeoutError:
                pass
        return self.state() != self.before


@pytest.fixture
def hostile(thaw, tmp_path):
    library = Hostile(thaw, tmp_path)
    yield library
    library.tcp.close()
    library.unix.close()


ALL = {"read", "read_beside", "read_root", "read_home", "read_parent_root", "read_parent_environ", "read_parent_cmdline", "list", "variable", "write",
       "write_tmp", "write_over", "unnamed", "folder", "link", "rename", "remove", "truncate", "rights", "times", "exec", "fork", "tcp", "unix",
       "listen", "udp", "pair", "signal"}
FILES_READ = {"read", "read_beside", "read_root", "read_home", "read_parent_root", "read_parent_environ", "read_parent_cmdline", "list"}


@needs_compiler
def test_a_hostile_runtime_gets_nothing(thaw, hostile):
    landlock, filtered = has(thaw)
    if landlock < 4 or not filtered:
        pytest.skip(f"this kernel has Landlock {landlock} and {'' if filtered else 'no '}seccomp")
    assert hostile.gets() == set()
    assert not hostile.was_reached()


@needs_compiler
@pytest.mark.parametrize("kernel", ["whole", "no Landlock"])
def test_with_a_provider_that_has_devices_it_gets_a_pair_of_sockets(thaw, hostile, kernel):
    """CUDA's driver listens at a Unix socket, writes its threads' names and takes away files of an earlier start, which stay."""
    landlock, filtered = has(thaw)
    if landlock < 4 or not filtered or SECCOMP is None:
        pytest.skip(f"this kernel has Landlock {landlock} and {'' if filtered else 'no '}seccomp")
    lacking = {} if kernel == "whole" else {"preexec_fn": without_call(LANDLOCK)}
    got = hostile.gets("--provider", "cuda", **lacking)
    # Names beside ONNX Runtime's library are read; what changes rights is answered as if it was done where files may be made.
    more = FILES_READ | {"write", "write_tmp", "write_over", "unnamed", "remove"} if lacking else {"list", "rights"}
    assert {"pair", "thread_name", "not_there"} <= got <= {"pair", "thread_name", "not_there"} | more, got
    assert hostile.before.items() <= hostile.state().items()


@needs_compiler
def test_every_call_of_the_classes_is_denied(thaw, tmp_path):
    """All that the filter names: those of the C library's headers, and younger ones by number."""
    if not has(thaw)[1]:
        pytest.skip("this kernel has no seccomp")
    source = (SOURCE / "src" / "thaw" / "run" / "seccomp.cc").read_text()
    classes = "".join(re.findall(r"constexpr std::initializer_list<long> k(?!OfThisProcess)\w+ = \{(.*?)\};", source, re.S))
    younger = re.findall(r"^  (k\w+) = (\d+),", source, re.M)
    (tmp_path / "known.c").write_text("#include <sys/syscall.h>\n" + "".join(
        f'#ifdef {name}\n"{name}" = {name};\n#endif\n' for name in sorted(set(re.findall(r"SYS_\w+", classes)))))
    lines = subprocess.run(["cc", "-E", "-P", tmp_path / "known.c"], check=True, capture_output=True, text=True).stdout
    calls = re.findall(r'"(\w+)" = (\d+);', lines) + [(name, number) for name, number in younger if re.search(rf"\b{name}\b", classes)]
    assert len(calls) > 100
    hostile = Hostile(thaw, tmp_path, calls)
    assert hostile.gets() & {name for name, _ in calls} == set()


@needs_compiler
def test_without_the_sandbox_it_gets_all(thaw, hostile):
    """So that the test above can fail."""
    assert hostile.gets("--no-sandbox") >= ALL - {"unnamed"}  # which not every file system has
    assert hostile.was_reached()


@needs_compiler
@pytest.mark.skipif(SECCOMP is None, reason="the numbers of this machine's system calls are not known here")
@pytest.mark.parametrize(("lacking", "may"), [
    ([LANDLOCK], FILES_READ),
    ([SECCOMP], {"not_there", "rights", "times", "fork", "unix", "udp", "pair", "peek", "namespace", "io_uring", "bpf", "keys", "signal", "listen", "tcp"}),
], ids=["no Landlock", "no seccomp"])
def test_a_kernel_that_has_half_of_it_denies_that_half(thaw, hostile, lacking, may):
    landlock, filtered = has(thaw)
    if landlock < 1 or not filtered:
        pytest.skip("this kernel has not both")
    may = may - ({"tcp", "listen"} if landlock >= 4 else set()) - ({"signal"} if landlock >= 6 else set())
    assert hostile.gets(preexec_fn=without_call(*lacking)) <= may
    text = thaw("--version", "--verbose", code=0, preexec_fn=without_call(*lacking)).stdout
    assert ("no Landlock" in text) == (lacking == [LANDLOCK]) and ("no seccomp" in text) == (lacking == [SECCOMP]), text


@needs_compiler
def test_a_library_that_asks_for_files_without_end_is_stopped(thaw, save, tmp_path):
    (tmp_path / "planted").write_text("SECRET")
    (tmp_path / "asks.c").write_text("#include <fcntl.h>\nvoid *OrtGetApiBase(void) { for (;;) open(FILE, O_RDONLY); }")
    subprocess.run(["cc", "-shared", "-fPIC", f'-DFILE="{tmp_path / "planted"}"', "-o", tmp_path / "asks.so", tmp_path / "asks.c"], check=True)
    started = time.monotonic()
    line = thaw.error("run", save(doubled()), "--sizes", "n=3", "--timeout", "1", env={**os.environ, "THAW_ONNXRUNTIME": str(tmp_path / "asks.so")})
    assert "was stopped" in line and time.monotonic() - started < 20, line


@pytest.mark.skipif(SECCOMP is None, reason="the numbers of this machine's system calls are not known here")
def test_a_kernel_without_it_runs_models_all_the_same(thaw, save):
    lacking = without_call(LANDLOCK, SECCOMP)
    text = thaw("--version", "--verbose", code=0, preexec_fn=lacking).stdout
    assert "neither Landlock nor seccomp" in text or "sanitizer" in text
    thaw("run", save(doubled()), "--sizes", "n=3", preexec_fn=lacking, code=0)


def test_a_sandbox_that_the_kernel_refuses_is_an_error_that_names_the_way_out(thaw, save):
    if has(thaw)[0] == 0:
        pytest.skip("this kernel has no Landlock")
    line = thaw.error("run", save(doubled()), "--sizes", "n=3", preexec_fn=without_call(LANDLOCK + 2, answer=1))
    assert "refuses" in line and "--no-sandbox" in line, line
    thaw("run", save(doubled()), "--sizes", "n=3", "--no-sandbox", preexec_fn=without_call(LANDLOCK + 2, answer=1), code=0)


@needs_compiler
def test_a_library_that_the_sandbox_hides_is_an_error_that_names_the_way_out(thaw, save, tmp_path):
    """ONNX Runtime needs another library, of a folder that is not its own."""
    if has(thaw)[0] == 0:
        pytest.skip("this kernel has no Landlock")
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    (tmp_path / "other.c").write_text("int other(void) { return 1; }")
    (tmp_path / "runtime.c").write_text("int other(void); void *OrtGetApiBase(void) { return (void *)(long)other(); }")
    there = tmp_path / "there"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", there / "libother.so", tmp_path / "other.c"], check=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "here" / "runtime.so", tmp_path / "runtime.c", f"-L{there}", "-lother",
                    f"-Wl,-rpath,{there}"], check=True)
    environment = {**os.environ, "THAW_ONNXRUNTIME": str(tmp_path / "here" / "runtime.so")}
    line = thaw.error("run", save(doubled()), "--sizes", "n=3", env=environment)
    assert "libother.so" in line and "--no-sandbox" in line, line
    environment["LD_LIBRARY_PATH"] = str(there)  # its libraries are read: nothing is denied
    assert "--no-sandbox" not in thaw.error("run", save(doubled()), "--sizes", "n=3", env=environment)


def outside(name, location, offset, dims, length=True, dtype=F):
    tensor = onnx.TensorProto(name=name, data_type=dtype, dims=dims, data_location=TensorProto.EXTERNAL)
    entries = [("location", location), ("offset", str(offset))] + ([("length", str(4 * int(np.prod(dims))))] if length else [])
    for key, text in entries:
        entry = tensor.external_data.add()
        entry.key, entry.value = key, text
    return tensor


def branch(nodes, weights):
    return helper.make_graph(nodes, "branch", [], [value("o", None)], weights)


def chosen(*nodes, weights=()):
    """A graph in a node, whose branch depends on what is fed."""
    other = branch([helper.make_node("Identity", ["x"], ["o"])], [])
    return [helper.make_node("ReduceMax", ["x"], ["most"], keepdims=0), helper.make_node("Cast", ["most"], ["go"], to=BOOL),
            helper.make_node("If", ["go"], ["y"], then_branch=branch(nodes, weights), else_branch=other)]


def with_data(nodes, weights=(), functions=()):
    graph = helper.make_graph(nodes, "g", [value("x", [256])], [value("y", None)], list(weights))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions)


ADD, ADD_INSIDE = helper.make_node("Add", ["x", "w"], ["y"]), helper.make_node("Add", ["x", "w"], ["o"])


def constant(location="w.data"):
    return helper.make_node("Constant", [], ["w"], value=outside("w", location, 64, [256]))


def function():
    return helper.make_function("local", "F", ["a"], ["b"], [constant(), helper.make_node("Add", ["a", "w"], ["b"])], [helper.make_opsetid("", 17)])


FORMS = {
    "beside": lambda: with_data([ADD], [outside("w", "w.data", 64, [256])]),
    "in a folder": lambda: with_data([ADD], [outside("w", "sub/w.data", 64, [256])]),
    "spelled with dots": lambda: with_data([ADD], [outside("w", "./sub//w.data", 64, [256])]),
    "not aligned": lambda: with_data([ADD], [outside("w", "w.data", 4, [256])]),
    "without a length": lambda: with_data([ADD], [outside("w", "w.data", 0, [256], length=False)]),
    "one file, many tensors": lambda: with_data([helper.make_node("Add", ["x", "a"], ["z"]), helper.make_node("Add", ["z", "b"], ["y"])],
                                                [outside("a", "./w.data", 0, [256]), outside("b", "w.data", 1024, [256])]),
    "of no elements": lambda: with_data([helper.make_node("Concat", ["x", "w"], ["y"], axis=0)], [outside("w", "empty.data", 0, [0])]),
    "in a Constant": lambda: with_data([constant(), ADD]),
    "in an inner graph": lambda: with_data(chosen(ADD_INSIDE, weights=[outside("w", "w.data", 64, [256])])),
    "in an inner graph's Constant": lambda: with_data(chosen(constant("sub/w.data"), ADD_INSIDE)),
    "in a function": lambda: with_data([helper.make_node("F", ["x"], ["y"], domain="local")], functions=[function()]),
    "in an attribute": lambda: with_data([helper.make_node("Shape", ["x"], ["s"]), helper.make_node(
        "ConstantOfShape", ["s"], ["w"], value=outside("w", "w.data", 64, [1])), ADD]),
}


@pytest.mark.parametrize("form", FORMS)
def test_external_data_is_handed_over_wherever_it_is_named(thaw, tmp_path, form):
    """By path and from memory; a folder that the model's path leads to by a link is the model's too."""
    model = FORMS[form]()
    folder = tmp_path / "models"
    (folder / "sub").mkdir(parents=True)
    data = np.arange(4096, dtype=np.float32)
    data.tofile(folder / "w.data")
    (data + 7).tofile(folder / "sub" / "w.data")
    (folder / "empty.data").touch()
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "link").symlink_to(folder)
    np.save(tmp_path / "x.npy", np.ones(256, np.float32))
    results = []
    for path, options in ((folder / "m.onnx", []), (folder / "m.onnx", ["--no-sandbox"]), (tmp_path / "link" / "m.onnx", [])):
        thaw("run", path, "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "out.npz", *options, code=0)
        results.append(np.load(tmp_path / "out.npz")["y"])
    assert all(np.array_equal(results[0], other) for other in results[1:])
    thaw("verify", folder / "m.onnx", "--against", folder / "m.onnx", "--optimization", "none", code=0)
    report = thaw.json("optimize", folder / "m.onnx", "-o", folder / "o.onnx", code=0)
    assert report["load_check"]["status"] in ("loaded", "ran"), report["load_check"]


def test_a_model_of_more_data_files_than_a_message_carries(thaw, tmp_path):
    """A process may have only 1,024 files open, as shells have it."""
    count = 1500
    names = [f"w{i}" for i in range(count)]
    for i, name in enumerate(names):
        np.full(4, i, np.float32).tofile(tmp_path / name)
    nodes = [helper.make_node("Sum", ["x", *names], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", [4])], [value("y", [4])], [outside(name, name, 0, [4]) for name in names])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.zeros(4, np.float32))
    command = f"ulimit -n 1024; exec '{thaw.path}' run '{tmp_path / 'm.onnx'}' --input 'x={tmp_path / 'x.npy'}' -o '{tmp_path / 'out.npz'}'"
    subprocess.run(["bash", "-c", command], check=True, capture_output=True, timeout=60)
    assert np.load(tmp_path / "out.npz")["y"].tolist() == [count * (count - 1) / 2] * 4


def test_data_that_is_no_longer_there_is_an_error(thaw, tmp_path):
    (tmp_path / "m.onnx").write_bytes(FORMS["beside"]().SerializeToString())
    line = thaw.error("run", tmp_path / "m.onnx", "--random")
    assert "w.data" in line and "--no-sandbox" not in line, line


def test_data_is_mapped_and_not_copied(thaw, tmp_path):
    """Of 330 MB of weights a run takes those that it looks at: what the sandbox hands over costs what a file costs."""
    rows = 80_000
    np.broadcast_to(np.float32(3), (rows, 1024)).tofile(tmp_path / "w.data")
    graph = helper.make_graph([helper.make_node("Gather", ["w", "i"], ["y"])], "g", [value("i", [1], TensorProto.INT64)], [value("y", [1, 1024])],
                              [outside("w", "w.data", 0, [rows, 1024])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    started = time.monotonic()
    thaw("run", tmp_path / "m.onnx", "--values", "i=7", "--max-memory", "150M", "-o", tmp_path / "out.npz", code=0)
    assert np.load(tmp_path / "out.npz")["y"].tolist() == [[3] * 1024] and time.monotonic() - started < 20


def test_every_verb_that_loads_a_model_may_do_without(thaw):
    verbs = re.findall(r"^  (\w+) ", thaw("--help", code=0).stdout, re.M)
    without = {verb for verb in verbs if "--timeout" in thaw(verb, "--help").stdout} | {"inspect"}
    without -= {"mcp"}  # whose calls always have it
    assert without >= {"run", "verify", "fix", "convert", "inputs"}
    assert {verb for verb in verbs if "--no-sandbox" in thaw(verb, "--help").stdout} == without


def test_the_version_alone_is_one_line(thaw):
    assert len(thaw("--version", code=0).stdout.splitlines()) == 1
    assert len(thaw("--version", "--verbose", code=0).stdout.splitlines()) > 1


def test_the_page_says_what_the_sandbox_is():
    page = (SOURCE / "docs" / "robustness.md").read_text()
    assert all(word in page for word in ("Landlock", "seccomp", "--no-sandbox", "--version --verbose", "in_process"))
