// Sizes as expressions: what `inspect` prints as dims, computed with and proven about.
//
//   thaw::Size tokens = thaw::Size::parse("floor(height/14)*floor(width/14)");
//   tokens.evaluate({{"height", 224}, {"width", 280}});   // 320
//   thaw::prove("h % 32 == 0 => floor(h/8) % 4 == 0").holds();
//
// The grammar is that of docs/dims.md. An expression is in normal form: two that are equal there have the same text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"

namespace thaw {

// An expression of integer symbols. Division rounds toward minus infinity; a remainder has the sign of the divisor.
class THAW_API Size {
 public:
  // Throws thaw::Error (kInvalidArgument), naming the column, for text that is not of the grammar, and for an expression without a
  // value: a division by 0, an overflow of int64, or one with more than 256 terms.
  static Size parse(const std::string& text);
  Size(int64_t value);  // NOLINT(google-explicit-constructor): `2 * n` reads as it should

  const std::string& text() const { return text_; }
  std::optional<int64_t> constant() const;   // nullopt where it has symbols
  std::vector<std::string> symbols() const;  // names, in the order of the text
  // nullopt where a symbol is missing, and where it has no value: a division by 0, an overflow.
  std::optional<int64_t> evaluate(const NamedSizes& values) const;
  // With symbols replaced; the others stay. Throws as parse().
  Size substitute(const std::map<std::string, Size>& replacements) const;

  bool operator==(const Size& other) const { return text_ == other.text_; }  // equal for all values of the symbols

 private:
  explicit Size(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// Throw as Size::parse().
THAW_API Size operator+(const Size& a, const Size& b);
THAW_API Size operator-(const Size& a, const Size& b);
THAW_API Size operator*(const Size& a, const Size& b);
THAW_API Size floor_div(const Size& a, const Size& b);
THAW_API Size ceil_div(const Size& a, const Size& b);
THAW_API Size remainder(const Size& a, const Size& b);
THAW_API Size min(const Size& a, const Size& b);
THAW_API Size max(const Size& a, const Size& b);

enum class ProofVerdict : uint8_t {
  kProven,   // holds for all values that are admitted
  kRefuted,  // `counterexample`
  kUnknown,  // `reason`
};

struct SizeStatement {
  ProofVerdict verdict = ProofVerdict::kUnknown;
  NamedSizes counterexample = {};  // admitted values at which it does not hold, the smallest that were found
  std::string reason = {};         // why it is unknown

  bool holds() const { return verdict == ProofVerdict::kProven; }
};

// Proves a statement for all values of its symbols, which are sizes: 0 or more.
//
//   statement = [conditions "=>"] conditions
//   conditions = condition {"and" condition}
//   condition = expression ("==" | "<=" | ">=" | "<" | ">") expression
//
// What stands before "=>" is taken as true. Throws thaw::Error (kInvalidArgument) for text that is no statement, and for conditions that
// no sizes fulfil as far as each symbol by itself tells.
THAW_API SizeStatement prove(const std::string& statement);

}  // namespace thaw
