// docs/rules.md, a part of the program: what `thaw rule CODE` prints.
#include <map>
#include <string>

#include "thaw/check/rule.h"

namespace thaw::checking {
namespace {

constexpr std::string_view kDocument =
#include "thaw/check/rules.inc"
    ;

// Each section without its heading, and without a paragraph that introduces the rules after it.
std::map<std::string_view, std::string_view> sections() {
  constexpr std::string_view kHeading = "\n## THAW", kIntroduction = "\n\nThe rules THAW";
  constexpr size_t kCodeLength = 7;
  std::map<std::string_view, std::string_view> found;
  for (size_t at = kDocument.find(kHeading); at != std::string_view::npos;) {
    const size_t next = kDocument.find(kHeading, at + 1);
    std::string_view section = kDocument.substr(at + 1, next - at - 1);
    const std::string_view code = section.substr(3, kCodeLength);
    section.remove_prefix(std::min(section.find('\n') + 1, section.size()));
    section = section.substr(0, section.find(kIntroduction));
    while (section.ends_with('\n')) section.remove_suffix(1);
    found.emplace(code, section);
    at = next;
  }
  return found;
}

}  // namespace

std::string_view page_of(std::string_view code) {
  static const std::map<std::string_view, std::string_view> kSections = sections();
  const auto found = kSections.find(code);
  return found == kSections.end() ? std::string_view() : found->second;
}

}  // namespace thaw::checking
