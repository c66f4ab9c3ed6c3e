// Where a verb's result goes: what is asked before the work, what is written after it.
#pragma once

#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/model.h"
#include "thaw/report.h"
#include "thaw/run/array.h"

namespace thaw::verbs {

// Before any work: throws thaw::Error unless what is made of `read` can be written there, under these names. A path that is the
// file that was read is refused unless Output::in_place says so. Nothing is asked of an empty path.
void require_output(const ir::Model& read, const Output& output);
// Once the result is there and before it is run: throws for sizes that it has not, and for names that others have.
void require_renames(ir::Model& result, const Output& output);
void require_renames(std::span<ir::Model* const> results, const Output& output);

// How a result is tried before its files take their names.
struct Trial {
  const ir::Model* original = nullptr;  // what a result that is not loaded may be excused by
  bool is_checked = true;               // without a check it is loaded only where that takes less than a second or so
  const Arrays* fed = nullptr;          // what it runs on once; null: a check ran it as it is written
};

// What ONNX Runtime makes of one of the models, by its number, that have no names yet; `path` will be its name.
LoadCheck try_staged(const ir::Model& model, ir::Staged& staged, size_t number, const std::filesystem::path& path,
                     const Trial& trial);

struct Published {
  Files files;
  LoadCheck load_check;

  template <typename Report>
  void tell(Report& report) && {
    report.files = std::move(files);
    report.load_check = std::move(load_check);
  }
};

// Renames sizes of an accepted result, writes it where Output::path says where, has ONNX Runtime load what was written, and gives
// the files their names unless it refuses them.
Published publish(ir::Model& result, const Output& output, const Trial& trial);
// Several, at `paths`, which share one file of data; all or none.
Published publish_together(std::span<ir::Model* const> results, std::span<const std::filesystem::path> paths,
                           const Output& output, const Trial& trial);

// Throws thaw::Error where `path` is one of the files that the call reads or writes, by another name or through a link too.
void require_other_file(const std::filesystem::path& path, std::span<const std::filesystem::path> others);

}  // namespace thaw::verbs
