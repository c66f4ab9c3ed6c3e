// Steps of constants: what takes a number to the next integer, or compares it, is not the same where the number is but for rounding.
#include <algorithm>
#include <array>
#include <string_view>

#include "thaw/prove/laws.h"

namespace thaw::proving {

bool is_step_of(std::string_view op, ir::DataType result, std::span<const ir::DataType> operands) {
  static constexpr std::array<std::string_view, 7> kOfNumbers{"Floor", "Ceil", "Round",  "Sign",
                                                              "Mod",   "TopK", "Hardmax"};
  if (std::ranges::find(kOfNumbers, op) != kOfNumbers.end()) return true;
  return !is_real(result) && std::ranges::any_of(operands, is_real);  // whole numbers and truths of others
}

namespace {

bool is_step(const Terms& terms, const Term& term) {
  static constexpr std::string_view kNode = "node ";
  if (term.kind != Term::Kind::kOperator) return false;
  const std::string_view op = term.op;
  std::vector<ir::DataType> operands;
  for (const TermId one : term.arguments)
    if (one != kNoTerm) operands.push_back(terms[one].dtype);
  return is_step_of(op.starts_with(kNode) ? op.substr(kNode.size()) : "", term.dtype, operands);
}

}  // namespace

std::vector<Algebra::Certainty> Algebra::certainties(const std::unordered_map<TermId, Certainty>& given) const {
  std::vector<Certainty> all(terms.size());
  for (TermId id = 0; id < terms.size(); ++id) {  // arguments come before what they are arguments of
    const Term& term = terms[id];
    Certainty& made = all[id];
    if (const auto known = given.find(id); known != given.end()) {
      made = known->second;
      continue;
    }
    made.has_input = term.kind == Term::Kind::kInput;
    made.is_taken = constants.is_taken(id) ||
                    (term.kind == Term::Kind::kSum && std::ranges::any_of(term.numbers, [&](double number) {
                       return constants.is_taken(number, term.dtype);
                     }));
    for (const TermId one : term.arguments) {
      if (one == kNoTerm) continue;
      made.is_uncertain |= all[one].is_uncertain;
      made.has_input |= all[one].has_input;
      made.is_taken |= all[one].is_taken;
    }
    // Of an input, it is another one by chance alone.
    made.is_uncertain |= made.is_taken && !made.has_input && is_step(terms, term);
  }
  if (constants.has_taken_exact())
    for (Certainty& one : all) one.is_uncertain = true;
  return all;
}

}  // namespace thaw::proving
