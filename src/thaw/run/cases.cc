#include "thaw/run/cases.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace thaw::run {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The case that `array` is of `name` in; nullopt where it is not that name's.
std::optional<std::string> case_of(std::string_view array, std::string_view name) {
  if (array == name) return "";
  if (array.size() > name.size() + 1 && array.starts_with(name) && array[name.size()] == '_' &&
      is_number(array.substr(name.size() + 1))) {
    return std::string(array.substr(name.size() + 1));
  }
  if (array.size() > name.size() + 1 && array.ends_with(name) && array[array.size() - name.size() - 1] == '/') {
    return std::string(array.substr(0, array.size() - name.size() - 1));
  }
  return std::nullopt;
}

}  // namespace

GroupedNames group_cases(std::span<const std::string> arrays, std::span<const std::string> names) {
  std::vector<std::string> longest_first(names.begin(), names.end());
  std::ranges::stable_sort(longest_first,
                           [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  GroupedNames grouped;
  for (const std::string& array : arrays) {
    bool used = false;
    for (const std::string& name : longest_first) {
      if (const auto found = case_of(array, name)) {
        grouped.cases[*found].emplace(name, array);
        used = true;
        break;
      }
    }
    if (!used) grouped.unused.push_back(array);
  }
  return grouped;
}

std::vector<std::string> case_order(const CaseNames& cases) {
  std::vector<std::string> order;
  for (const auto& [name, arrays] : cases) {
    if (!name.empty()) order.push_back(name);
  }
  const auto before = [](const std::string& a, const std::string& b) {
    if (is_number(a) != is_number(b)) return is_number(a);
    if (is_number(a) && a.size() != b.size()) return a.size() < b.size();
    return a < b;
  };
  std::sort(order.begin(), order.end(), before);
  return order;
}

CaseFile::CaseFile(const std::filesystem::path& path, std::span<const std::string> names)
    : reader_(std::make_unique<NpzReader>(path)), grouped_(group_cases(reader_->names(), names)) {}

Arrays CaseFile::read(const std::string& case_name, std::span<const std::string> names, const ChecksByName& check_of) {
  Arrays arrays;
  for (const std::string& part : {std::string(), case_name}) {
    const auto found = grouped_.cases.find(part);
    if (found == grouped_.cases.end()) continue;
    for (const std::string& name : names) {
      const auto array = found->second.find(name);
      if (array == found->second.end()) continue;
      arrays.insert_or_assign(name, reader_->read(array->second, check_of(name)));
    }
  }
  return arrays;
}

}  // namespace thaw::run
