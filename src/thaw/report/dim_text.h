// The text of dims and types, as reports show them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "thaw/dim/expr/dim.h"
#include "thaw/ir/data/types.h"
#include "thaw/ops/rule/fact.h"
#include "thaw/report/json_writer.h"

namespace thaw::report {

// Prints dims, each expression once: a model has thousands of tensors and dozens of sizes.
class DimText {
 public:
  // The dim for people: "?" when unknown. A data-dependent size shows its name.
  const std::string& show(dim::Dim dim);
  // "[batch, 3, ?, 4*w]"; an unknown rank is "?".
  std::string show(const std::optional<ops::Shape>& shape);
  // The same with "?" for data-dependent sizes too: their names say nothing outside their model.
  std::string show_known(const std::optional<ops::Shape>& shape);

  // Writes the dim as JSON: an integer, text in the grammar of dim/text.h, or null when it is unknown or has no
  // expression in the inputs (a size that depends on the data).
  void write(JsonWriter& json, dim::Dim dim);
  // A list of those; null when the rank is unknown.
  void write(JsonWriter& json, const std::optional<ops::Shape>& shape);

 private:
  struct Entry {
    std::string text;
    bool data_dependent;
  };
  const Entry& entry(dim::Dim dim);

  std::unordered_map<const dim::Expr*, Entry> entries_;
  std::string constant_;
};

// "float32" for a tensor; "sequence(tensor(float32))" and the like for others; empty when nothing is known.
std::string type_text(const ops::Fact& fact);
std::string type_text(const ir::Type& type);

}  // namespace thaw::report
