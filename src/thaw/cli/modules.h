// A graph by module: "/layers/3/attn/MatMul" stands in "/layers/3/attn", "layers.3.attn.MatMul" in "layers.3.attn".
#pragma once

#include <string>
#include <vector>

#include "thaw/check.h"
#include "thaw/ir/graph/model.h"

namespace thaw::cli {

struct Module {
  std::string name;
  size_t nodes = 0, marked = 0;  // marked: those with findings
  std::string comes_out;         // what is read of it in the end: "hidden float32[batch, tokens, 64]"
  std::vector<std::string> findings;
};

struct Modules {
  std::vector<Module> first;  // in the order in which they first run
  size_t more = 0;            // that are left out
};

Modules modules_of(const ir::Model& model, const std::vector<Finding>& findings);

}  // namespace thaw::cli
