#include "thaw/verbs/output.h"

#include <system_error>

#include "thaw/core/error.h"
#include "thaw/rewrite/rename_sizes.h"

namespace thaw::verbs {

void require_output(const ir::Model& read, const Output& output) {
  rewrite::require_renames(output.rename);
  if (output.path.empty()) return;
  ir::require_output(read, output.path);
  std::error_code failed;
  if (output.in_place || !std::filesystem::equivalent(read.path, output.path, failed) || failed) return;
  throw Error(ErrorCode::kInvalidArgument, {.what = "is the file that is read, which would be replaced",
                                            .where = output.path.string(),
                                            .expected = "another file",
                                            .next = "name another file, or say --in-place"});
}

void require_renames(ir::Model& result, const Output& output) { rewrite::require_renames(result, output.rename); }
void require_renames(std::span<ir::Model* const> results, const Output& output) {
  rewrite::require_renames(results, output.rename);
}

Files publish(ir::Model& result, const Output& output) {
  rewrite::rename_sizes(result, output.rename);
  return output.path.empty() ? Files() : ir::save(result, output.path, output.save);
}

Files publish_together(std::span<ir::Model* const> results, std::span<const std::filesystem::path> paths,
                       const Output& output) {
  rewrite::rename_sizes(results, output.rename);
  if (output.path.empty()) return {};
  std::vector<ir::SavedModel> saved;
  for (size_t i = 0; i < results.size(); ++i) saved.push_back({results[i], paths[i]});
  return ir::save_together(saved, output.save);
}

void require_other_file(const std::filesystem::path& path, std::span<const std::filesystem::path> others) {
  for (const std::filesystem::path& other : others) {
    std::error_code none;  // a path that is not there yet is no other's
    if (path.empty() || other.empty()) continue;
    if (path.lexically_normal() != other.lexically_normal() && !std::filesystem::equivalent(path, other, none))
      continue;
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "the report would replace a file that the command reads or writes",
                 .where = path.string(),
                 .expected = "a file of its own",
                 .next = "choose another path with --report"});
  }
}

}  // namespace thaw::verbs
