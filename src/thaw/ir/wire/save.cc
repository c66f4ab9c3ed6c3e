// Saving: where each tensor's data goes, then one measuring and one writing walk.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "thaw/core/atomic_file.h"
#include "thaw/core/cancel.h"
#include "thaw/core/error.h"
#include "thaw/core/folder_of.h"
#include "thaw/core/phase.h"
#include "thaw/core/read_files.h"
#include "thaw/core/replace_files.h"
#include "thaw/core/scratch_folder.h"
#include "thaw/ir/graph/graph_storage.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ir/wire/apart.h"
#include "thaw/ir/wire/data_files.h"
#include "thaw/ir/wire/leftovers.h"
#include "thaw/ir/wire/names_data.h"
#include "thaw/ir/wire/writer.h"

namespace thaw::ir {
namespace {

constexpr uint64_t kMaxModelBytes = INT32_MAX;  // what protobuf readers take

class PassingSink : public wire::Sink {
 public:
  explicit PassingSink(const PassBytes& to) : to_(to) {}

 private:
  void pass_on(std::string_view bytes) override { to_(bytes); }
  const PassBytes& to_;
};

class FileSink : public wire::Sink {
 public:
  explicit FileSink(AtomicFile& file) : file_(file) {}

 private:
  void pass_on(std::string_view bytes) override { file_.write(std::as_bytes(std::span(bytes))); }
  AtomicFile& file_;
};

void require_writable(const Model& model) {
  if (model.graph) check_writable(*model.graph);
  for (const auto& function : model.functions) check_writable(*function->body);
}

wire::Encoder measure(const Model& model, const TensorPlan& plan) {
  wire::Encoder encoder;
  GraphWriter(encoder, plan).write_model(model);
  return encoder;
}

void write(const Model& model, const TensorPlan& plan, wire::Encoder& encoder, wire::Sink& sink) {
  encoder.write_to(sink);
  GraphWriter(encoder, plan).write_model(model);
  sink.flush();
}

void pass(const Model& model, const TensorPlan& plan, const BeginBytes& begin, const PassBytes& pass_on) {
  require_writable(model);
  wire::Encoder encoder = measure(model, plan);
  begin(encoder.size());
  PassingSink sink(pass_on);
  write(model, plan, encoder, sink);
}

}  // namespace

std::string serialize(const Model& model, const TensorPlan& plan) {
  std::string text;
  pass(model, plan, [&](uint64_t size) { text.reserve(size); }, [&](std::string_view bytes) { text.append(bytes); });
  return text;
}

std::string serialize(const Model& model) { return serialize(model, TensorPlan()); }

std::string location_apart(size_t position) { return fmt::format("apart/{}", position); }

std::string serialize_without(const Model& model, std::span<const Tensor* const> apart) {
  TensorPlan plan;
  for (size_t i = 0; i < apart.size(); ++i)
    plan.external.try_emplace(apart[i],
                              ExternalLocation{.location = location_apart(i), .length = apart[i]->num_bytes()});
  return serialize(model, plan);
}

void serialize(const Model& model, const TensorPlan& plan, const BeginBytes& begin, const PassBytes& pass_on) {
  pass(model, plan, begin, pass_on);
}

void serialize(const Model& model, const BeginBytes& begin, const PassBytes& pass_on) {
  serialize(model, TensorPlan(), begin, pass_on);
}

namespace {

void write(const Model& model, const TensorPlan& plan, AtomicFile& file) {
  wire::Encoder encoder = measure(model, plan);
  if (encoder.size() > kMaxModelBytes) {
    throw Error(ErrorCode::kCannotWrite,
                {.what = fmt::format("the model would take {} bytes in one file", encoder.size()),
                 .where = file.path().string(),
                 .expected = "at most 2 GiB, which is what readers of ONNX files take",
                 .next = "save its weights to a data file beside it (external data)"});
  }
  FileSink sink(file);
  write(model, plan, encoder, sink);
  file.flush();
}

// The data of the model that is there already; none where it cannot be read.
std::vector<std::filesystem::path> data_before(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path)) || !may_name_data_files(path)) return {};
  const ReadFiles::Pause looking;
  try {
    return data_files_of(*load(path));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

struct Staged::Files {
  std::vector<std::unique_ptr<AtomicFile>> models;
  std::vector<std::unique_ptr<DataFiles>> data;
  std::vector<std::unique_ptr<AtomicFile>> others;
  std::vector<std::unique_ptr<ScratchFolder>> scratches;  // beside them
  std::vector<std::filesystem::path> paths;  // of the models until they are published; empty: they have none
  bool are_named = false;

  ScratchFolder& scratch_in(const std::filesystem::path& folder) {
    if (scratches.empty()) scratches.push_back(std::make_unique<ScratchFolder>(folder));
    return *scratches.front();
  }

  DataFiles& add_data(const std::filesystem::path& model, std::string name) {
    const std::filesystem::path folder = folder_of(model);
    return *data.emplace_back(std::make_unique<DataFiles>(
        model, std::move(name), [this, folder]() -> const ScratchFolder& { return scratch_in(folder); }));
  }

  // Data that lies in the folder already stays there, and its models come to it; a second name of it would be for others to see.
  void name_all() {
    are_named = true;
    if (std::ranges::any_of(data, [](const auto& files) { return files->has_old(); })) {
      if (std::ranges::any_of(data, [](const auto& files) { return files->has_new(); })) return;
      for (const auto& file : models) paths.push_back(file->sibling_name());
      return;
    }
    const std::filesystem::path folder = scratch_in(folder_of(models.front()->path())).folder("new");
    const auto name = [&](const auto& file) { return file->name_in(folder); };
    if (!std::ranges::all_of(models, name)) return;
    for (const auto& files : data)
      if (!std::ranges::all_of(files->files(), name)) return;
    for (const auto& file : models) paths.push_back(folder / file->path().filename());
  }

  std::vector<std::filesystem::path> obsolete() const {
    std::vector<std::filesystem::path> gone;
    for (const auto& model : models)
      for (std::filesystem::path& path : data_before(model->path()))
        if (std::ranges::any_of(data, [&](const auto& files) { return files->replaces(path); }) &&
            std::ranges::find(gone, path) == gone.end())
          gone.push_back(std::move(path));
    return gone;
  }
};

Staged::Staged(std::unique_ptr<Files> files) : files_(std::move(files)) {}
Staged::Staged(Staged&&) noexcept = default;
Staged& Staged::operator=(Staged&&) noexcept = default;
Staged::~Staged() = default;

std::filesystem::path Staged::look(size_t model) {
  if (!files_->are_named) files_->name_all();
  return files_->paths.empty() ? std::filesystem::path() : files_->paths[model];
}

void Staged::join(Staged other) {
  const auto take = [](auto& to, auto& from) { std::ranges::move(from, std::back_inserter(to)); };
  take(files_->models, other.files_->models);
  take(files_->data, other.files_->data);
  take(files_->others, other.files_->others);
  take(files_->scratches, other.files_->scratches);
  files_->are_named = true;  // each has been looked at, or will not be
  files_->paths.clear();
}

void Staged::add(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  files_->others.push_back(std::make_unique<AtomicFile>(path));
  files_->others.back()->write(bytes);
  files_->others.back()->flush();
}

std::vector<std::filesystem::path> Staged::publish() {
  throw_if_cancelled();
  Replacement all{.obsolete = [&] { return files_->obsolete(); }, .in_use = is_in_use};
  const auto add = [](std::vector<AtomicFile*>& to, const auto& files) {
    for (const auto& file : files) to.push_back(file.get());
  };
  for (const auto& data : files_->data) add(all.data, data->files());
  add(all.entries, files_->models);
  add(all.entries, files_->others);
  for (const auto& scratch : files_->scratches) all.scratch.push_back(scratch->path());
  replace_files(all);
  std::vector<std::filesystem::path> written;
  for (const auto& file : files_->models) written.push_back(file->path());
  for (const auto& data : files_->data)
    for (const std::filesystem::path& path : data->written()) written.push_back(path);
  return written;
}

Staged stage(const Model& model, const std::filesystem::path& path, const SaveOptions& options) {
  const Phase phase("writing");
  require_output(model, path);
  require_writable(model);
  clear_leftovers(folder_of(path));  // first, as what is there may be kept
  TensorPlan plan;
  auto files = std::make_unique<Staged::Files>();
  DataFiles& data =
      files->add_data(path, options.external == ExternalPolicy::kSingle ? options.location : std::string());
  switch (options.external) {
    case ExternalPolicy::kKeep:
      data.keep(model, plan);
      break;
    case ExternalPolicy::kSingle:
      data.gather(model, options.threshold, plan);
      break;
    case ExternalPolicy::kInline:
      plan.inline_external = true;
      break;
  }
  files->models.push_back(std::make_unique<AtomicFile>(path));
  write(model, plan, *files->models.back());
  data.write();
  return Staged(std::move(files));
}

std::vector<std::filesystem::path> save(const Model& model, const std::filesystem::path& path,
                                        const SaveOptions& options) {
  return stage(model, path, options).publish();
}

namespace {

constexpr uint64_t kMostInline = uint64_t{1} << 30;  // bytes of one model's own data

// The data that several models have.
class CommonData {
 public:
  explicit CommonData(std::span<const SavedModel> models) {
    for (const SavedModel& saved : models) {
      std::set<TensorWriter::Identity> own;
      for_each_tensor(*saved.model->graph, [&](const Tensor& tensor) {
        if (bits_of(tensor.data_type) != 0 && own.insert(TensorWriter::identity(tensor)).second)
          ++readers_[TensorWriter::identity(tensor)];
      });
    }
  }
  bool has(const Tensor& tensor) const {
    const auto found = readers_.find(TensorWriter::identity(tensor));
    return found != readers_.end() && found->second > 1;
  }

 private:
  std::map<TensorWriter::Identity, int> readers_;
};

bool wants_data_file(const Model& model, const SaveOptions& options, const TensorPlan& plan) {
  if (options.external != ExternalPolicy::kKeep) return options.external == ExternalPolicy::kSingle;
  uint64_t own = 0;
  for_each_tensor(*model.graph, [&](const Tensor& tensor) {
    if (!plan.external.contains(&tensor)) own += tensor.num_bytes();
  });
  return own > kMostInline;
}

}  // namespace

Staged stage_together(std::span<const SavedModel> models, const SaveOptions& options) {
  const Phase phase("writing");
  clear_leftovers(folder_of(models.front().path));
  const CommonData common(models);
  auto files = std::make_unique<Staged::Files>();
  DataFiles& shared = files->add_data(models.front().path, options.location);
  for (const SavedModel& saved : models) {
    require_output(*saved.model, saved.path);
    require_writable(*saved.model);
    TensorPlan plan;
    shared.gather(*saved.model, options.threshold, plan, [&](const Tensor& tensor) { return common.has(tensor); });
    if (wants_data_file(*saved.model, options, plan)) {
      files->add_data(saved.path, {}).gather(*saved.model, options.threshold, plan);
    }
    files->models.push_back(std::make_unique<AtomicFile>(saved.path));
    write(*saved.model, plan, *files->models.back());
  }
  for (const auto& data : files->data) data->write();
  return Staged(std::move(files));
}

}  // namespace thaw::ir
