#include "thaw/ir/wire/data_files.h"

#include <algorithm>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thaw/core/cancel.h"
#include "thaw/core/error.h"
#include "thaw/core/folder_lock.h"
#include "thaw/core/folder_of.h"
#include "thaw/core/read_files.h"
#include "thaw/ir/data/external_data.h"
#include "thaw/ir/data/tensor_decode.h"
#include "thaw/ir/data/tensor_source.h"
#include "thaw/ir/wire/data_folder.h"

namespace thaw::ir {
namespace {

constexpr uint64_t kAlignment = 4096;   // of each tensor in a data file: a page, so that runtimes can map it
constexpr size_t kExpectedTensors = 3;  // behind the one that is written: codes, scales and zeros are one weight
constexpr uint64_t kBulk = uint64_t{64} << 20;  // from here on the page cache costs more than it saves

bool same_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  struct stat first{}, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

template <typename Visit>
void for_each_model_tensor(const Model& model, Visit&& visit) {
  if (model.graph) for_each_tensor(*model.graph, [&](const Tensor& tensor) { visit(tensor, false); });
  for (const auto& function : model.functions) {
    for_each_tensor(*function->body, [&](const Tensor& tensor) { visit(tensor, true); });
  }
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code none;  // a path that is not there is no other's
  return a.lexically_normal() == b.lexically_normal() || std::filesystem::equivalent(a, b, none);
}

void write_made(const Tensor& tensor, AtomicFile& file) {
  const uint64_t begin = file.size();
  tensor.source()->write([&](std::span<const std::byte> chunk) { file.write(chunk); });
  if (file.size() - begin == tensor.num_bytes()) return;
  throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("its source made {} bytes", file.size() - begin),
                                        .where = describe(tensor),
                                        .expected = fmt::format("{} bytes", tensor.num_bytes())});
}

}  // namespace

DataFiles::DataFiles(const std::filesystem::path& model, std::string name, GetScratch scratch)
    : folder_(folder_of(model)),
      name_(name.empty() ? model.filename().string() + ".data" : std::move(name)),
      scratch_(std::move(scratch)) {
  if (name_.find('/') != std::string::npos) {
    throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("the data file '{}' is not in the model's folder", name_),
                                          .where = folder_.string(),
                                          .expected = "a file name without folders",
                                          .next = "name a file beside the model"});
  }
  check_location_text(name_, folder_.string());
}

std::string DataFiles::numbered(int number) const {
  if (number == 0) return name_;
  const std::filesystem::path name(name_);
  return fmt::format("{}.{}{}", name.stem().string(), number, name.extension().string());
}

bool DataFiles::is_ours(const std::string& location) const {
  if (location == name_) return true;
  const std::filesystem::path name(name_);
  const std::string start = name.stem().string() + ".", ending = name.extension().string();
  if (location.size() <= start.size() + ending.size() || !location.starts_with(start) || !location.ends_with(ending))
    return false;
  return std::all_of(location.begin() + static_cast<std::ptrdiff_t>(start.size()),
                     location.end() - static_cast<std::ptrdiff_t>(ending.size()),
                     [](char c) { return c >= '0' && c <= '9'; });
}

void DataFiles::keep(const Model& model, TensorPlan& plan) {
  std::map<const ExternalFolder*, bool> stays;
  for_each_model_tensor(model, [&](const Tensor& tensor, bool) {
    if (tensor.storage() != Tensor::Storage::kExternal) return;
    const std::shared_ptr<ExternalFolder>& source = TensorWriter::folder(tensor);
    const ExternalLocation& location = *tensor.external();
    auto found = stays.find(source.get());
    if (found == stays.end()) found = stays.emplace(source.get(), same_folder(source->path(), folder_)).first;
    if (found->second) {
      if (used_.insert(std::filesystem::path(location.location).lexically_normal().string()).second)
        source->require_unchanged(location, describe(tensor));
      return;
    }
    ExternalLocation moved = location;
    moved.location = place_copy(source->file(location, describe(tensor)));
    plan.external.emplace(&tensor, std::move(moved));
  });
}

std::string DataFiles::place_copy(const std::shared_ptr<const MappedFile>& source) {
  std::string& placed = placed_by_file_[{source->device(), source->inode()}];
  if (!placed.empty()) return placed;
  bool there = false;
  placed = free_name(source.get(), there);
  if (!there) copies_.push_back({source, placed});
  return placed;
}

// The first name that no file has, so that what is there keeps its data until the model is replaced; or one whose file
// has the same bytes as `same` (`there`).
std::string DataFiles::free_name(const MappedFile* same, bool& there) {
  const ReadFiles::Pause looking;
  const FolderLock alone(folder_);
  there = false;
  for (int number = 0;; ++number) {
    std::string name = numbered(number);
    if (used_.contains(name)) continue;
    const std::filesystem::path path = folder_ / name;
    const std::filesystem::file_status status = std::filesystem::symlink_status(path);
    const bool regular = std::filesystem::is_regular_file(status);
    if (number == 0 && std::filesystem::exists(status) && !regular) {
      throw Error(ErrorCode::kCannotWrite,
                  {.what = std::filesystem::is_symlink(status) ? "the model's data file is a symbolic link"
                                                               : "the model's data file is not a regular file",
                   .where = path.string(),
                   .expected = "no file there, or a regular one",
                   .next = "take it away, or save under another name"});
    }
    there = regular && same != nullptr && same_bytes(MappedFile::open(path)->bytes(), same->bytes());
    if (!there && (std::filesystem::exists(status) || !scratch_().reserve(name))) continue;
    if (there) scratch_().hold(name);
    used_.insert(name);
    return name;
  }
}

