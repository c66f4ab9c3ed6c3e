// What a model is fed in use, a sample at a time: for measuring what its values hold, and what a conversion costs.
#pragma once

#include <any>
#include <filesystem>
#include <functional>
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

// Where samples come from. Nothing is read, decoded or held before it is asked for.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual size_t size() const = 0;
  virtual std::string name(size_t i) const = 0;  // for reports: of a file
  // Those arrays that are named among `inputs`. Throws thaw::Error naming the sample where it lacks one.
  virtual Arrays read(size_t i, const std::vector<std::string>& inputs) const = 0;
};

// A source, or an .npz file with the model's inputs by name, or a folder of them, in the order of their names. One is held at
// a time; they may differ in size.
class Samples {
 public:
  explicit Samples(std::shared_ptr<const SampleSource> source) : source_(std::move(source)) {}

  // Throws thaw::Error where there is no such file, or no .npz in the folder.
  // What an array cannot be of its input is refused before it is read.
  Samples(const std::filesystem::path& path, const ir::Model& model);

  // What was drawn, and is in memory: what it shows adds to what is known by rule, and decides nothing else.
  explicit Samples(std::vector<Arrays> drawn);

  size_t size() const { return source_->size(); }
  bool are_drawn() const { return are_drawn_; }
  std::string name(size_t i) const { return source_->name(i); }
  Arrays read(size_t i, const std::vector<std::string>& inputs) const { return source_->read(i, inputs); }

  // From now on what is measured is kept for the next time: for one model that is not changed in between, but for the nodes
  // that are converted.
  void remember() { remembered_ = std::make_shared<Remembered>(); }
  Remembered* remembered() const { return remembered_.get(); }  // null where nothing is kept

 private:
  std::shared_ptr<const SampleSource> source_;
  bool are_drawn_ = false;
  std::shared_ptr<Remembered> remembered_;
};

// How a path becomes samples; empty: as Samples reads it.
using OpenSamples = std::function<Samples(const std::filesystem::path&)>;

}  // namespace thaw::quantizing
