#include "thaw/verbs/model_files.h"

#include <algorithm>
#include <filesystem>

#include "thaw/core/error.h"
#include "thaw/ir/wire/foreign_file.h"

namespace thaw::verbs {

std::vector<std::string> model_files(const std::vector<std::string>& named) {
  std::vector<std::string> files;
  for (const std::string& path : named) {
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.path().extension() == ".onnx" && entry.is_regular_file(failed)) found.push_back(entry.path().string());
    if (found.empty()) throw Error(ErrorCode::kCannotRead, ir::folder_instead_of_model(path));
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace thaw::verbs
