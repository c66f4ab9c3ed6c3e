// The text in which sizes are given on the command line, `--sizes`.
//
//   spec   = group {";" group}                           groups beside each other: "h=320,w=256; h=640,w=480"
//   group  = entry {"," entry}                           each value with each: "h=320|640,w=256|448"
//   entry  = name "=" values | relation
//   values = value {"|" value} | expression              "n=1|2|7", "patches=t*h*w"
//   value  = integer | integer ".." [integer] [":" step]  "1..32", "64..1024:32" (64, 96, …), "1.." has no end
//
//   relation = expression ("<=" | ">=" | "==") expression  "h*w<=4096"
//
// A name is a symbol of the model as `thaw inspect` prints it: a declared dim, "<input>_dim<axis>", or an element
// "NAME[i]" of an integer input, or, for check --sizes, a column "NAME[:,j]" of one. What is not a list of integers and
// ranges is an expression in the grammar of text.h over other names of the group; for check --sizes, also over sums of rows,
// "sum(grid[:,0]*grid[:,1])". Spaces around separators do not
// count. A comma or semicolon inside parentheses does not separate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace thaw::dim {

// first, first + step, … up to last, which the steps hit; no last: without end. step >= 1.
struct Range {
  int64_t first = 0;
  std::optional<int64_t> last;
  int64_t step = 1;

  bool is_single() const { return last == first; }
  // How many values; nullopt without end.
  std::optional<uint64_t> count() const;
  bool operator==(const Range&) const = default;
};

struct SpecEntry {
  std::string name;           // empty: a relation
  std::vector<Range> ranges;  // at least one, unless `expression` is set
  std::string expression;
  // Of a relation: what is at most, or where `is_equal` the same as, `expression`.
  std::string left = {};
  bool is_equal = false;

  bool is_range() const { return !ranges.empty(); }
  bool is_expression() const { return !name.empty() && !expression.empty(); }
  bool is_relation() const { return name.empty(); }
};

using SpecGroup = std::vector<SpecEntry>;  // names are distinct

// Throws thaw::Error, naming the entry, for text that is not of the grammar, a range that runs backwards, an empty
// text, or a name that stands twice in a group.
std::vector<SpecGroup> parse_range_spec(std::string_view text);

// An entry as it can be read again.
std::string to_string(const SpecEntry& entry);

}  // namespace thaw::dim
