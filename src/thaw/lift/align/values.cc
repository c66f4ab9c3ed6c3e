#include "thaw/lift/align/values.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thaw/core/error.h"
#include "thaw/core/json_file.h"

namespace thaw::lifting {
namespace {

constexpr int kMaxDepth = 12;
constexpr JsonKind kKind{.expected = "{\"trace.onnx\": {\"input\": [[1, 22, 30]]}, …}",
                         .next = "give the integer values that each trace was made with"};

[[noreturn]] void refuse_values(std::string what, const std::filesystem::path& path) {
  refuse_json(std::move(what), path.string(), kKind);
}

// Appends a nested list's numbers; all lists of one depth are as long as the first.
void flatten(const nlohmann::json& list, size_t depth, InputValues& out, const std::filesystem::path& path) {
  if (!list.is_array()) {
    if (depth != out.dims.size()) refuse_values("a list is not as deep as its neighbours", path);
    const std::optional<int64_t> value = list.is_boolean() ? int64_t{list.get<bool>()} : integer_of(list);
    if (!value) refuse_values("a value is not an integer", path);
    out.values.push_back(*value);
    return;
  }
  const auto size = static_cast<int64_t>(list.size());
  if (depth == out.dims.size()) {
    if (!out.values.empty() || depth > static_cast<size_t>(kMaxDepth))
      refuse_values("a list is deeper than its neighbours", path);
    out.dims.push_back(size);
  } else if (out.dims[depth] != size) {
    refuse_values("a list is not as long as its neighbours", path);
  }
  for (const nlohmann::json& entry : list) flatten(entry, depth + 1, out, path);
}

}  // namespace

void read_values(const std::filesystem::path& path, std::vector<Trace>& traces) {
  const nlohmann::json json = read_json(path, kKind);
  for (const auto& [name, inputs] : json.items()) {
    const auto trace =
        std::find_if(traces.begin(), traces.end(), [&, wanted = name](const Trace& t) { return t.name == wanted; });
    if (trace == traces.end()) refuse_values(fmt::format("'{}' is none of the traces", name), path);
    if (!inputs.is_object()) refuse_values(fmt::format("'{}' is given no inputs", name), path);
    for (const auto& [input, given] : inputs.items()) {
      InputValues& values = trace->values[input];
      if (!given.is_object()) {
        flatten(given, 0, values, path);
        continue;
      }
      if (!given.contains("shape") || !given["shape"].is_array())
        refuse_values(fmt::format("'{}' is given no shape", input), path);
      for (const nlohmann::json& size : given["shape"]) {
        const std::optional<int64_t> whole = integer_of(size);
        if (!whole) refuse_values("a shape holds something else than integers", path);
        values.dims.push_back(*whole);
      }
    }
  }
}

AddedInput parse_added_input(const std::string& text) {
  const auto bad = [&]() -> Error {
    return Error(ErrorCode::kInvalidArgument, {.what = fmt::format("'{}' is no input", text),
                                               .where = "--add-input",
                                               .expected = "NAME:TYPE[DIM,…], such as grid_thw:int64[1,3]",
                                               .next = "write it so"});
  };
  const size_t colon = text.find(':'), open = text.find('[');
  if (colon == std::string::npos || colon == 0 || open == std::string::npos || open < colon || text.back() != ']')
    throw bad();
  AddedInput input;
  input.name = text.substr(0, colon);
  const auto type = ir::data_type_from_name(text.substr(colon + 1, open - colon - 1));
  if (!type || !ir::is_integer(*type)) throw bad();
  input.type = *type;
  const char *at = text.data() + open + 1, *end = text.data() + text.size() - 1;
  while (at < end) {
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1 || (next != end && *next != ',')) throw bad();
    input.dims.push_back(size);
    at = next == end ? end : next + 1;
  }
  return input;
}

}  // namespace thaw::lifting
