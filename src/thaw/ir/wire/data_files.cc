#include "thaw/ir/wire/data_files.h"

#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>
#include <sys/stat.h>

#include "thaw/core/error.h"
#include "thaw/ir/data/external_data.h"
#include "thaw/ir/data/tensor_decode.h"
#include "thaw/ir/data/tensor_source.h"

namespace thaw::ir {
namespace {

constexpr uint64_t kAlignment = 4096;  // of each tensor in a data file: a page, so that runtimes can map it
constexpr size_t kChunk = size_t{4} << 20;
constexpr uint64_t kBulk = uint64_t{64} << 20;  // from here on the page cache costs more than it gives

bool same_folder(const std::filesystem::path& a, const std::filesystem::path& b) {
  struct stat first{}, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool same_content(const MappedFile& a, const MappedFile& b) {
  const auto left = a.bytes(), right = b.bytes();
  if (left.size() != right.size()) return false;
  for (size_t at = 0; at < left.size(); at += kChunk) {
    const size_t size = std::min(kChunk, left.size() - at);
    if (std::memcmp(left.data() + at, right.data() + at, size) != 0) return false;
    release_pages(left.subspan(at, size));
    release_pages(right.subspan(at, size));
  }
  return true;
}

template <typename Visit>
void for_each_model_tensor(const Model& model, Visit&& visit) {
  if (model.graph) for_each_tensor(*model.graph, [&](const Tensor& tensor) { visit(tensor, false); });
  for (const auto& function : model.functions) {
    for_each_tensor(*function->body, [&](const Tensor& tensor) { visit(tensor, true); });
  }
}

void write_made(const Tensor& tensor, AtomicFile& file) {
  const uint64_t begin = file.size();
  tensor.source()->write([&](std::span<const std::byte> piece) { file.write(piece); });
  if (file.size() - begin == tensor.num_bytes()) return;
  throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("its source made {} bytes", file.size() - begin),
                                        .where = describe(tensor),
                                        .expected = fmt::format("{} bytes", tensor.num_bytes())});
}

}  // namespace

void DataFiles::keep(const Model& model, TensorPlan& plan) {
  std::map<const ExternalFolder*, bool> stays;
  std::set<std::pair<const ExternalFolder*, std::string>> checked;
  for_each_model_tensor(model, [&](const Tensor& tensor, bool) {
    if (tensor.storage() != Tensor::Storage::kExternal) return;
    const std::shared_ptr<ExternalFolder>& source = TensorWriter::folder(tensor);
    const ExternalLocation& location = *tensor.external();
    auto found = stays.find(source.get());
    if (found == stays.end()) found = stays.emplace(source.get(), same_folder(source->path(), folder_)).first;
    if (found->second) {
      if (checked.emplace(source.get(), location.location).second)
        source->require_unchanged(location, describe(tensor));
      return;
    }
    const std::string placed = place_copy(source->file(location, describe(tensor)), location.location);
    if (placed != location.location) {
      ExternalLocation moved = location;
      moved.location = placed;
      plan.external.emplace(&tensor, std::move(moved));
    }
  });
}

std::string DataFiles::place_copy(const std::shared_ptr<const MappedFile>& source, const std::string& location) {
  const std::filesystem::path wanted(location);
  std::string candidate = location;
  for (int i = 2;; ++i) {
    const auto [found, is_new] = by_location_.emplace(candidate, source);
    if (is_new) {
      copies_.push_back({source, candidate});
      return candidate;
    }
    if (found->second->device() == source->device() && found->second->inode() == source->inode()) return candidate;
    // Files of two folders under one name: the second gets another.
    candidate = (wanted.parent_path() / fmt::format("{}_{}{}", wanted.stem().string(), i, wanted.extension().string()))
                    .string();
  }
}

void DataFiles::gather(const Model& model, const std::string& location, uint64_t threshold, TensorPlan& plan) {
  if (location.find('/') != std::string::npos) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("the data file '{}' is not in the model's folder", location),
                 .where = folder_.string(),
                 .expected = "a file name without folders",
                 .next = "name a file beside the model"});
  }
  check_location_text(location, folder_.string());
  plan.inline_external = true;
  uint64_t end = 0;
  for_each_model_tensor(model, [&](const Tensor& tensor, bool in_function) {
    if (in_function || bits_of(tensor.data_type) == 0 || plan.external.contains(&tensor)) return;
    const uint64_t size = tensor.num_bytes();
    if (size < threshold || size == 0) return;
    if (tensor.storage() == Tensor::Storage::kRaw && !TensorWriter::is_raw(tensor)) return;  // has no data
    const uint64_t offset = (end + kAlignment - 1) / kAlignment * kAlignment;
    end = offset + size;
    ExternalLocation placed{.location = location, .offset = offset, .length = size, .other = {}};
    plan.external.emplace(&tensor, std::move(placed));
    placed_.push_back({&tensor, offset});
  });
  if (!placed_.empty()) gathered_ = location;
  gathered_bytes_ = end;
}

void DataFiles::require_free(const std::filesystem::path& path, const MappedFile& source, bool& there) const {
  there = std::filesystem::exists(std::filesystem::symlink_status(path));
  if (!there) return;
  if (!std::filesystem::is_symlink(path)) {
    const auto present = MappedFile::open(path);
    if (present->device() == source.device() && present->inode() == source.inode()) return;
    if (same_content(*present, source)) return;
  }
  throw Error(ErrorCode::kInvalidFile, {.what = "the model's data file would replace another file of that name",
                                        .where = path.string(),
                                        .expected = "no file there, or the same data",
                                        .next = "save into another folder, or to a data file with another name"});
}

void DataFiles::write() {
  for (const Copy& copy : copies_) {
    const std::filesystem::path path = folder_ / copy.location;
    bool there = false;
    require_free(path, *copy.source, there);
    if (there) continue;
    std::filesystem::create_directories(path.parent_path());
    auto file = std::make_unique<AtomicFile>(path);
    file->append(copy.source->fd(), 0, copy.source->bytes().size(), copy.source->name());
    file->flush();
    files_.push_back(std::move(file));
  }
  if (gathered_.empty()) return;
  auto file = std::make_unique<AtomicFile>(folder_ / gathered_);
  if (gathered_bytes_ >= kBulk) file->expect_bulk();
  for (const Placed& placed : placed_) {
    file->pad_to(kAlignment);
    const Tensor& tensor = *placed.tensor;
    if (tensor.storage() == Tensor::Storage::kExternal) {
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

void DataFiles::publish() {
  for (const auto& file : files_) file->publish();
}

}  // namespace thaw::ir
