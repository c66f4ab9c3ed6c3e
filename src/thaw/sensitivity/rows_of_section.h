// Whether a section treats what lies along its inputs' first axis apart, so that several runs of it are one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "thaw/rewrite/submodel.h"

namespace thaw::measuring {

// The inputs and outputs that have the samples' axis first. `part`: a section as a model; `types`: its inputs' types, where sizes
// that are equal have one name; `axis`: that of the samples. nullopt where the section is not shown to treat rows of that axis apart, by
// the rules of `thaw batch` (batch/rows_apart.h).
std::optional<std::set<std::string>> rows_of_section(ir::Model& part, const rewrite::BoundaryValues& types,
                                                     const std::string& axis);

}  // namespace thaw::measuring
