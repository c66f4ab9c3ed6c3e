#include "thaw/ir/wire/leftovers.h"

#include <system_error>

#include "thaw/core/error.h"
#include "thaw/core/folder_of.h"
#include "thaw/core/read_files.h"
#include "thaw/core/replace_files.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ir/wire/names_data.h"

namespace thaw::ir {

bool is_in_use(const std::filesystem::path& data) {
  const ReadFiles::Pause looking;
  const std::filesystem::path folder = folder_of(data);
  std::error_code error, none;  // a path that is not there is no other's
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".onnx" || !may_name_data_files(entry.path())) continue;
    try {
      for (const std::filesystem::path& used : data_files_of(*load(entry.path())))
        if (used.lexically_normal() == data.lexically_normal() || std::filesystem::equivalent(used, data, none))
          return true;
    } catch (const Error&) {
      return true;
    }
  }
  return static_cast<bool>(error);
}

void clear_leftovers(const std::filesystem::path& folder) { thaw::clear_leftovers(folder, is_in_use); }

}  // namespace thaw::ir
