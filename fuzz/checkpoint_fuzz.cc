// Any folder as a checkpoint: config.json, an index and one file of weights, in that order, each behind its length. What
// the config asks for and the file lacks is added as long as it is small, so that configs reach the models that they
// describe. A thaw::Error, or models that are written whole and read again.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "thaw/core/error.h"
#include "thaw/ir/graph/model.h"
#include "thaw/limits.h"
#include "thaw/model/build.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using Json = nlohmann::json;

constexpr int kMostAdded = 400;             // tensors
constexpr int64_t kMostElements = 1 << 16;  // of one

struct Parts {
  std::string config, index, weights;
};

std::string take(const uint8_t*& at, const uint8_t* end) {
  uint16_t length = 0;
  if (end - at < static_cast<ptrdiff_t>(sizeof length)) return {};
  std::memcpy(&length, at, sizeof length);
  at += sizeof length;
  const size_t size = std::min<size_t>(length, static_cast<size_t>(end - at));
  std::string part(reinterpret_cast<const char*>(at), size);
  at += size;
  return part;
}

Parts split(const uint8_t* data, size_t size) {
  const uint8_t* const end = data + size;
  Parts parts;
  parts.config = take(data, end);
  parts.index = take(data, end);
  parts.weights.assign(reinterpret_cast<const char*>(data), static_cast<size_t>(end - data));
  return parts;
}

std::string put(const Parts& parts) {
  std::string all;
  for (const std::string* part : {&parts.config, &parts.index}) {
    const auto length = static_cast<uint16_t>(std::min<size_t>(part->size(), 65535));
    all.append(reinterpret_cast<const char*>(&length), sizeof length);
    all.append(*part, 0, length);
  }
  return all + parts.weights;
}

void write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

// A folder in memory where there is one, its own for each process.
const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    const std::filesystem::path shared = "/dev/shm";
    auto made = (std::filesystem::is_directory(shared) ? shared : std::filesystem::temp_directory_path()) /
                fmt::format("thaw_checkpoint_fuzz_{}", getpid());
    std::filesystem::create_directories(made);
    std::atexit([] { std::filesystem::remove_all(folder()); });
    return made;
  }();
  return path;
}

// "the tensor 'NAME' is missing; expected a tensor of shape [A, B]" as a name and its shape.
bool add_missing(const thaw::ErrorParts& parts, Json& header, int64_t& end) {
  constexpr std::string_view kBegin = "the tensor '", kMissing = "' is missing", kShape = "a tensor of shape [";
  if (!parts.what.starts_with(kBegin) || !parts.what.ends_with(kMissing) || !parts.expected.starts_with(kShape))
    return false;
  const std::string name = parts.what.substr(kBegin.size(), parts.what.size() - kBegin.size() - kMissing.size());
  const Json shape = Json::parse(parts.expected.substr(kShape.size() - 1), nullptr, false);
  if (!shape.is_array()) return false;
  int64_t count = 1;
  for (const Json& dim : shape) {
    const auto size = dim.get<int64_t>();
    if (size < 0 || size > kMostElements || (count *= size) > kMostElements) return false;
  }
  header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {end, end + 4 * count}}};
  end += 4 * count;
  return true;
}

std::string safetensors(const Json& header, int64_t bytes) {
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file + text + std::string(static_cast<size_t>(bytes), '\0');
}

void build(const thaw::BuildOptions& options) {
  const auto out = folder() / "out";
  std::filesystem::remove_all(out);
  const thaw::BuildReport report = thaw::model::build(
      thaw::model::Checkpoint::open(folder() / "in"), out, options,
      [](const thaw::ir::Model&, const std::filesystem::path&, thaw::ir::Staged&) { return thaw::LoadCheck(); });
  for (const thaw::BuiltFile& file : report.files) static_cast<void>(thaw::ir::load(file.path));
}

// One value of a JSON text changed.
bool change(Json& json, unsigned seed) {
  std::vector<Json*> locations = {&json};
  for (size_t i = 0; i < locations.size() && locations.size() < 4096; ++i)
    if (locations[i]->is_structured())
      for (auto& inner : *locations[i]) locations.push_back(&inner);
  Json& location = *locations[seed % locations.size()];
  seed /= static_cast<unsigned>(locations.size());
  constexpr int64_t kNumbers[] = {0, 1, 2, 3, 4, 7, 8, 16, 24, 32, 64, 129, -1, -2, INT32_MAX, INT64_MAX};
  switch (seed % 8) {
    case 0:
      location = nullptr;
      return true;
    case 1:
      if (location.is_object() && !location.empty())
        location.erase(std::next(location.begin(), seed % location.size()));
      return true;
    case 2:
      location = Json::array({2, 4, 4});
      return true;
    case 3:
      location = locations[(seed / 8) % locations.size()] == &location
                     ? Json("text")
                     : Json(*locations[(seed / 8) % locations.size()]);
      return true;
    default:
      if (location.is_boolean())
        location = !location.get<bool>();
      else if (location.is_number_integer() && seed % 2 == 0)
        location = location.get<int64_t>() / 2;
      else if (location.is_number())
        location = kNumbers[(seed / 8) % std::size(kNumbers)];
      else
        return false;
      return true;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  thaw::set_limits({.max_memory = 256U << 20, .max_visits = 2'000'000});
  const Parts parts = split(data, size);
  const auto in = folder() / "in";
  std::filesystem::remove_all(in);
  std::filesystem::create_directories(in);
  write(in / "config.json", parts.config);
  if (!parts.index.empty()) write(in / "model.safetensors.index.json", parts.index);
  thaw::BuildOptions options;
  options.kv_cache = size % 2 == 0;
  options.genai = size % 5 == 0;
  Json header = Json::object();
  int64_t bytes = 0;
  write(in / "model.safetensors", parts.weights.empty() ? safetensors(header, bytes) : parts.weights);
  for (int added = 0; added <= kMostAdded; ++added) {
    try {
      build(options);
      return 0;
    } catch (const thaw::Error& error) {
      if (!parts.weights.empty() || !add_missing(error.parts(), header, bytes)) return 0;
    }
    write(in / "model.safetensors", safetensors(header, bytes));
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  Parts parts = split(data, size);
  std::string& text = seed % 16 == 1 && !parts.index.empty() ? parts.index : parts.config;
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return LLVMFuzzerMutate(data, size, most);
  if (!change(json, seed / 16)) return LLVMFuzzerMutate(data, size, most);
  text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string made = put(parts);
  if (made.size() > most) return size;
  std::memcpy(data, made.data(), made.size());
  return made.size();
}
