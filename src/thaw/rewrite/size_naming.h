// What sizes are called where a model declares them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/graph.h"

namespace thaw::rewrite {

// Whether a declared text is a name: "?" and the like say that nothing is known.
bool names_a_size(const std::string& param);

// A name that the model's inputs or these declarations give a size stays, where it stands for that one size; what has none is
// called by its expression ("floor(height/8)"), which names where the size comes from and cannot clash.
class SizeNaming {
 public:
  SizeNaming() = default;
  SizeNaming(const std::vector<const ir::Value*>& declared, const infer::Result& facts, const dim::Scope& scope);

  // A number, a name, or nothing for a size that is not known.
  ir::DeclaredDim declaration(dim::Dim size) const;
  // Whether one of the declarations gives the name to another size: who says it too would say that the two are equal.
  bool is_disputed(const std::string& name) const { return disputed_.contains(name); }

 private:
  std::map<std::string, std::string> names_;  // by expression
  std::set<std::string> disputed_;
};

}  // namespace thaw::rewrite
