// A hash table that owns its elements at stable addresses: what interning needs and no more. Internal to dim/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace thaw::dim {

// Mixes a value into a hash (the finalizer of a 64-bit multiply-xorshift generator).
inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

template <typename T>
class InternTable {
 public:
  // The element of that hash for which `equal(element)` holds; null where there is none.
  template <typename Equal>
  const T* find(uint64_t hash, Equal equal) const {
    if (slots_.empty()) return nullptr;
    const size_t mask = slots_.size() - 1;
    for (size_t at = hash & mask; slots_[at].element != nullptr; at = (at + 1) & mask) {
      if (slots_[at].hash == hash && equal(*slots_[at].element)) return slots_[at].element;
    }
    return nullptr;
  }

  // Adds an element that `find` did not find.
  const T* insert(uint64_t hash, T element) {
    if ((elements_.size() + 1) * 2 > slots_.size()) grow();
    elements_.push_back(std::move(element));
    position({hash, &elements_.back()});
    return &elements_.back();
  }

  size_t size() const { return elements_.size(); }

 private:
  struct Slot {
    uint64_t hash = 0;
    const T* element = nullptr;
  };

  void position(Slot slot) {
    const size_t mask = slots_.size() - 1;
    size_t at = slot.hash & mask;
    while (slots_[at].element != nullptr) at = (at + 1) & mask;
    slots_[at] = slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.element != nullptr) position(slot);
    }
  }

  std::deque<T> elements_;
  std::vector<Slot> slots_;
};

}  // namespace thaw::dim
