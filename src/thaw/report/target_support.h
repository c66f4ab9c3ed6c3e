// How far targets support models: members of JSON, lines of text, tables of a page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/targets.h"

namespace thaw::report {

// "supported", "unknown", "in part", "unsupported"; for JSON "partial" stands for "in part".
std::string_view name_of(Support support);
std::string_view key_of(Support support);

// The member "targets", where there are some.
void write_targets(JsonWriter& json, std::span<const TargetSupport> targets);
// A line of one, a table of several.
std::string targets_text(std::span<const TargetSupport> targets);
// Of one what it does not support, by operator; of several operators by target before it.
void add_targets(HtmlPage& page, std::span<const TargetSupport> targets);

// Models by target: rows of names and of what `targets` says of each. Of models that have no targets nothing is said.
using TargetsOfModel = std::pair<std::string, std::span<const TargetSupport>>;
std::string target_matrix_text(const std::vector<TargetsOfModel>& models);
void add_target_matrix(HtmlPage& page, const std::vector<TargetsOfModel>& models);

}  // namespace thaw::report
