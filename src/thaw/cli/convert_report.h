// What `thaw convert` says: what became of the nodes, and what each output lost.
#pragma once

#include <string>
#include <vector>

#include "thaw/cli/notes.h"
#include "thaw/cli/written.h"
#include "thaw/convert.h"

namespace thaw::cli {

// By what nodes became, or why they did not: a model has hundreds of each.
std::vector<NoteView> convert_notes(const std::vector<Change>& changes);
std::string convert_text(const ConvertReport& report, const Written& files, bool explain);
std::string convert_json(const std::string& model, const ConvertReport& report, const Written& files);

}  // namespace thaw::cli
