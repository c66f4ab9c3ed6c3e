#include "thaw/media/file_samples.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"

namespace thaw::media {

namespace fs = std::filesystem;

FileSamples::FileSamples(const fs::path& path, const InputsOptions& options, const ir::Model& model)
    : maker_(options, model) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    for (const auto& entry : fs::directory_iterator(path, failed))
      if (maker_.takes(entry.path()) && entry.is_regular_file(failed)) files_.push_back(entry.path());
    std::ranges::sort(files_);
  } else if (fs::exists(path, failed)) {
    files_.push_back(path);
  }
  if (files_.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "there are no samples",
                 .where = path.string(),
                 .expected = "a folder of images (.jpg, .png) or recordings (.wav, .flac), as "
                             "the family takes them",
                 .next = "leave --for and --resize out for .npz files"});
}

Arrays FileSamples::read(size_t i, const std::vector<std::string>& inputs) const {
  Arrays made = maker_.make(std::span(&files_[i], 1)).arrays;
  if (const auto grid = made.find("grid_thw"); grid != made.end() && !std::ranges::count(inputs, "grid_thw"))
    made.emplace("image_grid_thw", grid->second);
  Arrays arrays;
  for (const std::string& name : inputs) {
    const auto array = made.find(name);
    if (array == made.end()) {
      std::vector<std::string> names;
      for (const auto& [known, unused] : made) names.push_back(known);
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("the model takes '{}', which is not made of the file", name),
                   .where = files_[i].string(),
                   .expected = fmt::format("a model that takes {}", fmt::join(names, ", ")),
                   .next = "give .npz files that have all of its inputs"});
    }
    arrays.emplace(name, std::move(array->second));
  }
  return arrays;
}

}  // namespace thaw::media
