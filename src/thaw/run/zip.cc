#include "thaw/run/zip.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_set>

#include <zlib.h>

#include "thaw/core/error.h"

namespace thaw::run {
namespace {

constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kEnd64LocatorSignature = 0x07064b50;
constexpr uint32_t kDirectorySignature = 0x02014b50;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint64_t kEndSize = 22, kEnd64Size = 56, kEnd64LocatorSize = 20, kDirectorySize = 46, kLocalSize = 30;
constexpr uint64_t kMaxDirectory = uint64_t{1} << 28;
constexpr uint64_t kMaxDeflateRatio = 1032;  // what deflate can reach

[[noreturn]] void broken(const std::string& where, const std::string& what) {
  throw Error(
      ErrorCode::kInvalidFile,
      {.what = what, .where = where, .expected = "a whole .npz (zip) file", .next = "write it again with numpy.savez"});
}

// Little-endian fields of a record, checked against its end.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}
  template <typename T>
  T take() {
    T value;
    std::memcpy(&value, raw(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> raw(size_t length) {
    if (length > bytes_.size()) broken(where_, "a record of the archive's directory is cut off");
    const auto part = bytes_.first(length);
    bytes_ = bytes_.subspan(length);
    return part;
  }
  std::string text(size_t length) {
    const auto part = raw(length);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  const std::string& where_;
};

// The sizes and the offset that did not fit into 32 bits stand in the extra field 1, in this order, only those that are
// full.
void apply_zip64(ZipMember& member, std::span<const std::byte> extra, const std::string& where) {
  Fields fields(extra, where);
  while (!fields.empty()) {
    const auto id = fields.take<uint16_t>();
    const auto length = fields.take<uint16_t>();
    Fields body(fields.raw(length), where);
    if (id != 1) continue;
    for (uint64_t* value : {&member.size, &member.packed, &member.offset}) {
      if (*value == 0xFFFFFFFF) *value = body.take<uint64_t>();
    }
  }
}

class StoredMember : public ByteSource {
 public:
  StoredMember(FileSource& file, const ZipMember& member, std::string name)
      : file_(file), member_(member), name_(std::move(name)), left_(member.size) {}

  size_t read(std::span<std::byte> out) override {
    const auto length = static_cast<size_t>(std::min<uint64_t>(out.size(), left_));
    read_exactly(file_, out.first(length));
    crc_ = add_to_crc(crc_, out.first(length));
    left_ -= length;
    if (left_ == 0 && crc_ != member_.crc) broken(name_, "its checksum does not agree with its bytes");
    return length;
  }
  uint64_t left() const override { return left_; }
  const std::string& name() const override { return name_; }

 private:
  FileSource& file_;
  ZipMember member_;
  std::string name_;
  uint64_t left_;
  uint32_t crc_ = 0;
};

class DeflatedMember : public ByteSource {
 public:
  DeflatedMember(FileSource& file, const ZipMember& member, std::string name)
      : file_(file), member_(member), name_(std::move(name)), left_(member.size), packed_left_(member.packed) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) broken(name_, "cannot be decompressed");
    input_.resize(1 << 16);
  }
  ~DeflatedMember() override { inflateEnd(&stream_); }
  DeflatedMember(const DeflatedMember&) = delete;
  DeflatedMember& operator=(const DeflatedMember&) = delete;

  size_t read(std::span<std::byte> out) override {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(out.size(), left_));
    size_t done = 0;
    while (done < wanted) {
      if (stream_.avail_in == 0 && packed_left_ > 0) refill();
      const size_t space = std::min<size_t>(wanted - done, size_t{1} << 30);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      stream_.avail_out = static_cast<uInt>(space);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      const size_t got = space - stream_.avail_out;
      crc_ = add_to_crc(crc_, out.subspan(done, got));
      done += got;
      const bool ended = status == Z_STREAM_END;
      if ((status != Z_OK && !ended) || (ended && done < wanted) ||
          (got == 0 && stream_.avail_in == 0 && packed_left_ == 0)) {
        broken(name_, "its compressed data are damaged");
      }
    }
    left_ -= wanted;
    if (left_ == 0 && crc_ != member_.crc) broken(name_, "its checksum does not agree with its bytes");
    return wanted;
  }
  uint64_t left() const override { return left_; }
  const std::string& name() const override { return name_; }

 private:
  void refill() {
    const auto length = static_cast<size_t>(std::min<uint64_t>(input_.size(), packed_left_));
    read_exactly(file_, std::span(input_).first(length));
    packed_left_ -= length;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(length);
  }

  FileSource& file_;
  ZipMember member_;
  std::string name_;
  uint64_t left_, packed_left_;
  std::vector<std::byte> input_;
  z_stream stream_{};
  uint32_t crc_ = 0;
};

}  // namespace

uint32_t add_to_crc(uint32_t crc, std::span<const std::byte> bytes) {
  if (bytes.empty()) return crc;
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

ZipReader::ZipReader(const std::filesystem::path& path) : file_(path) { read_directory(); }

std::vector<std::byte> ZipReader::bytes_at(uint64_t offset, uint64_t length) {
  if (offset > file_.size() || length > file_.size() - offset)
    broken(file_.name(), "the archive's directory lies outside the file");
  std::vector<std::byte> bytes(length);
  file_.seek(offset);
  read_exactly(file_, bytes);
  return bytes;
}

void ZipReader::read_directory() {
  const std::string& where = file_.name();
  if (file_.size() < kEndSize) broken(where, "is too short for an archive");
  // The end record is the last thing in the file, before a comment of at most 65535 bytes.
  const uint64_t tail_size = std::min<uint64_t>(file_.size(), kEndSize + 0xFFFF);
  const uint64_t tail_start = file_.size() - tail_size;
  const std::vector<std::byte> tail = bytes_at(tail_start, tail_size);
  std::optional<uint64_t> end;
  for (uint64_t at = tail_size - kEndSize + 1; at-- > 0 && !end;) {
    uint32_t signature;
    std::memcpy(&signature, tail.data() + at, 4);
    uint16_t comment;
    std::memcpy(&comment, tail.data() + at + 20, 2);
    if (signature == kEndSignature && at + kEndSize + comment == tail_size) end = at;
  }
  if (!end) broken(where, "is not a zip archive, or its end is missing");

  Fields fields{std::span(tail).subspan(*end, kEndSize), where};
  fields.raw(10);
  uint64_t count = fields.take<uint16_t>();
  uint64_t size = fields.take<uint32_t>();
  uint64_t offset = fields.take<uint32_t>();
  if (count == 0xFFFF || size == 0xFFFFFFFF || offset == 0xFFFFFFFF) {
    const uint64_t end_at = tail_start + *end;
    if (end_at < kEnd64LocatorSize) broken(where, "lacks its Zip64 directory");
    const auto locator = bytes_at(end_at - kEnd64LocatorSize, kEnd64LocatorSize);
    Fields link(locator, where);
    if (link.take<uint32_t>() != kEnd64LocatorSignature) broken(where, "lacks its Zip64 directory");
    link.raw(4);
    const auto record = bytes_at(link.take<uint64_t>(), kEnd64Size);
    Fields wide(record, where);
    if (wide.take<uint32_t>() != kEnd64Signature) broken(where, "lacks its Zip64 directory");
    wide.raw(28);
    count = wide.take<uint64_t>();
    size = wide.take<uint64_t>();
    offset = wide.take<uint64_t>();
  }
  if (size > kMaxDirectory || count > size / kDirectorySize)
    broken(where, "the archive's directory has an impossible size");

  const std::vector<std::byte> directory = bytes_at(offset, size);
  Fields entries(directory, where);
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    if (entries.take<uint32_t>() != kDirectorySignature) broken(where, "the archive's directory is damaged");
    entries.raw(4);
    const auto flags = entries.take<uint16_t>();
    ZipMember member;
    member.method = entries.take<uint16_t>();
    entries.raw(4);
    member.crc = entries.take<uint32_t>();
    member.packed = entries.take<uint32_t>();
    member.size = entries.take<uint32_t>();
    const auto name_length = entries.take<uint16_t>();
    const auto extra_length = entries.take<uint16_t>();
    const auto comment_length = entries.take<uint16_t>();
    entries.raw(8);
    member.offset = entries.take<uint32_t>();
    member.name = entries.text(name_length);
    apply_zip64(member, entries.raw(extra_length), where);
    entries.raw(comment_length);
    const std::string at = where + ", member '" + member.name + "'";
    if ((flags & 1) != 0) broken(at, "is encrypted");
    if (member.method != 0 && member.method != 8) {
      broken(at, "is compressed by method " + std::to_string(member.method) + ", not stored or deflated");
    }
    const bool possible =
        member.packed <= file_.size() &&
        (member.method == 0 ? member.size == member.packed : member.size / kMaxDeflateRatio <= member.packed + 1);
    if (!possible) broken(at, "claims a size that its bytes cannot have");
    if (!names.insert(member.name).second) broken(at, "stands in the archive twice");
    members_.push_back(std::move(member));
  }
}

std::unique_ptr<ByteSource> ZipReader::open(const ZipMember& member) {
  const std::string where = file_.name() + ", member '" + member.name + "'";
  const auto header = bytes_at(member.offset, kLocalSize);
  Fields fields(header, where);
  if (fields.take<uint32_t>() != kLocalSignature) broken(where, "does not lie where the directory says");
  fields.raw(22);
  const uint64_t skip = uint64_t{fields.take<uint16_t>()} + fields.take<uint16_t>();
  const uint64_t start = member.offset + kLocalSize + skip;  // in the file: bytes_at has checked the first two
  if (start > file_.size() || member.packed > file_.size() - start) broken(where, "reaches past the end of the file");
  file_.seek(start);
  if (member.method == 0) return std::make_unique<StoredMember>(file_, member, where);
  return std::make_unique<DeflatedMember>(file_, member, where);
}

}  // namespace thaw::run
