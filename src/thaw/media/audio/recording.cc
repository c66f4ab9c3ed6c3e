#include "thaw/media/audio/recording.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sndfile.h>
#include <soxr.h>

#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"
#include "thaw/limits.h"
#include "thaw/run/packaged_library.h"

namespace thaw::media {
namespace {

constexpr int64_t kMostSeconds = int64_t{2} * 3600;
constexpr int64_t kMostSamples = kMostSeconds * 48'000;                 // however many a second
constexpr int64_t kLeastSampleRate = 100, kMostSampleRate = 1'000'000;  // samples a second
constexpr int kMostChannels = 64;
constexpr sf_count_t kFramesUnknown = std::numeric_limits<sf_count_t>::max();
// Of a WAV file: bytes of its parts, and sizes that say nothing.
constexpr size_t kMark = 4, kFileHeader = 12, kChunkHeader = 8, kSizes64 = 16;
constexpr uint64_t kUnknown = 0x7FFFF000, kUnknown64 = std::numeric_limits<uint64_t>::max();

struct Sndfile {
  decltype(&sf_open_virtual) open = nullptr;
  decltype(&sf_readf_float) read = nullptr;
  decltype(&sf_close) close = nullptr;
  decltype(&sf_strerror) message = nullptr;
};

const Sndfile& sndfile() {
  static const Sndfile functions = [] {
    const run::OpenedLibrary library({.name = "libsndfile.so.1",
                                      .package = "_soundfile_data",
                                      .file = "libsndfile",
                                      .is_needed = "to read recordings",
                                      .install = "pip install 'onnx-thaw[audio]', or Debian's libsndfile1"});
    Sndfile found;
    library.find("sf_open_virtual", found.open);
    library.find("sf_readf_float", found.read);
    library.find("sf_close", found.close);
    library.find("sf_strerror", found.message);
    return found;
  }();
  return functions;
}

struct Soxr {
  decltype(&soxr_oneshot) oneshot = nullptr;
  decltype(&soxr_quality_spec) quality = nullptr;
};

const Soxr& soxr() {
  static const Soxr functions = [] {
    const run::OpenedLibrary library({.name = "libsoxr.so.0",
                                      .package = "audresample",
                                      .file = "libaudresample",
                                      .is_needed = "to resample recordings",
                                      .install = "pip install 'onnx-thaw[audio]', or Debian's libsoxr0"});
    Soxr found;
    library.find("soxr_oneshot", found.oneshot);
    library.find("soxr_quality_spec", found.quality);
    return found;
  }();
  return functions;
}

// A file in memory, as libsndfile reads it.
struct Bytes {
  std::span<const std::byte> all;
  size_t at = 0;
};

SF_VIRTUAL_IO reading() {
  SF_VIRTUAL_IO io = {};
  io.get_filelen = [](void* data) { return static_cast<sf_count_t>(static_cast<Bytes*>(data)->all.size()); };
  io.seek = [](sf_count_t offset, int whence, void* data) -> sf_count_t {
    Bytes& bytes = *static_cast<Bytes*>(data);
    const auto size = static_cast<sf_count_t>(bytes.all.size());
    const sf_count_t from = whence == SEEK_CUR ? static_cast<sf_count_t>(bytes.at) : whence == SEEK_END ? size : 0;
    if (offset < -from || offset > size - from) return -1;
    bytes.at = static_cast<size_t>(from + offset);
    return from + offset;
  };
  io.read = [](void* to, sf_count_t count, void* data) -> sf_count_t {
    Bytes& bytes = *static_cast<Bytes*>(data);
    const size_t given = std::min(static_cast<size_t>(std::max<sf_count_t>(count, 0)), bytes.all.size() - bytes.at);
    std::memcpy(to, bytes.all.data() + bytes.at, given);
    bytes.at += given;
    return static_cast<sf_count_t>(given);
  };
  io.write = [](const void*, sf_count_t, void*) -> sf_count_t { return 0; };
  io.tell = [](void* data) { return static_cast<sf_count_t>(static_cast<Bytes*>(data)->at); };
  return io;
}

// libsndfile reads some thirty formats; those that were not asked for are a stranger's way in.
bool is_wav_or_flac(std::span<const std::byte> bytes) {
  const auto starts = [&](const char* mark) { return bytes.size() >= 12 && std::memcmp(bytes.data(), mark, 4) == 0; };
  const bool is_riff = starts("RIFF") || starts("RIFX") || starts("RF64");
  return (is_riff && std::memcmp(bytes.data() + 8, "WAVE", 4) == 0) || starts("fLaC");
}

[[noreturn]] void refuse_recording(const std::string& name, ErrorCode code, std::string what, std::string next = {}) {
  throw Error(code, {.what = std::move(what), .where = name, .expected = {}, .next = std::move(next)});
}

void require_plausible(const SF_INFO& info, const std::string& name) {
  if (info.channels < 1 || info.channels > kMostChannels)
    refuse_recording(name, ErrorCode::kInvalidFile, fmt::format("the recording has {} channels", info.channels));
  if (info.samplerate < kLeastSampleRate || info.samplerate > kMostSampleRate)
    refuse_recording(name, ErrorCode::kInvalidFile,
                     fmt::format("the recording has {} samples a second", info.samplerate));
}

// Chunks of a RIFF file: a mark of four letters, a size, so many bytes, and one more where these are odd.
class Chunks {
 public:
  explicit Chunks(std::span<const std::byte> bytes) : bytes_(bytes), is_big_(starts(0, "RIFX")) {}

