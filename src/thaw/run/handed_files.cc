#include "thaw/run/handed_files.h"

#include <algorithm>
#include <mutex>

#include <fcntl.h>
#include <sys/stat.h>

#include "thaw/core/confined.h"
#include "thaw/core/error.h"
#include "thaw/ir/data/external_data.h"
#include "thaw/run/message.h"

namespace thaw::run {
namespace {

// Never destroyed: threads are at work when the worker ends.
struct Asking {
  std::mutex mutex;
  std::vector<Channel*> channels;  // guarded by mutex
};

Asking& asking() {
  static auto& all = *new Asking;
  return all;
}

UniqueFd asked_over(Channel& channel, const struct stat& status) {
  MessageWriter writer;
  writer.put<uint64_t>(status.st_dev);
  writer.put<uint64_t>(status.st_ino);
  Message answer;
  if (channel.send(MessageKind::kOpen, writer.take()) != Sent::kDone || channel.receive(answer) != Sent::kDone ||
      answer.kind != MessageKind::kOpened)
    ::_exit(0);  // Thaw is gone, or talks of something else
  return answer.files.empty() ? UniqueFd() : std::move(answer.files.front());
}

}  // namespace

void HandedFiles::add_data(std::filesystem::path folder, const std::vector<std::filesystem::path>& files) {
  data_folder_ = std::move(folder);
  data_ = files;
}

void HandedFiles::look() const {
  if (!known_.empty()) return;
  const auto add = [&](const std::filesystem::path& path, size_t number) {
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0) known_.try_emplace({status.st_dev, status.st_ino}, number);
  };
  for (size_t i = 0; i < files_.size(); ++i) add(files_[i], i);
  for (size_t i = 0; i < data_.size(); ++i) add(data_[i], files_.size() + i);
}

UniqueFd HandedFiles::open(const Message& wanted) const {
  try {
    MessageReader reader(wanted.body);
    const auto device = reader.take<uint64_t>(), inode = reader.take<uint64_t>();
    look();
    const auto found = known_.find({device, inode});
    if (found == known_.end()) return {};
    UniqueFd file;
    if (found->second < files_.size()) {
      // Not waiting for a pipe's writer, should one stand there by now.
      file = UniqueFd(::open(files_[found->second].c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
      if (file) require_inside(file.get(), files_[found->second]);
    } else {
      const std::filesystem::path& path = data_[found->second - files_.size()];
      file = ir::open_below(data_folder_, path.lexically_relative(data_folder_.lexically_normal()).string(), {});
    }
    struct stat status{};
    const bool same = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_dev == device &&
                      status.st_ino == inode;
    return same ? std::move(file) : UniqueFd();
  } catch (const BadMessage&) {
  } catch (const Error&) {  // no file of a model's any more
  }
  return {};
}

AsksForFiles::AsksForFiles(Channel& channel) : channel_(channel) {
  const std::lock_guard lock(asking().mutex);
  asking().channels.push_back(&channel_);
}

AsksForFiles::~AsksForFiles() {
  const std::lock_guard lock(asking().mutex);
  std::erase(asking().channels, &channel_);
}

int file_from_thaw(const char* path) noexcept {
  try {
    struct stat status{};
    if (path == nullptr || ::stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
    const std::lock_guard lock(asking().mutex);
    // Which of several requests is at work in this thread is not known: the library may have threads of its own.
    for (Channel* channel : asking().channels) {
      const UniqueFd file = asked_over(*channel, status);
      if (file) return ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
    }
  } catch (const std::exception&) {  // no memory
  }
  return -1;
}

}  // namespace thaw::run
