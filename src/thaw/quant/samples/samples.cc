#include "thaw/quant/samples/samples.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/run/feeds.h"
#include "thaw/run/npz.h"

namespace thaw::quantizing {

namespace {

class NpzSamples : public SampleSource {
 public:
  NpzSamples(std::vector<std::filesystem::path> files, const ir::Model& model) : files_(std::move(files)) {
    for (const ir::Value* input : model.graph->inputs()) types_.emplace(input->name(), input->type);
  }

  size_t size() const override { return files_.size(); }
  std::string name(size_t i) const override { return files_[i].filename().string(); }
  Arrays read(size_t i, const std::vector<std::string>& inputs) const override {
    run::NpzReader reader(files_[i]);
    Arrays arrays;
    for (const std::string& name : inputs) {
      if (!reader.contains(name))
        throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the sample has no array '{}'", name),
                                                  .where = files_[i].string(),
                                                  .expected = fmt::format("arrays {}", fmt::join(inputs, ", "))});
      arrays.emplace(name, reader.read(name, run::shape_check(name, types_.at(name), reader.path())));
    }
    return arrays;
  }

 private:
  std::vector<std::filesystem::path> files_;
  std::map<std::string, ir::Type, std::less<>> types_;  // of the inputs, as declared
};

class DrawnSamples : public SampleSource {
 public:
  explicit DrawnSamples(std::vector<Arrays> drawn) : drawn_(std::move(drawn)) {}

  size_t size() const override { return drawn_.size(); }
  std::string name(size_t i) const override { return fmt::format("draw {}", i); }
  Arrays read(size_t i, const std::vector<std::string>&) const override { return drawn_[i]; }

 private:
  std::vector<Arrays> drawn_;
};

}  // namespace

std::vector<std::string> inputs_to_feed(const ir::Model& model) {
  std::vector<std::string> names;
  for (const ir::Value* input : model.graph->inputs())
    if (!input->constant()) names.push_back(input->name());
  return names;
}

Samples::Samples(const std::filesystem::path& path, const ir::Model& model) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    for (const auto& entry : std::filesystem::directory_iterator(path, failed))
      if (entry.path().extension() == ".npz") files.push_back(entry.path());
    std::ranges::sort(files);
  } else if (std::filesystem::exists(path, failed)) {
    files.push_back(path);
  }
  if (files.empty())
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = "there are no samples",
         .where = path.string(),
         .expected = "an .npz file with the inputs by name, or a folder of them",
         .next = "`thaw inputs` or numpy.savez('sample0.npz', input=array) writes one; of images and recordings "
                 "they are made where --for or --resize says how"});
  source_ = std::make_shared<NpzSamples>(std::move(files), model);
}

Samples::Samples(std::vector<Arrays> drawn)
    : source_(std::make_shared<DrawnSamples>(std::move(drawn))), are_drawn_(true) {}

}  // namespace thaw::quantizing