  bool starts(size_t at, std::string_view mark) const {
    return at <= bytes_.size() && bytes_.size() - at >= kMark &&
           std::ranges::equal(bytes_.subspan(at, kMark), mark,
                              [](std::byte byte, char letter) { return static_cast<char>(byte) == letter; });
  }
  uint64_t number(size_t at, size_t width) const {
    uint64_t number = 0;
    for (size_t i = 0; i < width; ++i)
      number |= static_cast<uint64_t>(bytes_[at + i]) << (8 * (is_big_ ? width - 1 - i : i));
    return number;
  }
  // Where the chunk's own bytes begin.
  std::optional<size_t> find(std::string_view mark) const {
    for (uint64_t at = kFileHeader; at + kChunkHeader <= bytes_.size();) {
      const auto body = static_cast<size_t>(at) + kChunkHeader;
      if (starts(static_cast<size_t>(at), mark)) return body;
      const uint64_t size = number(static_cast<size_t>(at) + kMark, sizeof(uint32_t));
      at = body + size + size % 2;
    }
    return std::nullopt;
  }
  uint64_t size_of(size_t body) const { return number(body - sizeof(uint32_t), sizeof(uint32_t)); }
  size_t left(size_t body) const { return bytes_.size() - body; }

 private:
  std::span<const std::byte> bytes_;
  bool is_big_;
};

// Bytes of samples: those that the header says, and those that stand behind it.
struct WavLength {
  uint64_t said, present;
};

// How long a WAV file (RIFF, RIFX or RF64) in memory says it is; nullopt where its header does not say, as of a stream: what
// writes to a pipe knows no length, and says 0 or one past anything (0xFFFFFFFF ffmpeg, 0x7FFFF000 SoX).
std::optional<WavLength> wav_length(std::span<const std::byte> bytes) {
  const Chunks chunks(bytes);
  const std::optional<size_t> samples = chunks.find("data");
  if (!samples) return std::nullopt;
  uint64_t said = chunks.size_of(*samples), unknown = kUnknown;
  // Past 4 GiB a chunk before all others says it: the file's size, then that of its samples.
  if (const auto sizes = chunks.find("ds64"); chunks.starts(0, "RF64") && sizes && chunks.left(*sizes) >= kSizes64) {
    said = chunks.number(*sizes + sizeof(uint64_t), sizeof(uint64_t));
    unknown = kUnknown64;
  }
  if (said == 0 || said >= unknown) return std::nullopt;
  return WavLength{.said = said, .present = std::min<uint64_t>(said, chunks.left(*samples))};
}

}  // namespace

Recording read_recording(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return decode_recording(file->bytes(), path.string());
}

Recording decode_recording(std::span<const std::byte> content, const std::string& name) {
  if (!is_wav_or_flac(content))
    refuse_recording(name, ErrorCode::kUnsupported, "the file is no WAV and no FLAC",
                     "save the recording as one of them");
  Bytes bytes{.all = content};
  SF_VIRTUAL_IO io = reading();
  SF_INFO info = {};
  const std::unique_ptr<SNDFILE, decltype(&sf_close)> opened(sndfile().open(&io, SFM_READ, &info, &bytes),
                                                             sndfile().close);
  if (!opened)
    refuse_recording(name, ErrorCode::kInvalidFile,
                     fmt::format("the recording cannot be decoded: {}", sndfile().message(nullptr)),
                     "fetch the file again");
  require_plausible(info, name);
  // libsndfile takes what there is.
  if (const auto length = wav_length(content); length && length->present < length->said)
    refuse_recording(name, ErrorCode::kInvalidFile,
                     fmt::format("the recording ends after {} of {} bytes of samples", length->present, length->said),
                     "fetch the file again");

  // What the header says of the length is not relied on: memory is taken as samples come.
  constexpr sf_count_t kAtOnce = 1 << 16;
  const auto most = static_cast<size_t>(std::min(kMostSeconds * info.samplerate, kMostSamples));
  const uint64_t most_memory = limits().max_memory;
  Recording recording{.rate = info.samplerate, .samples = {}};
  std::vector<float> frames(static_cast<size_t>(kAtOnce * info.channels));
  while (const sf_count_t count = std::max<sf_count_t>(sndfile().read(opened.get(), frames.data(), kAtOnce), 0)) {
    if (recording.samples.size() + static_cast<size_t>(count) > most)
      refuse_recording(name, ErrorCode::kOutOfBudget,
                       fmt::format("the recording is longer than two hours, or {} samples", kMostSamples), "cut it");
    // It stands in memory while it grows, and resampled.
    const uint64_t memory = 3 * sizeof(float) * (recording.samples.size() + static_cast<size_t>(count));
    if (most_memory != 0 && memory > most_memory)
      refuse_recording(name, ErrorCode::kOutOfBudget,
                       fmt::format("the recording takes more than {} bytes, as --max-memory says", most_memory),
                       "cut it, or give --max-memory a larger size");
    for (sf_count_t i = 0; i < count; ++i) {
      float sum = 0;
      for (int c = 0; c < info.channels; ++c) sum += frames[static_cast<size_t>(i * info.channels + c)];
      recording.samples.push_back(sum / static_cast<float>(info.channels));
    }
  }
  const bool is_flac = (info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;
  const bool is_length_known = info.frames != kFramesUnknown;  // what writes to a pipe says none
  if (is_flac && is_length_known && static_cast<sf_count_t>(recording.samples.size()) < info.frames)
    refuse_recording(name, ErrorCode::kInvalidFile,
                     fmt::format("the recording ends after {} of {} samples", recording.samples.size(), info.frames),
                     "fetch the file again");
  if (recording.samples.empty())
    refuse_recording(name, ErrorCode::kInvalidFile, "the recording holds no samples", "record anew");
  const auto broken = std::ranges::find_if(recording.samples, [](float sample) { return !std::isfinite(sample); });
  if (broken != recording.samples.end())
    refuse_recording(name, ErrorCode::kInvalidFile,
                     fmt::format("sample {} of the recording is no finite number", broken - recording.samples.begin()),
                     "look at what wrote it");
  return recording;
}

Recording resampled(Recording recording, int64_t rate) {
  if (recording.rate == rate) return recording;
  const double ratio = static_cast<double>(rate) / static_cast<double>(recording.rate);
  const auto count = static_cast<size_t>(std::ceil(static_cast<double>(recording.samples.size()) * ratio));
  Recording result{.rate = rate, .samples = std::vector<float>(count)};
  size_t used = 0, made = 0;
  const soxr_quality_spec_t quality = soxr().quality(SOXR_HQ, 0);
  const soxr_error_t failed =
      soxr().oneshot(static_cast<double>(recording.rate), static_cast<double>(rate), 1, recording.samples.data(),
                     recording.samples.size(), &used, result.samples.data(), count, &made, nullptr, &quality, nullptr);
  if (failed != nullptr)
    throw Error(ErrorCode::kRuntimeFailed,
                {.what = fmt::format("libsoxr cannot resample: {}", failed),
                 .expected = fmt::format("{} to {} samples a second", recording.rate, rate)});
  return result;
}

}  // namespace thaw::media
