// Which integers may be fed to a model: one that selects rows of a table must stay within it, an axis within the rank.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "thaw/infer/infer.h"

namespace thaw::infer {

struct IntegerRange {
  int64_t lowest = 0;
  std::optional<int64_t> bound;  // valid values stay below it
  bool is_distinct = false;      // no two are the same

  bool operator==(const IntegerRange&) const = default;
};

// For each integer input, what the operators ask of it that it reaches through nodes which only move or convert
// elements: an index of a table of known size (Gather's rows, OneHot's classes) is below the rows of the smallest such
// table, axes are below the rank and differ, the length of a sequence is from 1 to what the sequences have, a size is not
// 0. Inputs of which nothing of that is asked are not in the map. facts: of the same model.
std::map<std::string, IntegerRange> integer_ranges(const ir::Model& model, const Result& facts);

}  // namespace thaw::infer
