#include "thaw/cli/mcp_result.h"

#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

namespace thaw::cli {
namespace {

// What a verb printed as JSON, on one line: its line breaks stand between values, as those in texts are escaped. Empty where it is no
// object.
std::string object_on_a_line(std::string_view printed) {
  const size_t begin = printed.find_first_not_of(" \n");
  if (begin == std::string_view::npos || printed[begin] != '{' || !nlohmann::json::accept(printed)) return {};
  std::string line;
  bool begins = true;
  for (const char c : printed) {
    begins = c == '\n' || (begins && c == ' ');
    if (!begins) line += c;
  }
  return line;
}

std::string without_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

ToolResult failed_result(std::string sentence) { return {.texts = {std::move(sentence)}, .is_error = true}; }

ToolResult result_of(const VerbProcess& process, int status, const Verb& verb) {
  if (process.has_printed_too_much())
    return failed_result(fmt::format("thaw {}: prints more than a client can take; ask for less", verb.name));
  const std::string errors = without_end(process.errors());
  if (!WIFEXITED(status))
    return failed_result(fmt::format("thaw {}: the call ended by signal {} ({}){}{}", verb.name, WTERMSIG(status),
                                     ::strsignal(WTERMSIG(status)), errors.empty() ? "" : ": ", errors));
  ToolResult result{.texts = {}, .object = object_on_a_line(process.output())};
  result.is_error = WEXITSTATUS(status) > kFindings || result.object.empty();
  // Of an error the sentence comes first; else what was printed, then warnings.
  if (!result.object.empty() && !result.is_error) result.texts.push_back(result.object);
  if (!errors.empty()) result.texts.push_back(errors);
  if (result.texts.empty())
    result.texts.push_back(fmt::format("thaw {}: exit code {} without a word", verb.name, WEXITSTATUS(status)));
  return result;
}

}  // namespace thaw::cli
