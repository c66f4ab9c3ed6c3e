// Arrays by name, for each of several samples: in memory as far as a limit allows, on the disk beyond it.
//
// What does not fit goes to a file without a name in the folder for temporary files, and is read back when it is asked for.
// May be used from several threads; an array that was put is not put again.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "thaw/core/fd.h"
#include "thaw/run/array.h"

namespace thaw::measuring {

class CachedArrays {
 public:
  // Bytes that all together may hold in memory.
  struct Memory {
    uint64_t left = 0;
  };

  explicit CachedArrays(Memory& memory) : memory_(memory) {}
  ~CachedArrays();
  CachedArrays(const CachedArrays&) = delete;
  CachedArrays& operator=(const CachedArrays&) = delete;

  // Throws thaw::Error where the disk is full.
  void put(size_t sample, const std::string& name, Array array);
  bool has(size_t sample, const std::string& name) const;
  Array get(size_t sample, const std::string& name) const;
  uint64_t bytes(size_t sample) const;
  uint64_t bytes(size_t sample, const std::string& name) const;  // 0: it is not there

 private:
  struct Entry {
    Array array;  // without bytes where they are in the file
    bool is_in_file = false;
    uint64_t offset = 0, size = 0;
  };

  void spill(Entry& entry);

  mutable std::mutex mutex_;  // of all below
  Memory& memory_;
  std::vector<std::map<std::string, Entry>> samples_;
  UniqueFd file_;
  uint64_t end_ = 0, held_ = 0;
};

}  // namespace thaw::measuring
