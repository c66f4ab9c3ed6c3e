#include "thaw/rewrite/size_naming.h"

#include <algorithm>

#include "thaw/dim/text/text.h"

namespace thaw::rewrite {

using dim::Dim;

namespace {

// The text by which two sizes are told apart: that of the expression.
std::string key_of(Dim d) { return d.is_known() ? dim::to_string(d) : std::string(); }

}  // namespace

bool names_a_size(const std::string& param) {
  return !param.empty() && param != "?" && param != "-1" && param != "None";
}

SizeNaming::SizeNaming(const std::vector<const ir::Value*>& declared, const infer::Result& facts,
                       const dim::Scope& scope) {
  std::map<std::string, std::vector<Dim>> sizes_of;
  std::vector<std::string> order;
  for (const ir::Value* v : declared) {
    const ops::Fact& fact = facts.fact(v);
    if (!v->type.shape || !fact.shape || fact.shape->size() != v->type.shape->size()) continue;
    for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
      const std::string& param = (*v->type.shape)[axis].param;
      const Dim d = (*fact.shape)[axis];
      if (!names_a_size(param) || d.is_unknown()) continue;
      const auto [it, fresh] = sizes_of.emplace(param, std::vector<Dim>());
      if (fresh) order.push_back(param);
      std::vector<Dim>& list = it->second;
      if (std::ranges::none_of(list, [&](Dim other) { return dim::same(d, other); })) list.push_back(d);
    }
  }
  // What an input calls its size comes first; then the order of the file.
  for (const dim::SymbolInfo& s : scope.symbols())
    if (s.kind == dim::SymbolKind::kInputDim) names_.emplace(s.name, s.name);
  for (const std::string& param : order) {
    const std::vector<Dim>& list = sizes_of[param];
    const bool is_one = list.size() == 1 && list[0].is_symbolic();
    const bool is_taken = is_one && names_.contains(param) && key_of(list[0]) != param;
    if (is_one && !is_taken) {
      names_.emplace(key_of(list[0]), param);
    } else {
      disputed_.insert(param);
    }
  }
}

ir::DeclaredDim SizeNaming::declaration(Dim size) const {
  ir::DeclaredDim declared;
  if (const auto value = size.constant()) {
    declared.value = value;
  } else if (size.is_symbolic()) {
    const std::string key = key_of(size);
    const auto it = names_.find(key);
    declared.param = it != names_.end() ? it->second : key;
  }
  return declared;
}

}  // namespace thaw::rewrite
