#include "thaw/run/seccomp.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace thaw::run {
namespace {

#if defined(__x86_64__) && !defined(__ILP32__)
#define THAW_CALLS_KNOWN
constexpr uint32_t kOwnArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
#define THAW_CALLS_KNOWN
constexpr uint32_t kOwnArchitecture = AUDIT_ARCH_AARCH64;
#endif

#ifdef THAW_CALLS_KNOWN

constexpr uint32_t kAllow = SECCOMP_RET_ALLOW, kDeny = SECCOMP_RET_ERRNO | EPERM;
constexpr uint32_t kNoSuchFile = SECCOMP_RET_ERRNO | ENOENT;
constexpr uint32_t kDoNothing = SECCOMP_RET_ERRNO | 0;
// glibc then takes the older call, whose arguments a filter can see.
constexpr uint32_t kTakeOlder = SECCOMP_RET_ERRNO | ENOSYS;

// Calls that are younger than some kernels' headers; they have these numbers on every machine.
enum Younger : long {
  kPidfdSendSignal = 424,
  kIoUringSetup = 425,
  kIoUringEnter = 426,
  kIoUringRegister = 427,
  kOpenTree = 428,
  kMoveMount = 429,
  kFsopen = 430,
  kFsconfig = 431,
  kFsmount = 432,
  kFspick = 433,
  kPidfdOpen = 434,
  kClone3 = 435,
  kOpenat2 = 437,
  kPidfdGetfd = 438,
  kProcessMadvise = 440,
  kMountSetattr = 442,
  kQuotactlFd = 443,
  kProcessMrelease = 448,
  kFchmodat2 = 452,
  kStatmount = 457,
  kListmount = 458,
  kLsmSetSelfAttr = 460,
  kSetxattrat = 463,
  kRemovexattrat = 466,
  kOpenTreeAttr = 467,
  kFileSetattr = 469,
  kListns = 470,
};

constexpr std::initializer_list<long> kPrograms = {
    SYS_execve, SYS_execveat, SYS_setpgid, SYS_setsid,
#ifdef SYS_fork
    SYS_fork,   SYS_vfork,
#endif
#ifdef SYS_uselib
    SYS_uselib,
#endif
};
constexpr std::initializer_list<long> kConnections = {SYS_connect};
constexpr std::initializer_list<long> kOwnSockets = {SYS_socket, SYS_socketpair, SYS_bind,
                                                     SYS_listen, SYS_accept,     SYS_accept4};
constexpr std::initializer_list<long> kOtherProcesses = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_tkill, kPidfdSendSignal, kPidfdOpen,
    kPidfdGetfd, kProcessMadvise, kProcessMrelease, SYS_migrate_pages, SYS_move_pages, SYS_setpriority, SYS_ioprio_set,
    // Memory, queues and semaphores that processes share by a name.
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semget, SYS_semop,
    SYS_semtimedop, SYS_semctl, SYS_mq_open, SYS_mq_unlink};
constexpr std::initializer_list<long> kKernel = {
    SYS_bpf,
    kIoUringSetup,
    kIoUringEnter,
    kIoUringRegister,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_syslog,
    SYS_acct,
    SYS_quotactl,
    kQuotactlFd,
    SYS_vhangup,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    kLsmSetSelfAttr,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_sysfs,
    SYS_ustat,
#endif
};
constexpr std::initializer_list<long> kMounts = {SYS_mount,  SYS_umount2, SYS_pivot_root, SYS_chroot,    SYS_unshare,
                                                 SYS_setns,  kOpenTree,   kOpenTreeAttr,  kMoveMount,    kFsopen,
                                                 kFsconfig,  kFsmount,    kFspick,        kMountSetattr, kStatmount,
                                                 kListmount, kListns};
constexpr std::initializer_list<long> kClocksAndIdentities = {
    SYS_settimeofday, SYS_clock_settime, SYS_adjtimex,    SYS_clock_adjtime, SYS_setuid,       SYS_setgid,
    SYS_setreuid,     SYS_setregid,      SYS_setresuid,   SYS_setresgid,     SYS_setgroups,    SYS_setfsuid,
    SYS_setfsgid,     SYS_capset,        SYS_personality, SYS_sethostname,   SYS_setdomainname};
constexpr std::initializer_list<long> kChangedNames = {
    SYS_truncate, SYS_mkdirat, SYS_unlinkat, SYS_renameat2,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_mkdir
    SYS_creat,    SYS_mkdir,   SYS_rmdir,    SYS_unlink,    SYS_rename,
#endif
};
constexpr std::initializer_list<long> kRemovedFiles = {
    SYS_unlinkat,
#ifdef SYS_unlink
    SYS_unlink,
#endif
};
constexpr std::initializer_list<long> kChangedRights = {
    SYS_linkat,
    SYS_symlinkat,
    SYS_mknodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    kSetxattrat,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    kRemovexattrat,
    kFileSetattr,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
#ifdef SYS_mkdir
    SYS_link,
    SYS_symlink,
    SYS_mknod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
};
constexpr std::initializer_list<long> kChangedModes = {
    SYS_fchmod,
    SYS_fchmodat,
    kFchmodat2,
#ifdef SYS_mkdir
    SYS_chmod,
#endif
};
// Their first argument is a process, which may be this one.
constexpr std::initializer_list<long> kOfThisProcess = {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo,
                                                        SYS_rt_tgsigqueueinfo};

