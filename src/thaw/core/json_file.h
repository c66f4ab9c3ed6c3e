// JSON that somebody else may have written, as a text or a file: one object within bounds, or a thaw::Error that says what is
// wrong with it. The memory that it takes is computed before it is held: a value of two bytes takes sixty or more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace thaw {

constexpr size_t kMostJsonBytes = size_t{64} << 20;
constexpr int kDeepestJson = 64;
constexpr size_t kMostJsonValues = size_t{8} << 20;

// What messages say of a file of its kind: "report.json as `thaw sensitivity` writes it", and how to come by one.
struct JsonKind {
  std::string_view expected;
  std::string_view next = "";
};

// Throws the thaw::Error (kInvalidFile) of a file that is none of its kind.
[[noreturn]] void refuse_json(std::string what, std::string where, const JsonKind& kind);

// Whether a value, or a member's name, is kept: `depth` is 0 for the object itself, 1 for what stands in it.
using JsonFilter = std::function<bool(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed)>;

// The object. Throws thaw::Error: kInvalidFile for a text that is none, or is longer, deeper or of more values than any such file;
// kOutOfBudget where holding it would take more than Limits::max_memory. `where` is for messages.
nlohmann::json parse_json(std::string_view text, const std::string& where, const JsonKind& kind,
                          const JsonFilter& is_kept = {});

// The same of a regular file.
nlohmann::json read_json(const std::filesystem::path& path, const JsonKind& kind, const JsonFilter& is_kept = {});

// A value for a message, in at most 60 characters.
std::string short_text(const nlohmann::json& value);

// nullopt where it is no whole number of 64 bits. nlohmann's own get() turns any number into one, and what it makes of 4e42 is
// undefined.
std::optional<int64_t> integer_of(const nlohmann::json& value);

}  // namespace thaw
