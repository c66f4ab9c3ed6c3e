// What a name in sizes means, wherever sizes are given: --sizes, --rename.
//
//   name = symbol              a declared dim, or "<input>_dim<axis>" for one without a name
//        | INPUT "_dim" axis   the size of that axis, also where it has a name or is a number
//        | INPUT "[" i "]"     of integers, element i, counting in row-major order; of others, the size of axis i
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/range_spec.h"

namespace thaw::dim {

// An input as its sizes are named.
struct InputSizes {
  std::string name;
  bool holds_integers = false;
  std::optional<std::vector<Dim>> dims;  // of the scope; nullopt: rank not known
};

struct SizeName {
  enum class Kind : uint8_t {
    kSymbol,   // a size that is free
    kElement,  // of an integer input
    kNumber,   // an axis whose size is a number already
  };
  Kind kind = Kind::kSymbol;
  std::string text;    // as `thaw inspect` prints it: the symbol's name, "NAME[i]", or "<input>_dim<axis>" of a number
  int symbol = -1;     // its id in the scope: kSymbol, and kElement where the scope has it
  size_t input = 0;    // the number of the input: kElement and kNumber
  int64_t index = 0;   // the element, or the axis
  int64_t number = 0;  // kNumber: the size that it has
};

class SizeNames {
 public:
  // The scope must outlive this.
  SizeNames(const Scope& scope, std::vector<InputSizes> inputs);

  std::optional<SizeName> find(std::string_view name) const;
  // Throws thaw::Error with the nearest name where there is none of that name; `where` is for its message: "--sizes".
  SizeName require(std::string_view name, std::string_view where) const;
  [[noreturn]] void refuse(std::string_view name, std::string_view where) const;

  // The same sizes by the names that `thaw inspect` prints. An axis that has that very number already is left out.
  // Throws thaw::Error for a name that there is not, an axis with another number, and a size that is given twice.
  std::vector<std::pair<std::string, int64_t>> resolve(const std::vector<std::pair<std::string, int64_t>>& sizes,
                                                       std::string_view where) const;
  // The same entries by those names, also of axes that are numbers. A name that is not known stays.
  SpecGroup resolve(SpecGroup group) const;

  // Every name of a free size, then INPUT[i] of each integer input.
  const std::vector<std::string>& known() const { return known_; }

 private:
  std::optional<SizeName> of_axis(size_t input, int64_t axis) const;

  const Scope& scope_;
  std::vector<InputSizes> inputs_;
  std::vector<std::string> known_;
};

// Whether a text can be the name of a size in the grammar of text.h: letters, digits, '_', '.' and ':', a letter or '_'
// first.
bool is_size_name(std::string_view text);

// "NAME[7]" as its two parts; nullopt for other names.
std::optional<std::pair<std::string_view, int64_t>> split_index(std::string_view name);

}  // namespace thaw::dim
