#include "thaw/verbs/output.h"

#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "thaw/confirm/as_written.h"
#include "thaw/core/error.h"
#include "thaw/core/folder_of.h"
#include "thaw/core/read_files.h"
#include "thaw/ir/wire/leftovers.h"
#include "thaw/rewrite/rename_sizes.h"

namespace thaw::verbs {

void require_output(const ir::Model& read, const Output& output) {
  rewrite::require_renames(output.rename);
  if (output.path.empty()) return;
  ir::require_output(read, output.path);
  ir::clear_leftovers(folder_of(output.path));  // here, as it may be that nothing is written
  std::error_code failed;
  if (output.in_place) ReadFiles::release(output.path);
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

namespace {

// `file`: where the result lies, empty for one in memory.
LoadCheck try_result(const ir::Model& result, const Trial& trial, const std::filesystem::path& file,
                     const std::filesystem::path& path) {
  return confirm::try_as_written({.written = &result,
                                  .original = trial.original,
                                  .fed = trial.is_checked ? trial.fed : nullptr,
                                  .file = file,
                                  .named_as = path});
}

// The one that says most of all: a refusal, then what was not loaded, then the least that was done.
LoadCheck worst_of(std::vector<LoadCheck> tried) {
  using Status = LoadCheck::Status;
  for (const Status status : {Status::kFailed, Status::kSkipped, Status::kLoaded, Status::kRan})
    for (LoadCheck& one : tried)
      if (one.status == status) return std::move(one);
  return {};
}

Published publish_tried(std::span<ir::Model* const> results, std::span<const std::filesystem::path> paths,
                        const Trial& trial, ir::Staged* staged) {
  std::vector<LoadCheck> tried;
  for (size_t i = 0; i < results.size(); ++i) {
    tried.push_back(staged             ? try_staged(*results[i], *staged, i, paths[i], trial)
                    : trial.is_checked ? try_result(*results[i], trial, {}, paths[i])
                                       : LoadCheck());
    if (!tried.back().message.empty() && results.size() > 1)
      tried.back().message = fmt::format("{}: {}", paths[i].filename().string(), tried.back().message);
    if (tried.back().has_failed()) break;
  }
  Published published{.files = {}, .load_check = worst_of(std::move(tried))};
  if (staged && !published.load_check.has_failed()) published.files = staged->publish();
  return published;
}

}  // namespace

LoadCheck try_staged(const ir::Model& model, ir::Staged& staged, size_t number, const std::filesystem::path& path,
                     const Trial& trial) {
  if (trial.is_checked || confirm::loads_quickly(model)) return try_result(model, trial, staged.look(number), path);
  return {LoadCheck::Status::kSkipped,
          "that takes more than a second, and is left out with the check: without --no-check it is loaded, and run"};
}

Published publish(ir::Model& result, const Output& output, const Trial& trial) {
  rewrite::rename_sizes(result, output.rename);
  ir::Model* const results[] = {&result};
  if (output.path.empty()) return publish_tried(results, {{output.path}}, trial, nullptr);
  ir::Staged staged = ir::stage(result, output.path, output.save);
  return publish_tried(results, {{output.path}}, trial, &staged);
}

Published publish_together(std::span<ir::Model* const> results, std::span<const std::filesystem::path> paths,
                           const Output& output, const Trial& trial) {
  rewrite::rename_sizes(results, output.rename);
  if (output.path.empty()) return publish_tried(results, paths, trial, nullptr);
  std::vector<ir::SavedModel> saved;
  for (size_t i = 0; i < results.size(); ++i) saved.push_back({results[i], paths[i]});
  ir::Staged staged = ir::stage_together(saved, output.save);
  return publish_tried(results, paths, trial, &staged);
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
