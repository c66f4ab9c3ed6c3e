#include "thaw/report/fold.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "thaw/report/printable.h"

namespace thaw::report {
namespace {

constexpr size_t kShortest = 14;  // an expression that is worth a letter
constexpr size_t kMostLetters = 8;
constexpr size_t kMostText = size_t{1} << 20;  // what nobody reads on a terminal is left as it is

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// Where the call that begins at `at` ends; 0 where none begins there.
size_t call_end(std::string_view line, size_t at) {
  constexpr std::string_view kCalls[] = {"floor(", "ceil(", "min(", "max(", "broadcast("};
  if (at > 0 && is_of_name(line[at - 1])) return 0;
  const auto call =
      std::ranges::find_if(kCalls, [&](std::string_view name) { return line.substr(at).starts_with(name); });
  if (call == std::end(kCalls)) return 0;
  int depth = 0;
  for (size_t i = at + call->size() - 1; i < line.size(); ++i) {
    if (line[i] == '(') ++depth;
    if (line[i] == ')' && --depth == 0) return i + 1;
  }
  return 0;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The expressions of wide lines that stand twice, what they save most first.
std::vector<std::string> repeated_calls(const std::vector<std::string_view>& lines, size_t width) {
  std::map<std::string_view, size_t> counts;
  for (const std::string_view line : lines) {
    if (width_of(line) <= width) continue;
    for (size_t at = 0; at < line.size(); ++at)
      if (const size_t end = call_end(line, at); end >= at + kShortest) ++counts[line.substr(at, end - at)];
  }
  std::vector<std::pair<size_t, std::string>> worth;
  for (const auto& [call, count] : counts)
    if (count > 1) worth.emplace_back((count - 1) * call.size(), call);
  std::ranges::stable_sort(worth, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> calls;
  for (auto& [saved, call] : worth)
    if (calls.size() < kMostLetters) calls.push_back(std::move(call));
  return calls;
}

bool is_word_of(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !is_of_name(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !is_of_name(text[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

void replace_calls(std::string& text, std::string_view call, std::string_view letter) {
  for (size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + letter.size())) {
    if (at > 0 && is_of_name(text[at - 1])) {
      ++at;
      continue;
    }
    text.replace(at, call.size(), letter);
  }
}

}  // namespace

std::string fold_expressions(std::string_view text, size_t width) {
  if (width == 0 || text.size() > kMostText) return std::string(text);
  const std::vector<std::string_view> lines = lines_of(text);
  std::vector<std::string> calls = repeated_calls(lines, width);
  // Inner ones go into the outer ones' definitions, so the longest are replaced first.
  std::ranges::stable_sort(calls, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<std::pair<std::string, std::string>> letters;  // expression and letter
  for (char letter = 's'; const std::string& call : calls) {
    while (letter <= 'z' && is_word_of(text, std::string_view(&letter, 1))) ++letter;
    if (letter > 'z') break;
    letters.emplace_back(call, std::string(1, letter++));
  }
  if (letters.empty()) return std::string(text);
  std::string folded;
  for (const std::string_view line : lines) {
    std::string shown(line);
    if (width_of(line) > width)
      for (const auto& [call, letter] : letters) replace_calls(shown, call, letter);
    folded += shown + "\n";
  }
  if (!text.ends_with('\n')) folded.pop_back();
  for (size_t i = 0; i < letters.size(); ++i) {
    std::string meaning = letters[i].first;
    for (size_t j = i + 1; j < letters.size(); ++j) replace_calls(meaning, letters[j].first, letters[j].second);
    if (is_word_of(folded, letters[i].second) || i > 0) folded += "let " + letters[i].second + " = " + meaning + "\n";
  }
  return folded;
}

}  // namespace thaw::report
