// Arrays in files: .npy (one) and .npz (several, by name).
//
//   run::NpzReader reader("refs.npz");
//   Array logits = reader.read("logits");
//
// Everything that is wrong with a file is a thaw::Error that names it. Files are written whole or not at all.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/run/array.h"
#include "thaw/run/npy.h"
#include "thaw/run/zip.h"

namespace thaw::run {

// `check` sees the shape before anything but the header is read.
Array read_npy_file(const std::filesystem::path& path, const NpyCheck& check);
void write_npy_file(const std::filesystem::path& path, const Array& array);

// A .npz archive: its directory is read when it is opened, an array when it is asked for.
class NpzReader {
 public:
  explicit NpzReader(const std::filesystem::path& path);

  // The arrays' names in the order of the file, without ".npy".
  const std::vector<std::string>& names() const { return names_; }
  bool contains(std::string_view name) const { return by_name_.find(name) != by_name_.end(); }
  Array read(std::string_view name, const NpyCheck& check);
  NpyShape shape(std::string_view name);
  const std::string& path() const { return path_; }

 private:
  std::unique_ptr<ByteSource> open(std::string_view name);

  std::string path_;
  ZipReader zip_;
  std::vector<std::string> names_;
  std::map<std::string, size_t, std::less<>> by_name_;  // index into the zip's members
};

// Stored, not compressed, as numpy.savez does; Zip64 where sizes ask for it.
void write_npz_file(const std::filesystem::path& path, const Arrays& arrays);

}  // namespace thaw::run
