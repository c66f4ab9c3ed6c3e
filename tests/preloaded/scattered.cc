// An allocator to preload: addresses come in a random order, so that what is ordered by them comes out otherwise each time. What is
// allocated holds random bytes. The seed is the number in the name under which it is preloaded (scattered.7.so): of the environment,
// the process that runs models keeps LD_PRELOAD alone.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr size_t kHeader = 16;  // before each block, which keeps its alignment
constexpr size_t kPage = 4096;
constexpr size_t kMostInChunk = 1 << 16;  // bytes; what is larger has pages of its own
constexpr size_t kLeastFree = 32;         // slots to draw from
constexpr size_t kClasses = 64 + 6 * 4;
constexpr size_t kMostFilled = 1 << 20;

struct Header {
  uint64_t size;    // that was asked for
  uint32_t before;  // bytes from the start of the slot to the block
  uint32_t kind;    // the class of the slot; from kClasses on, how many pages of its own
};
static_assert(sizeof(Header) == kHeader);

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

uint64_t state = 0;

uint64_t draw() {  // splitmix64
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// The loader allocates before there is an environment.
void seed_once() {
  static bool seeded = false;
  if (seeded || environ == nullptr) return;
  seeded = true;
  const char* name = std::getenv("LD_PRELOAD");
  if (name == nullptr) return;
  if (const char* file = std::strrchr(name, '/')) name = file;
  while (*name != '\0' && (*name < '0' || *name > '9')) ++name;
  for (; *name >= '0' && *name <= '9'; ++name) state = state * 10 + static_cast<uint64_t>(*name - '0');
  draw();
}

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Anywhere in the lower half of what a process may address.
void* map(size_t bytes) {
  auto* const anywhere = reinterpret_cast<void*>((draw() % (uint64_t{1} << 34) + (uint64_t{1} << 20)) << 12);
  void* const made = ::mmap(anywhere, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return made == MAP_FAILED ? nullptr : made;
}

// 16, 32, … 1024, then four to each power of two.
size_t class_of(size_t bytes) {
  if (bytes <= 1024) return (bytes + 15) / 16 - 1;
  size_t power = 1024, at = 64;
  while (power * 2 < bytes) power *= 2, at += 4;
  return at + (bytes - power + power / 4 - 1) / (power / 4) - 1;
}

size_t bytes_of(size_t in_class) {
  if (in_class < 64) return (in_class + 1) * 16;
  const size_t power = size_t{1024} << ((in_class - 64) / 4);
  return power + power / 4 * ((in_class - 64) % 4 + 1);
}

struct Slots {
  char** free = nullptr;
  size_t count = 0, capacity = 0;

  bool add(char* slot) {
    if (count == capacity) {
      const size_t wider = std::max<size_t>(capacity * 2, 512);
      auto* const moved = static_cast<char**>(map(wider * sizeof(char*)));
      if (moved == nullptr) return false;
      if (free != nullptr) {
        std::copy_n(free, count, moved);
        ::munmap(static_cast<void*>(free), capacity * sizeof(char*));
      }
      free = moved;
      capacity = wider;
    }
    free[count++] = slot;
    return true;
  }

  bool grow(size_t each) {
    const size_t bytes = whole_pages(std::max(kLeastFree * each, std::min<size_t>(256 * each, kMostInChunk)));
    auto* const chunk = static_cast<char*>(map(bytes));
    if (chunk == nullptr) return false;
    for (size_t at = 0; at + each <= bytes; at += each)
      if (!add(chunk + at)) return false;
    return true;
  }

  char* take(size_t each) {
    if (count < kLeastFree && !grow(each) && count == 0) return nullptr;
    std::swap(free[draw() % count], free[count - 1]);
    return free[--count];
  }
};

Slots slots[kClasses];

Header& header_of(void* block) { return *reinterpret_cast<Header*>(static_cast<char*>(block) - kHeader); }

void* allocate(size_t size, size_t alignment, bool zero) {
  if (size > PTRDIFF_MAX - alignment - kHeader) {
    errno = ENOMEM;
    return nullptr;
  }
  const size_t wanted = std::max<size_t>(size, 1) + kHeader + (alignment > kHeader ? alignment : 0);
  const bool own_pages = wanted > kMostInChunk;
  const size_t kind = own_pages ? kClasses + whole_pages(wanted) / kPage : class_of(wanted);
  ::pthread_mutex_lock(&mutex);
  seed_once();
  auto* const start = own_pages ? static_cast<char*>(map(whole_pages(wanted))) : slots[kind].take(bytes_of(kind));
  const auto noise = static_cast<int>(draw() & 0xff);
  ::pthread_mutex_unlock(&mutex);
  if (start == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  const auto first = reinterpret_cast<uintptr_t>(start) + kHeader;
  auto* const block = start + kHeader + (alignment - first % alignment) % alignment;
  header_of(block) = {size, static_cast<uint32_t>(block - start), static_cast<uint32_t>(kind)};
  if (zero) {
    if (!own_pages) std::memset(block, 0, size);
  } else if (size <= kMostFilled) {
    std::memset(block, noise, size);
  }
  return block;
}

void release(void* block) {
  const Header header = header_of(block);
  char* const start = static_cast<char*>(block) - header.before;
  if (header.kind >= kClasses) {
    ::munmap(start, (header.kind - kClasses) * kPage);
    return;
  }
  std::memset(block, 0xdb, header.size);
  ::pthread_mutex_lock(&mutex);
  slots[header.kind].add(start);
  ::pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) void stay_whole_in_forks() {
  ::pthread_atfork([] { ::pthread_mutex_lock(&mutex); }, [] { ::pthread_mutex_unlock(&mutex); },
                   [] { ::pthread_mutex_unlock(&mutex); });
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void* malloc(size_t size) noexcept { return allocate(size, kHeader, false); }

__attribute__((visibility("default"))) void free(void* block) noexcept {
  const int kept = errno;
  if (block != nullptr) release(block);
  errno = kept;
}

__attribute__((visibility("default"))) void* calloc(size_t count, size_t size) noexcept {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX / 2 + 1;
  return allocate(bytes, kHeader, true);
}

__attribute__((visibility("default"))) void* realloc(void* block, size_t size) noexcept {
  if (block == nullptr) return malloc(size);
  if (size == 0) {
    free(block);
    return nullptr;
  }
  void* const moved = malloc(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min<size_t>(size, header_of(block).size));
  free(block);
  return moved;
}

__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return allocate(size, std::max(alignment, kHeader), false);
}

__attribute__((visibility("default"))) void* memalign(size_t alignment, size_t size) noexcept {
  return aligned_alloc(alignment, size);
}

__attribute__((visibility("default"))) int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  void* const made = aligned_alloc(alignment, size);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}

__attribute__((visibility("default"))) void* valloc(size_t size) noexcept { return aligned_alloc(kPage, size); }

__attribute__((visibility("default"))) void* pvalloc(size_t size) noexcept { return valloc(whole_pages(size)); }

__attribute__((visibility("default"))) size_t malloc_usable_size(void* block) noexcept {
  return block == nullptr ? 0 : header_of(block).size;
}
}
