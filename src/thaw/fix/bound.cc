#include "thaw/fix/bound.h"

#include "thaw/dim/expr/scope.h"

namespace thaw::fixing {

using frozen::FrozenRole;
using frozen::FrozenSite;

std::string code_of(FrozenRole role) {
  switch (role) {
    case FrozenRole::kShape:
    case FrozenRole::kAttribute:
      return "THAW010";
    case FrozenRole::kSplit:
      return "THAW011";
    case FrozenRole::kSlice:
      return "THAW012";
    case FrozenRole::kTable:
      return "THAW013";
    case FrozenRole::kIndex:
      return "THAW014";
    case FrozenRole::kWeight:
      return "THAW015";
  }
  return "";
}

std::string location_of(const FrozenSite& site) {
  return site.constant ? site.constant->name() : site.node->describe();
}

std::set<std::string> sizes_in(dim::Dim expression) {
  std::set<std::string> names;
  for (const int id : dim::symbols_of(expression)) {
    const dim::SymbolInfo& symbol = dim::scope_of(expression)->symbols()[static_cast<size_t>(id)];
    if (symbol.kind == dim::SymbolKind::kInputDim || symbol.kind == dim::SymbolKind::kInputValue)
      names.insert(symbol.name);
  }
  return names;
}

std::set<std::string> sizes_in(const FrozenSite& site) {
  std::set<std::string> names = sizes_in(site.expression);
  for (const frozen::FrozenSize& more : site.more) names.merge(sizes_in(more.expression));
  for (const frozen::FrozenElement& location : site.locations) names.merge(sizes_in(location.expression));
  return names;
}

}  // namespace thaw::fixing
