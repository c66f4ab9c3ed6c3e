#include "thaw/sensitivity/journal.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"
#include "thaw/core/json_file.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/read_files.h"
#include "thaw/sensitivity/figures.h"

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
  for (const Json& one : list) {
    std::array<double, 4> figures;
    for (size_t i = 0; i < figures.size(); ++i) {
      figures[i] = one.at(i).get<double>();
      if (!is_error_figure(figures[i])) throw Json::other_error::create(501, "no figure of an error", &one);
    }
    samples.push_back({figures[0], figures[1], figures[2], figures[3]});
  }
  return samples;
}

// A line that was cut off where the process was killed, or that is no line of ours, is passed over.
std::optional<UnitError> read_line(std::string_view line, const std::string& key) {
  try {
    const Json json = parse_json(line, "", {});
    if (json.at("key") != key) return std::nullopt;
    const auto unit = integer_of(json.at("unit")), precision = integer_of(json.at("precision"));
    const auto bytes = json.contains("bytes") ? integer_of(json.at("bytes")) : 0;
    if (!unit || !precision || !bytes || *unit < 0 || *precision < 0) return std::nullopt;
    UnitError error;
    error.unit = static_cast<size_t>(*unit);
    error.precision = static_cast<size_t>(*precision);
    error.status = json.contains("why") ? UnitStatus::kFailed : UnitStatus::kMeasured;
    error.why = json.value("why", "");
    if (json.contains("in")) error.in = figures_from(json.at("in"));
    if (json.contains("out")) error.out = figures_from(json.at("out"));
    error.bytes = *bytes;
    return error;
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const Error& wrong) {
    if (wrong.code() == ErrorCode::kOutOfBudget) throw;
    return std::nullopt;
  }
}

}  // namespace

Journal::Journal(const std::filesystem::path& path, std::string key, bool resume) : path_(path), key_(std::move(key)) {
  if (path.empty()) return;
  std::shared_ptr<const MappedFile> before;
  std::string_view kept;
  if (resume && std::filesystem::exists(std::filesystem::symlink_status(path))) {
    before = MappedFile::open(path);
    const std::string_view all = before->text();
    kept = all.substr(0, all.rfind('\n') + 1);  // what a killed process left of its last line is no line
    std::string_view rest = kept;
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      if (std::optional<UnitError> error = read_line(rest.substr(0, end), key_)) {
        UnitError& known = known_[{error->unit, error->precision}];
        std::vector<ErrorFigures> out = error->out.empty() ? std::move(known.out) : std::move(error->out);
        if (!error->in.empty() || !error->why.empty()) known = std::move(*error);
        known.out = std::move(out);
      }
      rest.remove_prefix(end + 1);
    }
  }
  ReadFiles::forget(path);  // it goes on
  // A file of our own, to which no other name leads, takes the place of the one that may be there.
  write_whole(path, kept);
  file_ = UniqueFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!file_) fail();
}

void Journal::fail() const {
  throw Error(ErrorCode::kCannotWrite, {.what = fmt::format("measurements cannot be written: {}", std::strerror(errno)),
                                        .where = path_.string(),
                                        .expected = "free disk space, and a file that stays there",
                                        .next = "--resume goes on from here"});
}

void Journal::flush() const {
  if (file_ && ::fsync(file_.get()) != 0 && errno != EINVAL) fail();
}

const UnitError* Journal::find(size_t unit, size_t precision) const {
  const auto at = known_.find({unit, precision});
  return at == known_.end() ? nullptr : &at->second;
}

void Journal::add(const UnitError& error, Part part) {
  if (!file_) return;
  Json json{{"key", key_}, {"unit", error.unit}, {"precision", error.precision}};
  if (part == Part::kOut) {
    json["out"] = to_json(error.out);
  } else {
    json["in"] = to_json(error.in);
    json["bytes"] = error.bytes;
  }
  if (error.status == UnitStatus::kFailed) json["why"] = error.why;
  const std::string line = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t written = ::write(file_.get(), line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail();
    done += static_cast<size_t>(written);
  }
}

}  // namespace thaw::measuring
