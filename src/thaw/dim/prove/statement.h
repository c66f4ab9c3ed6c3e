// What dim/prove/prove.h proves, as data: a relation between two Dims. Internal to dim/.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/dim/prove/prove.h"

namespace thaw::dim {

struct Statement {
  Relation relation = Relation::kEqual;
  Dim a, b;
  std::vector<Dim> given = {};  // what is assumed of their symbols: each is 0 or more
};

// Ids of the symbols in a statement and in what is given with it, ascending, each once.
std::vector<int> symbols_of(const Statement& statement);
// The scope of its symbols; null where there are none.
const Scope* scope_of(const Statement& statement);
// The facts of the scope that speak of these symbols, or of symbols that such facts speak of.
std::vector<Dim> facts_about(const Scope& scope, std::vector<int> symbols);

// What the normal forms and ranges say of a statement, for all admitted values at once.
enum class Decision : uint8_t { kAlways, kNever, kOpen };

// `facts` are known to be 0 or more; what is given with the statement is not looked at.
Decision decide(const Statement& statement, const std::vector<Dim>& facts);
inline Decision decide(const Statement& statement) { return decide(statement, statement.given); }

}  // namespace thaw::dim
