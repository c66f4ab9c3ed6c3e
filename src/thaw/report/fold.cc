#include "thaw/report/fold.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "thaw/core/ascii.h"
#include "thaw/report/printable.h"

namespace thaw::report {
namespace {

constexpr size_t kShortest = 14;  // an expression that is worth a letter
constexpr size_t kMostLetters = 8;
constexpr size_t kMostText = size_t{1} << 20;  // what nobody reads on a terminal is left as it is

bool is_of_name(char c) { return ascii::is_letter_or_digit(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

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

// Where a line's last column begins: what stands in one before it keeps its width, as columns are aligned.
size_t last_column(std::string_view line) {
  const size_t gap = line.rfind("  ");
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  return gap == std::string_view::npos || gap < indent ? indent : gap + 2;
}

// The expressions that stand twice in lines of more than `width` columns, what they save most first.
std::vector<std::string> repeated_calls(const std::vector<std::string_view>& lines, size_t width) {
  std::map<std::string_view, size_t> counts;
  for (const std::string_view line : lines) {
    if (width_of(line) <= width) continue;
    for (size_t at = last_column(line); at < line.size(); ++at)
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

// Letters that stand alone in the text as a size would, "[a, 3]" or "a=4", and not as a word of a sentence.
std::set<char> letters_of_sizes(std::string_view text) {
  constexpr std::string_view kBefore = "[(,*/+-='", kAfter = "]),*/+-='";
  std::set<char> found{'h', 'w'};
  const auto next_to = [&](size_t at, std::string_view signs, int step) {
    size_t to = at + static_cast<size_t>(step);  // past the text, too, where there is none before
    while (to < text.size() && text[to] == ' ') to += static_cast<size_t>(step);
    return to < text.size() && signs.find(text[to]) != std::string_view::npos;
  };
  for (size_t at = 0; at < text.size(); ++at) {
    if (!ascii::is_lower(static_cast<unsigned char>(text[at]))) continue;
    if ((at > 0 && is_of_name(text[at - 1])) || (at + 1 < text.size() && is_of_name(text[at + 1]))) continue;
    if (next_to(at, kBefore, -1) || next_to(at, kAfter, 1)) found.insert(text[at]);
  }
  return found;
}

// Whether there was one.
bool replace_calls(std::string& text, std::string_view call, std::string_view letter) {
  bool is_found = false;
  for (size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + letter.size())) {
    if (at > 0 && is_of_name(text[at - 1])) {
      ++at;
      continue;
    }
    text.replace(at, call.size(), letter);
    is_found = true;
  }
  return is_found;
}

}  // namespace

std::string fold_expressions(std::string_view text, size_t width) {
  if (width == 0 || text.size() > kMostText) return std::string(text);
  const std::vector<std::string_view> lines = lines_of(text);
  const std::vector<std::string> shown = repeated_calls(lines, width);
  if (shown.empty()) return std::string(text);
  // Letters are of all that the text repeats, so that they are the same where fewer lines are wide.
  std::vector<std::string> calls = repeated_calls(lines, 0);
  for (const std::string& call : shown)
    if (std::ranges::find(calls, call) == calls.end()) calls.push_back(call);
  // Inner ones come first, so that outer ones are made of letters that are known.
  std::ranges::stable_sort(calls, {}, &std::string::size);
  const std::set<char> taken = letters_of_sizes(text);
  std::vector<std::pair<std::string, std::string>> letters;  // expression and letter
  for (char letter = 'a'; const std::string& call : calls) {
    while (letter <= 'z' && taken.contains(letter)) ++letter;
    if (letter > 'z') break;
    letters.emplace_back(call, std::string(1, letter++));
  }
  // The longest are replaced first.
  const auto folded = [&](std::string line, size_t below, std::set<size_t>& used) {
    for (size_t i = below; i-- > 0;)
      if (std::ranges::find(shown, letters[i].first) != shown.end() &&
          replace_calls(line, letters[i].first, letters[i].second))
        used.insert(i);
    return line;
  };
  std::set<size_t> said;
  const std::function<std::string(size_t)> definition = [&](size_t i) -> std::string {
    if (!said.insert(i).second) return {};
    std::set<size_t> inner;
    const std::string meaning = folded(letters[i].first, i, inner);
    std::string before;
    for (const size_t one : inner) before += definition(one);
    return before + "where " + letters[i].second + " = " + meaning + "\n";
  };
  std::string out, paragraph;
  std::set<size_t> used;
  const auto end_paragraph = [&] {
    for (const size_t i : used) out += definition(i);
    out += paragraph;
    paragraph.clear();
    used.clear();
  };
  for (const std::string_view line : lines) {
    const size_t column = last_column(line);
    const bool is_wide = width_of(line) > width;
    paragraph.append(is_wide ? line.substr(0, column) : line);
    if (is_wide) paragraph += folded(std::string(line.substr(column)), letters.size(), used);
    paragraph += "\n";
    if (line.empty()) end_paragraph();
  }
  end_paragraph();
  if (!text.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace thaw::report
