// A result in the files that are written, loaded and run as users do: by ONNX Runtime at its defaults. A check may run a copy of it,
// in other types or without what it declares; this is what tells whether the files are taken.
#pragma once

#include <filesystem>

#include "thaw/ir/graph/model.h"
#include "thaw/report.h"
#include "thaw/run/array.h"

namespace thaw::confirm {

struct ToTry {
  const ir::Model* written;
  const ir::Model* original;            // null: there is none, or it is none that is loaded
  const Arrays* fed = nullptr;          // by input, of the types that `written` takes; null: it is not run
  std::filesystem::path file = {};      // that holds `written`, under whatever name; empty: it is tried from memory
  std::filesystem::path named_as = {};  // what errors call the file
};

// Whether loading it takes less than a second or so.
bool loads_quickly(const ir::Model& model);

// What is wrong with a weight, which may be made only now, is thrown.
LoadCheck try_as_written(const ToTry& what);

}  // namespace thaw::confirm
