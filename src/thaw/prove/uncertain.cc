// Steps of constants: what takes a number to the next integer, or compares it, is not the same where the number is but for rounding.
#include <algorithm>
#include <array>
#include <string_view>

#include "thaw/prove/laws.h"

namespace thaw::proving {

namespace {

bool is_step(const Terms& terms, const Term& term) {
  static constexpr std::array<std::string_view, 7> kOfNumbers{"node Floor", "node Ceil", "node Round",  "node Sign",
                                                              "node Mod",   "node TopK", "node Hardmax"};
  if (term.kind != Term::Kind::kOperator) return false;
  if (std::ranges::find(kOfNumbers, term.op) != kOfNumbers.end()) return true;
  // Whole numbers and truths of others.
  return !is_real(term.dtype) &&
         std::ranges::any_of(term.arguments, [&](TermId one) { return one != kNoTerm && is_real(terms[one].dtype); });
}

}  // namespace

std::vector<bool> Algebra::uncertain() const {
  std::vector<bool> all(terms.size()), has_input(terms.size()), is_taken(terms.size());
  for (TermId id = 0; id < terms.size(); ++id) {  // arguments come before what they are arguments of
    const Term& term = terms[id];
    has_input[id] = term.kind == Term::Kind::kInput;
    is_taken[id] = constants.is_taken(id) ||
                   (term.kind == Term::Kind::kSum && std::ranges::any_of(term.numbers, [&](double number) {
                      return constants.is_taken(number, term.dtype);
                    }));
    for (const TermId one : term.arguments) {
      if (one == kNoTerm) continue;
      if (all[one]) all[id] = true;
      if (has_input[one]) has_input[id] = true;
      if (is_taken[one]) is_taken[id] = true;
    }
    // Of an input, it is another one by chance alone.
    if (is_taken[id] && !has_input[id] && is_step(terms, term)) all[id] = true;
  }
  if (constants.has_taken_exact()) all.assign(all.size(), true);
  return all;
}

}  // namespace thaw::proving
