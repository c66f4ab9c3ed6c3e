// Printing and parsing Dims in the one documented grammar (docs/dims.md):
//
//   expr   = term {("+" | "-") term}
//   term   = factor {("*" | "%") factor}
//   factor = integer | name | name "[" integer "]" | "-" factor | "(" expr ")"
//          | "floor(" expr "/" expr ")" | "ceil(" expr "/" expr ")"
//          | "min(" expr "," expr {"," expr} ")" | "max(…)" | "broadcast(…)" | "sum(" body ")"
//   name   = (letter | "_") {letter | digit | "_" | "." | ":"}        longest match; letters and digits of ASCII
//
// A sum is read only where the caller says what rows there are; its body is an expression with NAME[:,j] as factors.
// Blanks may stand between any two of these. Beyond what is printed, `a // b` is read as floor(a/b), at the level of
// "*". A symbol whose own name is not of that form (blanks, operators, "/") is printed with each offending character as
// "_", and with "_" in front of a leading digit; a suffix keeps two such texts apart.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "thaw/dim/expr/scope.h"

namespace thaw::dim {

// The text of d in the grammar above, in a fixed order of terms; "?" for unknown.
std::string to_string(Dim d);

// What "sum(BODY)" is: of the rows of an input, "NAME[:,j]" in the body being element j of each. Throws for a body that it
// cannot take.
using SumOverRows = std::function<Dim(std::string_view body)>;

// Parses text; names become symbols of the scope (NAME[i] an input value). Throws thaw::Error naming the column, also
// where the value is unknown (division by 0, overflow, past the budget). `known` (optional) limits the names that may
// appear, "NAME[i]" for an input's value: where it returns false for one, parsing fails.
Dim parse(std::string_view text, Scope& scope, const std::function<bool(std::string_view)>& known = {},
          const SumOverRows& sum = {});

// As parse, but nullopt instead of an error.
std::optional<Dim> try_parse(std::string_view text, Scope& scope,
                             const std::function<bool(std::string_view)>& known = {});

}  // namespace thaw::dim