void DataFiles::gather(const Model& model, uint64_t threshold, TensorPlan& plan, const Wanted& wanted) {
  plan.inline_external = true;
  for_each_model_tensor(model, [&](const Tensor& tensor, bool in_function) {
    if (in_function || bits_of(tensor.data_type) == 0 || plan.external.contains(&tensor)) return;
    const uint64_t size = tensor.num_bytes();
    if (size < threshold || size == 0 || (wanted && !wanted(tensor))) return;
    if (tensor.storage() == Tensor::Storage::kRaw && !TensorWriter::is_raw(tensor)) return;  // has no data
    if (gathered_.empty()) {
      bool there = false;
      gathered_ = free_name(nullptr, there);
    }
    const auto [at, fresh] = offsets_.try_emplace(TensorWriter::identity(tensor), gathered_bytes_);
    if (fresh) {
      at->second = (gathered_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
      gathered_bytes_ = at->second + size;
      placed_.push_back({&tensor, at->second});
    }
    plan.external.emplace(&tensor,
                          ExternalLocation{.location = gathered_, .offset = at->second, .length = size, .other = {}});
  });
}

void DataFiles::write() {
  for (const Copy& copy : copies_) {
    auto file = std::make_unique<AtomicFile>(folder_ / copy.location, Existing::kRefuse);
    file->append(copy.source->fd(), 0, copy.source->bytes().size(), copy.source->name());
    file->flush();
    files_.push_back(std::move(file));
  }
  if (gathered_.empty()) return;
  auto file = std::make_unique<AtomicFile>(folder_ / gathered_, Existing::kRefuse);
  size_t expected = 0;
  for (size_t i = 0; i < placed_.size(); ++i) {
    const Placed& placed = placed_[i];
    for (; expected < std::min(placed_.size(), i + kExpectedTensors + 1); ++expected)
      if (const TensorSource* source = placed_[expected].tensor->source(); source && expected > i) source->expect();
    throw_if_cancelled();
    file->pad_to(kAlignment);
    if (gathered_bytes_ >= kBulk) file->expect_bulk();
    const Tensor& tensor = *placed.tensor;
    // Few bytes go with those around them: a range of another file ends the bulk.
    if (tensor.storage() == Tensor::Storage::kExternal && tensor.num_bytes() >= kChunk) {
      const auto source = TensorWriter::folder(tensor)->file(*tensor.external(), describe(tensor));
      static_cast<void>(tensor.bytes());  // checks the range; touches nothing
      file->append(source->fd(), tensor.external()->offset, tensor.num_bytes(), source->name());
      continue;
    }
    if (tensor.source()) {
      write_made(tensor, *file);
      continue;
    }
    const std::span<const std::byte> bytes = tensor.bytes();
    for (size_t at = 0; at < bytes.size(); at += kChunk) {
      const auto chunk = bytes.subspan(at, std::min(kChunk, bytes.size() - at));
      file->write(chunk);
      release_pages(chunk);
    }
  }
  file->flush();
  files_.push_back(std::move(file));
}

bool DataFiles::has_old() const { return used_.size() > files_.size(); }

bool DataFiles::replaces(const std::filesystem::path& data) const {
  const std::string location = data.lexically_normal().lexically_relative(folder_.lexically_normal()).string();
  return is_ours(location) && !used_.contains(location);
}

std::vector<std::filesystem::path> DataFiles::written() const {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : files_) paths.push_back(file->path().lexically_normal());
  return paths;
}

std::vector<std::filesystem::path> data_files_of(const Model& model) {
  std::vector<std::filesystem::path> paths;
  std::set<std::pair<const ExternalFolder*, std::string_view>> seen;
  for_each_model_tensor(model, [&](const Tensor& tensor, bool) {
    if (tensor.storage() != Tensor::Storage::kExternal) return;
    const ExternalFolder* folder = TensorWriter::folder(tensor).get();
    const std::string& location = tensor.external()->location;
    if (folder->path().empty() || !seen.emplace(folder, location).second) return;
    paths.push_back((folder->path() / location).lexically_normal());
  });
  return paths;
}

uint64_t mapped_bytes_of(const Model& model) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t bytes = 0;
  for_each_model_tensor(model, [&](const Tensor& tensor, bool) {
    if (tensor.storage() != Tensor::Storage::kExternal) return;
    const uint64_t own = tensor.num_bytes() + 2 * page;
    bytes += std::min(own, UINT64_MAX - bytes);
  });
  return bytes;
}

std::filesystem::path data_folder_of(const Model& model) {
  if (!model.path.empty()) return std::filesystem::absolute(model.path).parent_path();
  std::filesystem::path found;
  for_each_model_tensor(model, [&](const Tensor& tensor, bool) {
    if (found.empty() && tensor.storage() == Tensor::Storage::kExternal) found = TensorWriter::folder(tensor)->path();
  });
  return found.empty() ? found : std::filesystem::absolute(found);
}

void require_output(const Model& model, const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  std::error_code none;
  if (name.empty() || name == "." || name == ".." || std::filesystem::is_directory(path, none)) {
    throw Error(ErrorCode::kInvalidArgument, {.what = "names a folder",
                                              .where = path.string(),
                                              .expected = "the file to write",
                                              .next = "name a file in it"});
  }
  for (const std::filesystem::path& data : data_files_of(model)) {
    if (!same_file(data, path)) continue;
    throw Error(ErrorCode::kInvalidArgument, {.what = "holds the weights of the model that is read",
                                              .where = path.string(),
                                              .expected = "a path that is none of the model's data files",
                                              .next = "choose another file to write"});
  }
}

}  // namespace thaw::ir
