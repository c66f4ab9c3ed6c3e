// The values of one graph by name: an open-addressing hash table over Value::name(). Internal to ir/.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::ir {

class NameTable {
 public:
  Value* find(std::string_view name) const {
    if (slots_.empty()) return nullptr;
    const uint32_t hash = hash_of(name);
    for (size_t i = hash & mask();; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (!slot.value) return nullptr;
      if (slot.hash == hash && slot.value->name() == name) return slot.value;
    }
  }

  // False, and nothing changes, when a value of that name is there.
  bool insert(Value* value) { return find_or_insert(value) == value; }

  // The value of that name which is there; if none is, this one, which is there then.
  Value* find_or_insert(Value* value) {
    if ((size_ + 1) * 4 > slots_.size() * 3) resize(slots_.empty() ? 16 : slots_.size() * 2);
    const uint32_t hash = hash_of(value->name());
    size_t i = hash & mask();
    for (; slots_[i].value; i = (i + 1) & mask()) {
      if (slots_[i].hash == hash && slots_[i].value->name() == value->name()) return slots_[i].value;
    }
    slots_[i] = {hash, value};
    ++size_;
    return value;
  }

  void erase(const Value* value) {
    if (slots_.empty()) return;
    size_t i = hash_of(value->name()) & mask();
    while (slots_[i].value != value) {
      if (!slots_[i].value) return;
      i = (i + 1) & mask();
    }
    // Move back what would no longer be found past the gap.
    size_t gap = i;
    for (size_t j = (i + 1) & mask(); slots_[j].value; j = (j + 1) & mask()) {
      const size_t home = slots_[j].hash & mask();
      if (((j - home) & mask()) >= ((j - gap) & mask())) {
        slots_[gap] = slots_[j];
        gap = j;
      }
    }
    slots_[gap] = {};
    --size_;
  }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.value) visit(slot.value);
    }
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    Value* value = nullptr;
  };
  // Eight bytes at a time; each multiplication's halves are folded into one.
  static uint32_t hash_of(std::string_view name) {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
    uint64_t hash = name.size() * kOdd;
    const char* at = name.data();
    size_t left = name.size();
    for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t))
      hash = mix(hash, at, sizeof(uint64_t));
    if (left > 0) hash = mix(hash, at, left);
    return static_cast<uint32_t>(hash ^ hash >> 32);
  }
  static uint64_t mix(uint64_t hash, const char* at, size_t size) {
    constexpr uint64_t kOdd = 0xd6e8feb86659fd93;
    uint64_t word = 0;
    std::memcpy(&word, at, size);
    // The upper half of the whole product hangs on every bit of the word: names differ in their last letters.
    const unsigned __int128 product = static_cast<unsigned __int128>(hash ^ word) * kOdd;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  size_t mask() const { return slots_.size() - 1; }
  void resize(size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (!slot.value) continue;
      size_t i = slot.hash & mask();
      while (slots_[i].value) i = (i + 1) & mask();
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace thaw::ir
