// Checking a model: every rule looks at it and says what it finds.
//
// A rule is a file in this folder: a code that never changes, a title, what it looks for (docs/rules.md has a page of
// each). Rules read what inference knows (Evidence); none reads weights, none changes the model.
#pragma once

#include <string>
#include <string_view>

#include "thaw/check.h"
#include "thaw/dim/text/range_spec.h"
#include "thaw/ir/graph/model.h"

namespace thaw::checking {

// As CheckOptions::target: how the model fits each of them, and no findings of theirs.
inline constexpr std::string_view kAllTargets = "all";

// Findings, by rule and then in node order, and what a proof over CheckOptions::dims covered. CheckOptions::run and
// ::feeds are for the caller (confirm/breaking_sizes.h). Throws thaw::Error for an unknown code, size name or target.
CheckReport check(const ir::Model& model, const CheckOptions& options = {});

// The sizes of CheckOptions::dims; none for an empty text. Throws thaw::Error for several groups of them.
dim::SpecGroup parse_dims(const std::string& text);

}  // namespace thaw::checking
