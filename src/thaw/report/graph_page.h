// Pages with the graph of a model as a picture: modules that open, sizes on the edges, what is frozen or differs, weights
// and costs; to look around in and to search. Each is one file that asks for nothing.
#pragma once

#include <cstddef>
#include <string>

#include "thaw/report/inspection.h"
#include "thaw/report/model_diff.h"
#include "thaw/run.h"

namespace thaw::report {

// Of the graph as the page holds it. What has no place is left out, and the page says so.
inline constexpr size_t kMostGraphBytes = size_t{16} << 20;

// The page of `thaw inspect`.
std::string inspection_page(const Inspection& seen, size_t most_bytes = kMostGraphBytes);

// The page of `thaw run --placement`: `seen` is the model that was run.
std::string placement_page(const RunReport& report, const Inspection& seen, size_t most_bytes = kMostGraphBytes);

// The page of `thaw diff`: b's graph, with what is a's alone.
std::string diff_page(const ModelDiff& diff, const ir::Model& a, const ir::Model& b,
                      size_t most_bytes = kMostGraphBytes);

}  // namespace thaw::report
