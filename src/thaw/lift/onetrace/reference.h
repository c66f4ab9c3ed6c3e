// The cases of a reference: what the true model was fed, and what it gave, at one size or more.
//
// They lie in a .npz file as `thaw verify` reads it (run/cases.h): NAME for one case or for what all share, NAME_<i> or
// CASE/NAME for several.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/lift/align/traces.h"
#include "thaw/run/npz.h"

namespace thaw::lifting::onetrace {

struct Case {
  std::string name;  // empty where the file has one without a name
  Arrays feeds, outputs;
};

struct Reference {
  std::vector<Case> cases;           // in the file's order: numbers first
  std::vector<std::string> unused;   // arrays that are no input or output of the model
  std::vector<std::string> missing;  // outputs of the model that no case has
};

// Inputs that --at names, that the model has not and that the reference holds: the exporter took them out. `at` has as
// many values as the input has elements.
std::vector<AddedInput> inputs_to_add(const std::filesystem::path& path, const ir::Model& model,
                                      std::span<const AddedInput> added,
                                      const std::map<std::string, std::vector<int64_t>>& at);

// Reads the cases `wanted`, all of the file where it is empty. Throws thaw::Error for a case without an input that the
// model (or one of the added inputs) needs or with one of another type or rank, for a file without any output of the
// model, and for a wanted case that is not there.
Reference read_reference(const std::filesystem::path& path, const ir::Model& model, std::span<const AddedInput> added,
                         std::span<const std::string> wanted);

}  // namespace thaw::lifting::onetrace
