// Attributes and declared types as short text, and whether two attributes say the same.
#pragma once

#include <filesystem>
#include <string>

#include "thaw/ir/graph/graph.h"

namespace thaw::report {

// "[1, 2, 3]", "0.5", "'text'", "float32 [2, 3]", "a graph of 12 nodes"; cut to a line's length.
std::string attribute_text(const ir::Attribute& attribute);

// Whether the two say the same. Tensors are compared as weights are: by type and, if `values`, by their elements; the
// folders are those of the models, for external data. Graphs, which are compared as graphs, count as the same here.
struct SameValue {
  std::filesystem::path folder_a, folder_b;
  bool values = true;
  bool operator()(const ir::Attribute& a, const ir::Attribute& b) const;
};

// "float32 [1, 3, height, ?]" as the file declares it; "none" when it declares nothing.
std::string declared_text(const ir::Type& type);

}  // namespace thaw::report
