#include "thaw/infer/stated_sizes.h"

#include <algorithm>
#include <string>

#include "thaw/core/error.h"

namespace thaw::infer {

namespace {

constexpr size_t kMostText = 4096;  // characters

dim::SpecGroup read(const ir::Model& model, std::string_view key) {
  const auto stated = std::ranges::find(model.metadata_props, key, &std::pair<std::string, std::string>::first);
  if (stated == model.metadata_props.end() || stated->second.size() > kMostText) return {};
  try {
    const auto groups = dim::parse_range_spec(stated->second);
    return groups.size() == 1 ? groups.front() : dim::SpecGroup();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

dim::SpecGroup stated_sizes(const ir::Model& model) {
  dim::SpecGroup all = read(model, kStatedSizesKey);
  for (const std::string_view key : {kValidSizesKey, kOldValidSizesKey})
    for (dim::SpecEntry& entry : read(model, key)) all.push_back(std::move(entry));
  return all;
}

void state_sizes(ir::Model& model, std::string_view entries) {
  if (entries.empty()) return;
  auto stated = std::ranges::find(model.metadata_props, kStatedSizesKey, &std::pair<std::string, std::string>::first);
  if (stated == model.metadata_props.end()) {
    model.metadata_props.emplace_back(kStatedSizesKey, entries);
    return;
  }
  const std::string known = ", " + stated->second + ", ", added = ", " + std::string(entries) + ", ";
  if (known.find(added) != std::string::npos) return;
  stated->second += stated->second.empty() ? "" : ", ";
  stated->second += entries;
}

}  // namespace thaw::infer
