// What a model is fed in use, a sample at a time: for measuring what its values hold, and what a conversion costs.
#pragma once

#include <any>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run/array.h"

namespace thaw::quantizing {

// The names of the inputs that have no default.
std::vector<std::string> inputs_to_feed(const ir::Model& model);

// What was measured of one model's tensors, by what was asked and the tensor's name: a model that is converted again and
// again, a few nodes at a time, runs once for it.
using Remembered = std::map<std::string, std::any>;

// An .npz file with the model's inputs by name, or a folder of them, in the order of their names. One is held at a time; they
// may differ in size.
class Samples {
 public:
  // Throws thaw::Error where there is no such file, or no .npz in the folder.
  explicit Samples(const std::filesystem::path& path);

  // What was drawn, and is in memory: what it shows adds to what is known by rule, and decides nothing else.
  explicit Samples(std::vector<Arrays> drawn) : drawn_(std::move(drawn)) {}

  size_t size() const { return files_.size() + drawn_.size(); }
  bool are_drawn() const { return !drawn_.empty(); }
  std::string name(size_t i) const { return files_[i].filename().string(); }  // of a file
  // Those arrays that are named among `inputs`. Throws thaw::Error naming the file where it lacks one.
  Arrays read(size_t i, const std::vector<std::string>& inputs) const;

  // From now on what is measured is kept for the next time: for one model that is not changed in between, but for the nodes
  // that are converted.
  void remember() { remembered_ = std::make_shared<Remembered>(); }
  Remembered* remembered() const { return remembered_.get(); }  // null where nothing is kept

 private:
  std::vector<std::filesystem::path> files_;
  std::vector<Arrays> drawn_;
  std::shared_ptr<Remembered> remembered_;
};

}  // namespace thaw::quantizing
