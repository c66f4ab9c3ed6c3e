#include "thaw/run/runtime_message.h"

#include <algorithm>
#include <array>
#include <regex>

namespace thaw::run {
namespace {

// Behind the bracket that closes the one at `open`; npos where none does.
size_t behind_closed(std::string_view text, size_t open) {
  const char opening = text[open], closing = opening == '(' ? ')' : ']';
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == opening) ++depth;
    if (text[at] == closing && --depth == 0) return at + 1;
  }
  return std::string_view::npos;
}

// "/build/path/file.cc:87 void f(int, const T&) [with T = int] "
void cut_functions(std::string& text) {
  static constexpr std::string_view kSources = "/onnxruntime_src/", kTypes = " [with ";
  for (size_t start = text.find(kSources); start != std::string::npos; start = text.find(kSources, start)) {
    const size_t open = text.find('(', start);
    size_t end = open == std::string::npos ? open : behind_closed(text, open);
    if (end == std::string::npos) return;  // not of that form: better too much than too little
    if (std::string_view(text).substr(end).starts_with(kTypes))
      end = std::min(behind_closed(text, end + 1), text.size());
    text.erase(start, end - start);
  }
}

// "file.cc:87 operator() ", as ONNX Runtime writes it of what it catches.
void cut_short_locations(std::string& text) {
  static const std::regex kLocation(R"(\b[A-Za-z_][A-Za-z0-9_]*\.(?:cc|cpp|cu|cuh|h):\d+ (?:operator\(\)|~?\w+) )");
  text = std::regex_replace(text, kLocation, "");
}

// " ; hostname=vm ; file=/build/path/file.cc ; line=350 ; expr=call()", as it writes of calls to CUDA; the call stays.
void cut_machine(std::string& text) {
  static constexpr std::string_view kBegin = " ; hostname=", kEnd = " ; expr=";
  for (size_t start = text.find(kBegin); start != std::string::npos; start = text.find(kBegin, start)) {
    const size_t end = text.find(kEnd, start);
    if (end == std::string::npos) return;
    text.erase(start, end - start);
  }
}

template <size_t N>
bool has_any(std::string_view text, const std::array<std::string_view, N>& signs) {
  return std::ranges::any_of(signs, [&](std::string_view sign) { return text.find(sign) != std::string_view::npos; });
}

}  // namespace

std::string one_line(std::string_view message) {
  std::string text(message);
  cut_machine(text);
  cut_functions(text);
  cut_short_locations(text);
  std::string line;
  for (char c : text) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    if (c == ' ' && (line.empty() || line.back() == ' ')) continue;
    line.push_back(c);
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

bool says_no_memory(std::string_view message) {
  return has_any(message,
                 std::to_array<std::string_view>({"bad_alloc", "Failed to allocate memory", "Cannot allocate memory"}));
}

bool says_no_device_memory(std::string_view message) {
  // Of an arena with a limit, of CUDA and HIP, and of their libraries.
  return has_any(message, std::to_array<std::string_view>(
                              {"is smaller than requested bytes", "failure 2: out of memory", "_STATUS_ALLOC_FAILED"}));
}

}  // namespace thaw::run
