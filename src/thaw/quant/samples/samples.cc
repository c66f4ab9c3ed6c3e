#include "thaw/quant/samples/samples.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/run/npz.h"

namespace thaw::quantizing {

std::vector<std::string> inputs_to_feed(const ir::Model& model) {
  std::vector<std::string> names;
  for (const ir::Value* input : model.graph->inputs())
    if (!input->constant()) names.push_back(input->name());
  return names;
}

Samples::Samples(const std::filesystem::path& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    for (const auto& entry : std::filesystem::directory_iterator(path, failed))
      if (entry.path().extension() == ".npz") files_.push_back(entry.path());
    std::ranges::sort(files_);
  } else if (std::filesystem::exists(path, failed)) {
    files_.push_back(path);
  }
  if (files_.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "there are no samples",
                                              .where = path.string(),
                                              .expected = "an .npz file with the inputs by name, or a folder of them",
                                              .next = "numpy.savez('sample0.npz', input=array) writes one"});
}

Arrays Samples::read(size_t i, const std::vector<std::string>& inputs) const {
  if (are_drawn()) return drawn_[i];
  run::NpzReader reader(files_[i]);
  Arrays arrays;
  for (const std::string& name : inputs) {
    if (!reader.contains(name))
      throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the sample has no array '{}'", name),
                                                .where = files_[i].string(),
                                                .expected = fmt::format("arrays {}", fmt::join(inputs, ", "))});
    arrays.emplace(name, reader.read(name));
  }
  return arrays;
}

}  // namespace thaw::quantizing
