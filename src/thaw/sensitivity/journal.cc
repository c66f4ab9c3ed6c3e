#include "thaw/sensitivity/journal.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "thaw/core/error.h"
#include "thaw/core/json_integer.h"

namespace thaw::measuring {
namespace {

using Json = nlohmann::json;

Json to_json(const std::vector<ErrorFigures>& samples) {
  Json list = Json::array();
  for (const ErrorFigures& sample : samples) list.push_back({sample.mse, sample.cosine, sample.kl, sample.noise});
  return list;
}

std::vector<ErrorFigures> figures_from(const Json& list) {
  std::vector<ErrorFigures> samples;
  for (const Json& one : list)
    samples.push_back(
        {one.at(0).get<double>(), one.at(1).get<double>(), one.at(2).get<double>(), one.at(3).get<double>()});
  return samples;
}

// A line that was cut off where the process was killed, or that is no line of ours, is passed over.
std::optional<UnitError> read_line(const std::string& line, const std::string& key) {
  try {
    const Json json = Json::parse(line);
    if (json.at("key") != key) return std::nullopt;
    UnitError error;
    error.unit = static_cast<size_t>(integer_at(json, "unit"));
    error.precision = static_cast<size_t>(integer_at(json, "precision"));
    error.status = json.contains("why") ? UnitStatus::kFailed : UnitStatus::kMeasured;
    error.why = json.value("why", "");
    if (json.contains("in")) error.in = figures_from(json.at("in"));
    if (json.contains("out")) error.out = figures_from(json.at("out"));
    error.bytes = integer_at(json, "bytes", 0);
    return error;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

bool ends_within_line(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() <= 0) return false;
  file.seekg(-1, std::ios::end);
  return file.get() != '\n';
}

}  // namespace

Journal::Journal(const std::filesystem::path& path, std::string key, bool resume) : path_(path), key_(std::move(key)) {
  if (path.empty()) return;
  if (resume) {
    std::ifstream before(path);
    for (std::string line; std::getline(before, line);)
      if (std::optional<UnitError> error = read_line(line, key_)) {
        UnitError& known = known_[{error->unit, error->precision}];
        std::vector<ErrorFigures> out = error->out.empty() ? std::move(known.out) : std::move(error->out);
        if (!error->in.empty() || !error->why.empty()) known = std::move(*error);
        known.out = std::move(out);
      }
  }
  file_.open(path, resume ? std::ios::app : std::ios::trunc);
  if (!file_)
    throw Error(ErrorCode::kCannotWrite, {.what = "the file of what was measured cannot be written",
                                          .where = path.string(),
                                          .expected = "a folder that may be written to"});
  // What a killed process left of its last line ends there.
  if (resume && ends_within_line(path)) file_ << "\n";
}

const UnitError* Journal::find(size_t unit, size_t precision) const {
  const auto at = known_.find({unit, precision});
  return at == known_.end() ? nullptr : &at->second;
}

void Journal::add(const UnitError& error, Part part) {
  if (!file_.is_open()) return;
  Json json{{"key", key_}, {"unit", error.unit}, {"precision", error.precision}};
  if (part == Part::kOut) {
    json["out"] = to_json(error.out);
  } else {
    json["in"] = to_json(error.in);
    json["bytes"] = error.bytes;
  }
  if (error.status == UnitStatus::kFailed) json["why"] = error.why;
  file_ << json.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  if (!file_)
    throw Error(ErrorCode::kCannotWrite, {.what = "what was measured cannot be written",
                                          .where = path_.string(),
                                          .expected = "room on the disk",
                                          .next = "--resume goes on from here"});
}

}  // namespace thaw::measuring