constexpr uint32_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr uint32_t kWrites = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);

// Instructions of the kernel's filter machine, one after the other; the number of the call is in the register between them.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    unless_equal(kOwnArchitecture, kDeny);
    load(offsetof(seccomp_data, nr));
#ifdef __x86_64__
    add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);  // x32
    give(kDeny);
#endif
  }

  void deny(std::initializer_list<long> calls) {
    for (const long call : calls) answer(call, kDeny);
  }
  void answer(long call, uint32_t with) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1);
    give(with);
  }
  // Denied where any, or unless one, of the bits is set in an argument.
  void deny_bits(long call, int argument, uint32_t bits) {
    about(call, argument, {{BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits}, {BPF_RET | BPF_K, 0, 0, kDeny}});
  }
  void need_bits(long call, int argument, uint32_t bits) {
    about(call, argument, {{BPF_JMP | BPF_JSET | BPF_K, 1, 0, bits}, {BPF_RET | BPF_K, 0, 0, kDeny}});
  }
  void deny_values(long call, int argument, std::initializer_list<uint32_t> values) {
    for (const uint32_t value : values)
      about(call, argument, {{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value}, {BPF_RET | BPF_K, 0, 0, kDeny}});
  }
  // Denied unless the argument is one of two numbers.
  void need_value(long call, int argument, uint32_t one, uint32_t other) {
    about(call, argument,
          {{BPF_JMP | BPF_JEQ | BPF_K, 2, 0, one},
           {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, other},
           {BPF_RET | BPF_K, 0, 0, kDeny}});
  }

  bool install() {
    give(kAllow);
    sock_fprog program{static_cast<unsigned short>(instructions_.size()), instructions_.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  void add(int code, uint32_t value, uint8_t if_true = 0, uint8_t if_false = 0) {
    instructions_.push_back({static_cast<uint16_t>(code), if_true, if_false, value});
  }
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
  void give(uint32_t answer) { add(BPF_RET | BPF_K, answer); }
  void unless_equal(uint32_t value, uint32_t answer) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    give(answer);
  }
  // What is asked of an argument of one call: its lower half, which both machines store first.
  void about(long call, int argument, std::initializer_list<sock_filter> test) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, static_cast<uint8_t>(test.size() + 2));
    load(offsetof(seccomp_data, args) + static_cast<size_t>(argument) * sizeof(uint64_t));
    instructions_.insert(instructions_.end(), test);
    load(offsetof(seccomp_data, nr));
  }

  std::vector<sock_filter> instructions_;
};

#endif

}  // namespace

bool can_filter_calls() {
#ifdef THAW_CALLS_KNOWN
  const uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
#else
  return false;
#endif
}

bool filter_calls([[maybe_unused]] Writes writes, [[maybe_unused]] Sockets sockets) {
#ifdef THAW_CALLS_KNOWN
  const auto own = static_cast<uint32_t>(::getpid());
  Filter filter;
  filter.deny(kPrograms);
  filter.deny(kConnections);
  if (sockets == Sockets::kNone) filter.deny(kOwnSockets);
  filter.deny(kOtherProcesses);
  filter.deny(kKernel);
  filter.deny(kMounts);
  filter.deny(kClocksAndIdentities);
  filter.deny(kChangedRights);
  // The driver of CUDA takes away what an earlier start may have left, and ends where that is denied; nothing there it takes.
  if (writes == Writes::kOpenedFiles)
    for (const long call : kRemovedFiles) filter.answer(call, kNoSuchFile);
  if (writes != Writes::kNewFiles) filter.deny(kChangedNames);
  // Which files Landlock does not know of. Who makes new ones goes on as if it was done: they keep the rights that they are made with.
  for (const long call : kChangedModes) filter.answer(call, writes == Writes::kNewFiles ? kDoNothing : kDeny);
  filter.answer(kClone3, kTakeOlder);
  filter.answer(kOpenat2, kTakeOlder);
  filter.need_bits(SYS_clone, 0, CLONE_THREAD);
  filter.deny_bits(SYS_clone, 0, kNamespaces);
  for (const long call : kOfThisProcess) filter.need_value(call, 0, own, own);
  filter.need_value(SYS_prlimit64, 0, 0, own);
  filter.deny_values(SYS_ioctl, 1, {TIOCSTI, TIOCLINUX});
  for (const long call : {SYS_socket, SYS_socketpair}) {
    filter.need_value(call, 0, AF_UNIX, AF_UNIX);
    filter.deny_bits(call, 1, SOCK_DGRAM);  // which sends without being connected
  }
  if (writes == Writes::kNothing) {
    filter.deny_bits(SYS_openat, 2, kWrites);
#ifdef SYS_open
    filter.deny_bits(SYS_open, 1, kWrites);
#endif
  }
  return filter.install();
#else
  errno = ENOSYS;
  return false;
#endif
}

}  // namespace thaw::run

#undef THAW_CALLS_KNOWN
