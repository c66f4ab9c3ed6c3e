// A plan as a file that the quantizer of another tool reads: docs/guide/plan.md shows how. What a quantizer has no option for is said; a
// precision that it lacks is refused. How it rounds, and what else it chooses, are its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "thaw/sensitivity.h"
#include "thaw/sensitivity/plan_nodes.h"

namespace thaw::measuring {

struct PlanFile {
  std::string text;                   // JSON
  std::vector<std::string> warnings;  // in what the quantizer differs from what was measured
};

// Throws thaw::Error (kUnsupported) for a precision that the quantizer lacks.
PlanFile plan_file(const PlanNodes& nodes, PlanFormat format);

// A file a format.
PlanFile plan_for_ort(const PlanNodes& nodes);
PlanFile plan_for_olive(const PlanNodes& nodes);
PlanFile plan_for_inc(const PlanNodes& nodes);
PlanFile plan_for_modelopt(const PlanNodes& nodes);

// What the writers share.
class PlanWriter {
 public:
  // `quantizer`: for what is said, "Olive".
  PlanWriter(std::string_view quantizer, std::string_view word) : quantizer_(quantizer), word_(word) {}

  // Says which of the group's nodes stay as they are, for the operators that they are of.
  void leaves_but(const PlanGroup& group, Operators operators);
  // Says that the plan was measured with something that the quantizer lacks.
  void lacks(bool is_used, std::string_view what);
  // Of the options of blocks and INT8 that no such quantizer has.
  void lacks_own_options(const PrecisionOptions& precision);
  [[noreturn]] void refuse(const PrecisionOptions& precision, std::string_view taken) const;

  PlanFile finish(const nlohmann::ordered_json& content);

 private:
  std::string_view quantizer_, word_;
  std::vector<std::string> warnings_;
};

// Of the group's nodes of these operators.
std::vector<std::string> names_of(const PlanGroup& group, Operators operators = {});

// Letters that regular expressions read otherwise, with a backslash.
std::string regex_of(std::string_view name);

}  // namespace thaw::measuring
