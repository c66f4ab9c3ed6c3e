#include "thaw/ir/wire/foreign_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace thaw::ir {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kNoGraph = "an ONNX model";

struct Kind {
  std::string_view what, next;
};

constexpr Kind kPytorch = {
    "is a PyTorch checkpoint, not ONNX",
    "export it with torch.onnx.export; families that `thaw build` knows are built from config.json and *.safetensors"};
constexpr Kind kTorchScript = {"is a TorchScript archive, not ONNX", "export it with torch.onnx.export"};
constexpr Kind kSafetensors = {"holds weights alone (safetensors), no graph",
                               "`thaw build FOLDER -o onnx` takes the folder that has config.json beside it"};
constexpr Kind kNpy = {"is an array of NumPy, not a model", "feed it with `thaw run MODEL --input NAME=FILE`"};
constexpr Kind kNpz = {
    "holds arrays of NumPy, not a model",
    "feed it with `thaw run MODEL --input FILE`, or compare with `thaw verify MODEL --against FILE`"};
constexpr Kind kGguf = {"is a GGUF file of llama.cpp, which has no graph",
                        "`thaw build` takes the checkpoint that it was made of: config.json and *.safetensors"};
constexpr Kind kTflite = {"is a TensorFlow Lite model",
                          "convert it: python -m tf2onnx.convert --tflite FILE --output model.onnx"};
constexpr Kind kOrt = {"is a model in ONNX Runtime's own format (.ort), which cannot be turned back",
                       "take the .onnx file that it was made of"};
constexpr Kind kHdf5 = {"is an HDF5 file, as Keras saves them", "convert it with tf2onnx"};
constexpr Kind kZip = {"is a zip archive", "unpack it, and name the .onnx file in it"};
constexpr Kind kGzip = {"is compressed with gzip", "unpack it: gunzip FILE"};
constexpr Kind kLfs = {"is a pointer of Git LFS, not the file that it stands for",
                       "fetch the file: git lfs pull; or download it by its page"};
constexpr Kind kHtml = {"is a page of HTML, as a failed download leaves it", "download the file again"};
constexpr Kind kJson = {"is JSON, not a model", "name the .onnx file"};
constexpr Kind kText = {"is text, not a model", "name the .onnx file, or download it again"};

// Names of a zip archive's entries stand at its beginning and in the directory at its end.
bool zip_names(std::string_view bytes, std::string_view name) {
  constexpr size_t kEnd = size_t{1} << 16;
  const auto is_in = [&](std::string_view part) { return part.find(name) != std::string_view::npos; };
  return is_in(bytes.substr(0, kEnd)) || is_in(bytes.substr(bytes.size() - std::min(bytes.size(), kEnd)));
}

// A length of 8 bytes, then JSON of that length.
bool is_safetensors(std::string_view bytes) {
  constexpr size_t kHeader = 8;
  uint64_t length = 0;
  if (bytes.size() < kHeader + 2) return false;
  std::memcpy(&length, bytes.data(), kHeader);
  return length >= 2 && length <= bytes.size() - kHeader && bytes[kHeader] == '{';
}

bool is_text(std::string_view bytes) {
  constexpr size_t kLooked = 512;
  const std::string_view head = bytes.substr(0, kLooked);
  return std::ranges::all_of(
      head, [](unsigned char c) { return c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t'; });
}

const Kind* kind_of(std::string_view bytes) {
  constexpr size_t kIdentifier = 4;  // where a flatbuffer has its four letters
  const auto has_letters = [&](std::string_view letters) {
    return bytes.substr(std::min(kIdentifier, bytes.size())).starts_with(letters);
  };
  if (bytes.starts_with("PK\3\4"sv)) {
    if (zip_names(bytes, "data.pkl")) return zip_names(bytes, "constants.pkl") ? &kTorchScript : &kPytorch;
    return zip_names(bytes, ".npy") ? &kNpz : &kZip;
  }
  if (bytes.starts_with("\x93NUMPY"sv)) return &kNpy;
  if (bytes.starts_with("GGUF"sv)) return &kGguf;
  if (has_letters("TFL3")) return &kTflite;
  if (has_letters("ORTM")) return &kOrt;
  if (bytes.starts_with("\x89HDF\r\n"sv)) return &kHdf5;
  if (bytes.starts_with("\x1f\x8b"sv)) return &kGzip;
  // Pickle's protocols 2 to 5, as torch.save wrote before it wrote zip archives.
  if (bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5) return &kPytorch;
  if (bytes.starts_with("version https://git-lfs"sv)) return &kLfs;
  if (is_safetensors(bytes)) return &kSafetensors;
  if (!is_text(bytes)) return nullptr;
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  const char begins = first == std::string_view::npos ? ' ' : bytes[first];
  return begins == '<' ? &kHtml : begins == '{' || begins == '[' ? &kJson : &kText;
}

}  // namespace

std::optional<ErrorParts> foreign_file(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  const Kind* kind = kind_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (kind == nullptr) return std::nullopt;
  return ErrorParts{.what = std::string(kind->what),
                    .where = path.string(),
                    .expected = std::string(kNoGraph),
                    .next = std::string(kind->next)};
}

ErrorParts folder_instead_of_model(const std::filesystem::path& folder) {
  ErrorParts parts{
      .what = "is a folder", .where = folder.string(), .expected = "an ONNX file", .next = "name the file"};
  std::error_code failed;
  if (std::filesystem::exists(folder / "config.json", failed)) {
    parts.what = "is the folder of a checkpoint (config.json)";
    parts.next = fmt::format("`thaw build {} -o onnx` writes ONNX from it", folder.string());
    return parts;
  }
  if (std::filesystem::exists(folder / "saved_model.pb", failed)) {
    parts.what = "is a SavedModel of TensorFlow";
    parts.next = "convert it: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx";
    return parts;
  }
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (entry.path().extension() == ".onnx") models.push_back(entry.path().string());
  if (!models.empty())
    parts.next =
        fmt::format("name the file itself: {}{}", *std::ranges::min_element(models), models.size() > 1 ? ", …" : "");
  return parts;
}

}  // namespace thaw::ir
