// A model that is run: a file, which is read anew whenever it is looked at, or one in memory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "thaw/ir/graph/model.h"
#include "thaw/run/session.h"

namespace thaw::run {

class ModelSource {
 public:
  // Implicit, as a path names a model.
  ModelSource(std::filesystem::path path) : path_(std::move(path)) {}  // NOLINT(google-explicit-constructor)
  // Which outlives it.
  explicit ModelSource(const ir::Model& model) : path_(name_of(model)), model_(&model) {}

  // What messages and reports call it.
  const std::filesystem::path& path() const { return path_; }
  // A model of the caller's own.
  std::unique_ptr<ir::Model> read() const { return model_ ? ir::clone(*model_) : ir::load(path_); }
  Session open(const SessionOptions& how) const { return model_ ? Session(*model_, how) : Session(path_, how); }

 private:
  static std::filesystem::path name_of(const ir::Model& model) {
    return model.path.empty() ? std::filesystem::path("the model in memory") : model.path;
  }

  std::filesystem::path path_;
  const ir::Model* model_ = nullptr;
};

}  // namespace thaw::run
