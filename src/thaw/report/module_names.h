// The modules that nodes stand in, as exporters tell: by the names of the nodes, "/layers.3/attn/MatMul" in
// "/layers.3/attn", "layers.3.attn.MatMul" in "layers.3.attn"; or by a note at each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::report {

// The name cut where a module begins, each part with the separators before it: "/layers.3", "/attn", "/MatMul". The
// last is the node's own, and all of them together are the name. A name with slashes is cut at those, any other at its dots,
// but not before a number, which tells one of several apart. Never empty; names nest as deep as the file says.
std::vector<std::string_view> name_parts(std::string_view node);

// The module that a node of this name stands in, at most `deepest` parts of it; empty where it stands in none.
std::string_view module_of(std::string_view node, size_t deepest);

// What torch's newer exporter notes at a node instead: "layers.3.attn" of its scopes "['', 'layers.3', 'layers.3.attn',
// 'linear_5']"; empty where it notes none.
std::string noted_module(const ir::Node& node);

}  // namespace thaw::report
