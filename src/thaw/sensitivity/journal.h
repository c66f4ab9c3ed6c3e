// What was measured, a line of JSON each, as soon as it is: a run that was interrupted goes on from there.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "thaw/core/fd.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

class Journal {
 public:
  // `key`: of the run; lines of others are passed over. An empty path: nothing is kept. Where it is not to be resumed, the
  // file is begun anew. A link is not followed. Throws thaw::Error where it cannot be written.
  Journal(const std::filesystem::path& path, std::string key, bool resume);

  enum class Part : uint8_t { kIn, kOut };

  // What stands there of a unit in a precision; null where nothing does. Whose `out` is empty, of that nothing stands there.
  const UnitError* find(size_t unit, size_t precision) const;
  void add(const UnitError& error, Part part);
  // To the disk, once all is there.
  void flush() const;

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  std::string key_;
  UniqueFd file_;
  std::map<std::pair<size_t, size_t>, UnitError> known_;
};

}  // namespace thaw::measuring
