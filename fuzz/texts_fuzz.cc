// Any text as what the command line takes: sizes (--sizes), values, ranges of values, names, and config.json.
// One thaw::Error, or what the grammar promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/dim/text/range_spec.h"
#include "thaw/model/config.h"
#include "thaw/run/input_text.h"

namespace {

using namespace thaw;

void require(bool holds) {
  if (!holds) std::abort();
}

template <typename Read>
void try_out(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

void read_sizes(std::string_view text) {
  for (const dim::SpecGroup& group : dim::parse_range_spec(text)) {
    require(!group.empty());
    for (const dim::SpecEntry& entry : group) {
      require(entry.is_relation() == !entry.left.empty());
      require(entry.ranges.empty() == !entry.expression.empty());
      if (entry.is_relation()) require(entry.ranges.empty());
      for (const dim::Range& range : entry.ranges) {
        require(range.step >= 1);
        if (range.last) require(range.first <= *range.last);
        static_cast<void>(range.count());
      }
    }
  }
}

void read_config(std::string_view text) {
  const model::Config config = model::Config::parse(text, "config.json");
  for (const char* key : {"a", "hidden_size", "depth"}) {
    static_cast<void>(config.has(key));
    try_out([&] { require(config.size({key}) >= 1); });
    try_out([&] { static_cast<void>(config.integer({key})); });
    try_out([&] { static_cast<void>(config.number({key})); });
    try_out([&] { static_cast<void>(config.boolean_or({key}, false)); });
    try_out([&] { static_cast<void>(config.text({key})); });
    try_out([&] { static_cast<void>(config.integers({key})); });
    try_out([&] { static_cast<void>(config.one_or_more_integers({key})); });
    try_out([&] { static_cast<void>(config.numbers({key})); });
    try_out([&] { static_cast<void>(config.texts_or({key}, {})); });
    try_out([&] { static_cast<void>(config.object(key).where()); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 5) {
    case 0:
      try_out([&] { read_sizes(text); });
      break;
    case 1:
      try_out([&] {
        FeedOptions feeds;
        run::add_values(std::vector{text}, feeds);
      });
      break;
    case 2:
      try_out([&] {
        FeedOptions feeds;
        run::add_value_ranges(std::vector{text}, feeds);
      });
      break;
    case 3:
      try_out([&] { static_cast<void>(run::parse_names(std::vector{text})); });
      break;
    default:
      try_out([&] { read_config(text); });
  }
  return 0;
}
