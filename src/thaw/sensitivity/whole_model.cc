#include "thaw/sensitivity/whole_model.h"

#include <system_error>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/core/read_files.h"
#include "thaw/core/replace_files.h"
#include "thaw/rewrite/submodel.h"

namespace thaw::measuring {
namespace {

// With the model's name in the place of its temporary file's.
template <typename Work>
auto named_as(const std::string& given, const std::filesystem::path& temporary, const Work& work) {
  try {
    return work();
  } catch (const run::RunTimedOut&) {
    throw;
  } catch (const Error& error) {
    if (temporary.empty()) throw;
    ErrorParts parts = error.parts();
    for (std::string* const text : {&parts.what, &parts.where})
      for (size_t at = 0; (at = text->find(temporary.string(), at)) != std::string::npos; at += given.size())
        text->replace(at, temporary.string().size(), given);
    throw Error(error.code(), std::move(parts));
  }
}

// Of weights that lie in no file.
uint64_t bytes_in_memory(const ir::Model& model) {
  uint64_t bytes = 0;
  for (const ir::Value* value : model.graph->initializers())
    if (const ir::Tensor& tensor = *value->initializer(); tensor.storage() != ir::Tensor::Storage::kExternal)
      bytes += tensor.num_bytes();
  return bytes;
}

run::Session opened(const ir::Model& model, TemporaryModel& on_disk, const SessionOptions& options) {
  if (options.copied_weights || bytes_in_memory(model) <= WholeModel::kSmall) return run::Session(model, options);
  on_disk.write(model);
  return named_as(model.path.string(), on_disk.path(), [&] { return run::Session(on_disk.path(), options); });
}

}  // namespace

TemporaryModel::~TemporaryModel() {
  if (!folder_) return;
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(folder_->path(), ignored)) ReadFiles::forget(file.path());
}

void TemporaryModel::write(const ir::Model& model) {
  const std::filesystem::path where = std::filesystem::temp_directory_path();
  clear_leftovers(where);
  try {
    folder_.emplace(where);
  } catch (const Error& error) {
    ErrorParts parts = error.parts();
    parts.expected = "room for the converted model, whose weights --max-memory does not hold";
    parts.next = "TMPDIR names another folder";
    throw Error(error.code(), std::move(parts));
  }
  path_ = folder_->path() / "model.onnx";
  ir::save(model, path_, {.external = ir::ExternalPolicy::kSingle});
}

WholeModel::WholeModel(const ir::Model& model, const std::vector<std::string>& outputs, const SessionOptions& options)
    : where_(model.path.string()), session_(opened(*rewrite::submodel_of(model, {}, outputs), on_disk_, options)) {}

Arrays WholeModel::run(const CachedArrays& kept, size_t sample) {
  Arrays feeds;
  for (const Port& port : session_.inputs())
    if (kept.has(sample, port.name)) feeds.emplace(port.name, kept.get(sample, port.name));
  return named_as(where_, on_disk_.path(), [&] { return session_.run(feeds); });
}

Arrays WholeModel::run(const Arrays& feeds) {
  Arrays fed;
  for (const Port& port : session_.inputs())
    if (const auto at = feeds.find(port.name); at != feeds.end()) fed.insert(*at);
  return named_as(where_, on_disk_.path(), [&] { return session_.run(fed); });
}

}  // namespace thaw::measuring
