// Objects with stable addresses, allocated in slabs and freed together. Internal to ir/.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define THAW_POOL_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define THAW_POOL_POISONS 1
#endif
#endif
#ifdef THAW_POOL_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace thaw::ir {

template <typename T>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (const Slab& slab : slabs_) {
      auto* items = reinterpret_cast<T*>(slab.memory.get());
#ifdef THAW_POOL_POISONS
      __asan_unpoison_memory_region(items, slab.used * sizeof(T));
#endif
      for (size_t i = 0; i < slab.used; ++i) items[i].~T();
    }
  }

  T* make() {
    if (slabs_.empty() || slabs_.back().used == slabs_.back().capacity) grow();
    Slab& slab = slabs_.back();
    return new (slab.memory.get() + sizeof(T) * slab.used++) T();
  }

  // Frees what the object holds. Its memory is not used again while the pool lives (AddressSanitizer tells who touches
  // it).
  void retire(T* item) {
    item->~T();
    new (item) T();
#ifdef THAW_POOL_POISONS
    __asan_poison_memory_region(item, sizeof(T));
#endif
  }

 private:
  struct Slab {
    std::unique_ptr<std::byte[]> memory;
    size_t used = 0, capacity = 0;
  };
  static_assert(alignof(T) <= alignof(std::max_align_t));

  void grow() {
    constexpr size_t kFirst = 8, kMost = 1024;
    const size_t capacity = slabs_.empty() ? kFirst : std::min(slabs_.back().capacity * 4, kMost);
    slabs_.push_back({std::unique_ptr<std::byte[]>(new std::byte[capacity * sizeof(T)]), 0, capacity});
  }

  std::vector<Slab> slabs_;
};

}  // namespace thaw::ir
