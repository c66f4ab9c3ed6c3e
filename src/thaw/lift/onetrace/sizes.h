// The sizes that a trace's constants may come from: dims and values of its inputs, at the export and in each case of a
// reference.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/lift/align/traces.h"
#include "thaw/lift/onetrace/reference.h"
#include "thaw/lift/solve/propose.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::lifting::onetrace {

// "grid_thw=1,22,30" and "num_patches=660,frames=2"; several in one text apart by ';'. By name, in row-major order.
// Throws thaw::Error for anything else.
std::map<std::string, std::vector<int64_t>> parse_at(std::span<const std::string> texts);

struct Size {
  dim::Dim symbol;
  std::string name;  // as it is printed: "num_patches", "grid_thw[1]"
  std::string input;
  int64_t index = 0;  // axis, or element in row-major order
  bool is_dim = true;
  int64_t row = 0;               // of an element: the size of the input's last axis, where it has several
  std::optional<int64_t> at;     // at the export; nullopt: nothing tells
  std::vector<int64_t> by_case;  // in the order of the cases that are used
};

struct Sizes {
  std::vector<Size> sizes;  // dims before values
  // Dims of the inputs, by name, in the scope's symbols; those that the file declares as a number and that differ in
  // the cases are symbols too.
  std::map<std::string, ops::Shape> shapes;
  std::vector<Case> cases;            // that the model can be fed
  std::vector<std::string> left_out;  // a clause each: why a case is not used
  std::optional<size_t> at_case;      // the case at the export's own sizes
};

// The sizes whose value at the export is known, to propose expressions from; products are found.
std::vector<lifting::Point> points_of(const Sizes& sizes);

// "num_patches=364, grid_thw[1]=14", for a report.
std::string sizes_of_case(const Sizes& sizes, size_t case_index);

// Throws thaw::Error where `at` names what is no size of the inputs or contradicts the file, and where no case is at
// another size than the export.
Sizes find_sizes(const ir::Model& model, std::span<const AddedInput> added,
                 const std::map<std::string, std::vector<int64_t>>& at, std::vector<Case> cases, dim::Scope& scope);

}  // namespace thaw::lifting::onetrace
