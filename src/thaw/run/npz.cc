#include "thaw/run/npz.h"

#include <algorithm>

#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"

namespace thaw::run {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr uint64_t kWide = 0xFFFFFFFF;  // a 32-bit field that stands in the Zip64 extra field

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

// Names come from the model, and tools unpack members as files: none may lead out of where it is unpacked. A leading
// slash is taken off by all of them, and names of values in exported models begin with one.
void require_member_name(std::string_view name, const std::filesystem::path& path) {
  if (name.size() > 0xFFFF - kSuffix.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "the name of an array has " + std::to_string(name.size()) + " bytes",
                 .where = path.string(),
                 .expected = "at most 65531",
                 .next = "leave it out"});
  }
  bool leaves = name.find('\0') != std::string_view::npos;
  for (std::string_view rest = name; !rest.empty();) {
    const size_t end = std::min(rest.find_first_of("/\\"), rest.size());
    leaves |= rest.substr(0, end) == "..";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!leaves) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "the array '" + std::string(name) + "' would be unpacked outside of its folder",
               .where = path.string(),
               .expected = "names without '..' and zero bytes",
               .next = "leave it out with --outputs, or write it to an .npy file"});
}

struct Written {
  std::string name;
  uint64_t size, offset;
  uint32_t crc;
};

// What local header and directory have in common, from the version to the length of the extra field.
void put_common(std::string& out, const Written& member, size_t extra_length) {
  const bool wide = extra_length > 0;
  put(out, wide ? 45 : 20, 2);  // version needed: 4.5 knows Zip64
  put(out, 1 << 11, 2);         // names are UTF-8
  put(out, 0, 2);               // stored
  put(out, 0, 2);               // a fixed time: equal arrays give equal files
  put(out, 0x21, 2);            // 1980-01-01
  put(out, member.crc, 4);
  put(out, std::min(member.size, kWide), 4);
  put(out, std::min(member.size, kWide), 4);
  put(out, member.name.size(), 2);
  put(out, extra_length, 2);
}

std::string local_header(const Written& member) {
  std::string extra;
  if (member.size >= kWide) {
    put(extra, 1, 2);
    put(extra, 16, 2);
    put(extra, member.size, 8);
    put(extra, member.size, 8);
  }
  std::string out;
  put(out, 0x04034b50, 4);
  put_common(out, member, extra.size());
  return out + member.name + extra;
}

std::string directory_entry(const Written& member) {
  std::string body;
  if (member.size >= kWide) {
    put(body, member.size, 8);
    put(body, member.size, 8);
  }
  if (member.offset >= kWide) put(body, member.offset, 8);
  std::string extra;
  if (!body.empty()) {
    put(extra, 1, 2);
    put(extra, body.size(), 2);
    extra += body;
  }
  std::string out;
  put(out, 0x02014b50, 4);
  put(out, 3 << 8 | 45, 2);  // made on Unix
  put_common(out, member, extra.size());
  put(out, 0, 2);                        // no comment
  put(out, 0, 4);                        // disk, internal attributes
  put(out, uint64_t{0100644} << 16, 4);  // a regular file
  put(out, std::min(member.offset, kWide), 4);
  return out + member.name + extra;
}

std::string end_records(size_t count, uint64_t size, uint64_t offset) {
  std::string out;
  if (count >= 0xFFFF || size >= kWide || offset >= kWide) {
    put(out, 0x06064b50, 4);
    put(out, 44, 8);
    put(out, 45, 2);
    put(out, 45, 2);
    put(out, 0, 8);  // disks
    put(out, count, 8);
    put(out, count, 8);
    put(out, size, 8);
    put(out, offset, 8);
    put(out, 0x07064b50, 4);
    put(out, 0, 4);
    put(out, offset + size, 8);
    put(out, 1, 4);
  }
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, std::min<uint64_t>(count, 0xFFFF), 2);
  put(out, std::min<uint64_t>(count, 0xFFFF), 2);
  put(out, std::min(size, kWide), 4);
  put(out, std::min(offset, kWide), 4);
  put(out, 0, 2);
  return out;
}

}  // namespace

Array read_npy_file(const std::filesystem::path& path, const NpyCheck& check) {
  FileSource file(path);
  return read_npy(file, check);
}

void write_npy_file(const std::filesystem::path& path, const Array& array) {
  AtomicFile file(path);
  std::vector<std::byte> storage;
  file.write(bytes_of(npy_header(array)));
  file.write(npy_data(array, storage));
  file.publish();
}

NpzReader::NpzReader(const std::filesystem::path& path) : path_(path.string()), zip_(path) {
  for (size_t i = 0; i < zip_.members().size(); ++i) {
    std::string name = zip_.members()[i].name;
    if (!name.ends_with(kSuffix)) continue;  // folders, and what others have put there
    name.resize(name.size() - kSuffix.size());
    by_name_.emplace(name, i);
    names_.push_back(std::move(name));
  }
}

std::unique_ptr<ByteSource> NpzReader::open(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = "holds no array '" + std::string(name) + "'", .where = path_, .expected = "an array of that name"});
  }
  return zip_.open(zip_.members()[found->second]);
}

Array NpzReader::read(std::string_view name, const NpyCheck& check) {
  const auto source = open(name);
  return read_npy(*source, check);
}

NpyShape NpzReader::shape(std::string_view name) {
  const auto source = open(name);
  return read_npy_shape(*source);
}

void write_npz_file(const std::filesystem::path& path, const Arrays& arrays) {
  for (const auto& [name, array] : arrays) require_member_name(name, path);
  AtomicFile file(path);
  std::vector<Written> members;
  for (const auto& [name, array] : arrays) {
    std::vector<std::byte> storage;
    const std::string header = npy_header(array);
    const std::span<const std::byte> data = npy_data(array, storage);
    Written member{name + std::string(kSuffix), header.size() + data.size(), file.size(), 0};
    member.crc = add_to_crc(add_to_crc(0, bytes_of(header)), data);
    file.write(bytes_of(local_header(member)));
    file.write(bytes_of(header));
    file.write(data);
    members.push_back(std::move(member));
  }
  const uint64_t offset = file.size();
  for (const Written& member : members) file.write(bytes_of(directory_entry(member)));
  const uint64_t size = file.size() - offset;
  file.write(bytes_of(end_records(members.size(), size, offset)));
  file.publish();
}

}  // namespace thaw::run
