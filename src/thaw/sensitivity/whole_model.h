// A model that runs as one, as a user runs it: what all that is cut into sections is held against.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "thaw/core/scratch_folder.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/session.h"
#include "thaw/sensitivity/cached_arrays.h"

namespace thaw::measuring {

// A folder of its own in TMPDIR, gone with it.
class TemporaryModel {
 public:
  TemporaryModel() = default;
  ~TemporaryModel();
  TemporaryModel(const TemporaryModel&) = delete;
  TemporaryModel& operator=(const TemporaryModel&) = delete;

  // With its weights in a file of their own, which ONNX Runtime maps. Throws thaw::Error (kCannotWrite).
  void write(const ir::Model& model);
  const std::filesystem::path& path() const { return path_; }  // empty before

 private:
  std::optional<ScratchFolder> folder_;
  std::filesystem::path path_;
};

class WholeModel {
 public:
  static constexpr uint64_t kSmall = uint64_t{32}
                                     << 20;  // bytes of weights in no file that stay in memory all the same

  // `outputs`: that are wanted. Without copies of weights (options) they are on the disk meanwhile: in memory there would be the
  // model's, those that ONNX Runtime is handed, and what it makes of them.
  WholeModel(const ir::Model& model, const std::vector<std::string>& outputs, const SessionOptions& options);

  // On a sample whose inputs are among what was kept. From several threads.
  Arrays run(const CachedArrays& kept, size_t sample);
  Arrays run(const Arrays& feeds);

 private:
  std::string where_;
  TemporaryModel on_disk_;  // outlives the session
  run::Session session_;
};

}  // namespace thaw::measuring
