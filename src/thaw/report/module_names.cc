#include "thaw/report/module_names.h"

#include <algorithm>

#include "thaw/ir/wire/node_metadata.h"

namespace thaw::report {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::vector<std::string_view> name_parts(std::string_view node) {
  const char separator = node.find('/') != std::string_view::npos ? '/' : '.';
  std::vector<std::string_view> parts;
  size_t begin = 0;  // of the part that is open
  for (size_t at = node.find_first_not_of(separator); at < node.size();) {
    const size_t end = std::min(node.find(separator, at), node.size());
    const size_t next = std::min(node.find_first_not_of(separator, end), node.size());
    const std::string_view word = node.substr(next, std::min(node.find(separator, next), node.size()) - next);
    // What only separators follow is the last.
    if (next == node.size()) break;
    at = next;
    if (separator == '.' && is_number(word)) continue;
    parts.push_back(node.substr(begin, end - begin));
    begin = end;
  }
  parts.push_back(node.substr(begin));
  return parts;
}

std::string_view module_of(std::string_view node, size_t deepest) {
  const std::vector<std::string_view> parts = name_parts(node);
  size_t length = 0;
  for (size_t i = 0; i + 1 < parts.size() && i < deepest; ++i) length += parts[i].size();
  return node.substr(0, length);
}

std::string noted_module(const ir::Node& node) {
  const std::string_view scopes = ir::metadata_of(node, "pkg.torch.onnx.name_scopes");
  // The last in quotes is the node itself, the one before it the module right around it.
  std::string_view module, last;
  for (size_t at = scopes.find('\''); at != std::string_view::npos;) {
    const size_t end = scopes.find('\'', at + 1);
    if (end == std::string_view::npos) break;
    module = last;
    last = scopes.substr(at + 1, end - at - 1);
    at = scopes.find('\'', end + 1);
  }
  return std::string(module);
}

}  // namespace thaw::report
