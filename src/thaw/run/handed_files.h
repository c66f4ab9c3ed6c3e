// Files that Thaw opens for its worker, whose sandbox opens none of a user's.
//
// ONNX Runtime asks for a model, its external data and a tokenizer by path. What the sandbox denies, the worker's program (cmake/worker_open.cc)
// asks of Thaw, in the middle of the request that needs it: by device and inode, so that Thaw looks at no path that a stranger's
// bytes made up. Thaw opens the file by the name that it knows itself, where it is one of that request's, and sends the
// descriptor; for ONNX Runtime nothing is different. (Its own AddExternalInitializersFromFilesInMemory copies weights that it would
// map, and knows only those of the main graph.) Internal to run/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "thaw/core/fd.h"
#include "thaw/run/channel.h"

namespace thaw::run {

// Of a request, in Thaw: what may be handed over for it.
class HandedFiles {
 public:
  HandedFiles() = default;
  explicit HandedFiles(std::vector<std::filesystem::path> files) : files_(std::move(files)) {}
  // External data: opened below the model's folder, through no link (ir/data/external_data.h).
  void add_data(std::filesystem::path folder, const std::vector<std::filesystem::path>& files);

  // What answers a message of kind kOpen: the file that it names, open for reading; none where it is not one of these.
  UniqueFd open(const Message& wanted) const;

 private:
  using Identity = std::pair<uint64_t, uint64_t>;
  void look() const;

  std::filesystem::path data_folder_;
  std::vector<std::filesystem::path> files_, data_;
  mutable std::map<Identity, size_t> known_;  // numbers of files_, then of data_; once the first is asked for
};

// In the worker: while it lives, files that are denied are asked for over this channel, whose other end waits for an answer.
class AsksForFiles {
 public:
  explicit AsksForFiles(Channel& channel);
  ~AsksForFiles();
  AsksForFiles(const AsksForFiles&) = delete;
  AsksForFiles& operator=(const AsksForFiles&) = delete;

 private:
  Channel& channel_;
};

// A descriptor of a file that the system denied, from Thaw; -1 where there is none. For what stands in for open(2).
int file_from_thaw(const char* path) noexcept;

}  // namespace thaw::run
