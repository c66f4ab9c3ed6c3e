// thaw split: a model cut into parts that run one after the other.
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/cli/check_feeds.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/save_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/cli/written.h"
#include "thaw/confirm/divided.h"
#include "thaw/confirm/run_check.h"
#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"
#include "thaw/report/run_checks.h"
#include "thaw/report/table.h"

namespace thaw::cli {
namespace {

struct SplitArguments {
  std::string model, output, sizes;
  std::vector<std::string> at;
  CheckFeeds feeds;
  size_t parts = 0;
  bool no_check = false;
  SplitBalance balance = SplitBalance::kBytes;
  ExternalPolicy external = ExternalPolicy::kKeep;
  SaveArguments saving;
  Format format = Format::kText;
};

constexpr double kMegabyte = 1e6;

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names = CLI::detail::split(text, ',');
  std::erase(names, std::string());
  if (names.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "names no tensor", .where = "--at", .expected = "--at TENSOR or --at TENSOR,TENSOR"});
  return names;
}

std::string points_text(const std::vector<CutPoint>& points) {
  if (points.empty()) return "there is no place that few tensors pass\n";
  report::Table table(72);
  table.add({"weights before", "operations before", "bytes that pass", "--at"});
  for (const CutPoint& point : points)
    table.add({fmt::format("{:.0f} %", point.weights_before * 100), fmt::format("{:.0f} %", point.flops_before * 100),
               point.bytes.empty() ? "not known" : point.bytes, fmt::format("{}", fmt::join(point.tensors, ","))});
  return "places where few numbers pass:\n" + table.text();
}

std::string points_json(const SplitArguments& options, const std::vector<CutPoint>& points) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model", options.model);
  json.member_array("cut_points");
  for (const CutPoint& point : points) {
    json.begin_object(report::JsonWriter::Layout::kLine);
    json.member_array("tensors");
    for (const std::string& name : point.tensors) json.value(name);
    json.end_array();
    json.key("bytes");
    if (point.bytes.empty()) {
      json.null();
    } else {
      json.value(point.bytes);
    }
    json.member("weights_before", point.weights_before);
    json.member("flops_before", point.flops_before);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text + "\n";
}

void write_names(report::JsonWriter& json, std::string_view name, const std::vector<std::string>& names) {
  json.member_array(name, report::JsonWriter::Layout::kLine);
  for (const std::string& one : names) json.value(one);
  json.end_array();
}

std::string split_json(const SplitArguments& options, const SplitReport& report, const Written& files) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model", options.model);
  json.member("written", !files.empty());
  json.member_array("parts");
  for (const SplitPart& part : report.parts) {
    json.begin_object();
    write_names(json, "inputs", part.inputs);
    write_names(json, "outputs", part.outputs);
    json.member("nodes", part.nodes);
    json.member("weights", part.weights);
    json.end_object();
  }
  json.end_array();
  write_names(json, "carried", report.carried);
  report::write_checks(json, "sizes", report.checks);
  report::write_uncompared(json, report.uncompared);
  write_files_member(json, files);
  json.end_object();
  return text + "\n";
}

std::string split_text(const SplitReport& report, const Written& files) {
  std::string text;
  for (size_t i = 0; i < report.parts.size(); ++i) {
    const SplitPart& part = report.parts[i];
    text += report::printable(fmt::format("part {}: {}, {:.2f} MB of weights; {} -> {}", i + 1,
                                          report::counted(part.nodes, "node"),
                                          static_cast<double>(part.weights) / kMegabyte, fmt::join(part.inputs, ", "),
                                          fmt::join(part.outputs, ", "))) +
            "\n";
  }
  if (!report.carried.empty())
    text += report::printable(fmt::format("passes cuts too: {}", fmt::join(report.carried, ", "))) + "\n";
  text += report::checks_text(report.checks, "agrees with the original at", "DIFFERS from the original at");
  text += report::uncompared_text(report.uncompared);
  return text + (files.empty() ? "nothing was written\n" : written_text(files));
}

std::vector<ir::Model*> models_of(const std::vector<splitting::Part>& parts) {
  std::vector<ir::Model*> models;
  for (const splitting::Part& part : parts) models.push_back(part.model.get());
  return models;
}

std::filesystem::path path_of_part(const std::filesystem::path& folder, size_t number) {
  return folder / fmt::format("part_{}.onnx", number);
}

// Parts of an earlier split would follow the last one, as if they were of this.
void require_no_more(const std::filesystem::path& folder, size_t parts) {
  std::error_code ignored;
  const std::filesystem::path next = path_of_part(folder, parts + 1);
  if (std::filesystem::exists(next, ignored))
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("it is there already, and this split has {}", report::counted(parts, "part")),
                 .where = next.string(),
                 .expected = "a folder without parts of another split",
                 .next = "remove them, or name another folder"});
}

Written write_parts(const SplitArguments& options, const std::vector<splitting::Part>& parts) {
  const std::filesystem::path folder = options.output;
  make_folder(folder);
  std::vector<ir::SavedModel> saved;
  for (size_t i = 0; i < parts.size(); ++i) saved.push_back({parts[i].model.get(), path_of_part(folder, i + 1)});
  rewrite::rename_sizes(models_of(parts), options.saving.renames());
  SaveOptions save;
  save.external = options.external;
  save.location = "shared.data";
  return ir::save_together(saved, save);
}

int split_model(const SplitArguments& options) {
  const ir::Model& model = *until_exit(ir::load(options.model));
  SplitOptions how;
  how.sizes = parse_sizes(options.sizes, "--set");
  if (options.at.empty() && options.parts == 0) {
    const std::vector<CutPoint> points = splitting::cut_points(model, how.sizes);
    write_output(options.format == Format::kJson ? points_json(options, points) : points_text(points));
    return kFine;
  }
  if (options.output.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {"no folder to write to is given", "thaw split", "-o FOLDER", "name the folder for the parts"});
  if (!options.at.empty() && options.parts != 0)
    throw Error(ErrorCode::kInvalidArgument,
                {"--at and --parts are given", "thaw split", "one of them", "leave one out"});
  for (const std::string& text : options.at) how.at.push_back(names_in(text));
  how.parts = options.parts;
  how.balance = options.balance;
  how.check = !options.no_check;
  how.feeds = options.feeds.of(model);
  const confirm::Divided& divided =
      *until_exit(std::make_unique<confirm::Divided>(confirm::split(model, how, [&](const auto& parts) {
        require_no_more(options.output, parts.size());
        rewrite::require_renames(models_of(parts), options.saving.renames());
      })));
  Written files;
  // What was asked to be compared and could not be is not written either.
  if (divided.report.agrees() && (!how.check || !divided.report.checks.empty()))
    files = write_parts(options, divided.parts);
  write_output(options.format == Format::kJson ? split_json(options, divided.report, files)
                                               : split_text(divided.report, files));
  return files.empty() ? kFindings : kFine;
}

}  // namespace

Action define_split(CLI::App& app) {
  auto options = std::make_shared<SplitArguments>();
  add_model(app, options->model);
  app.add_option("-o,--output", options->output, "the folder for part_1.onnx, part_2.onnx, …")->type_name("FOLDER");
  add_texts(app, "--at", options->at, "TENSOR[,TENSOR]", "the tensors that pass a cut; once for each cut");
  app.add_option("--parts", options->parts, "how many parts, cut at narrow places near even shares")
      ->type_name("N")
      ->check(CLI::Range(size_t{2}, size_t{1000}));
  add_choice<SplitBalance>(app, "--balance", options->balance,
                           {{"bytes", SplitBalance::kBytes}, {"flops", SplitBalance::kFlops}},
                           "what --parts shares evenly: bytes of weights, or operations (bytes)");
  app.add_option("--set", options->sizes,
                 "sizes that what passes is reckoned at, such as h=640,w=480; 64 for the others")
      ->type_name("SIZES");
  add_external(app, options->external);
  add_rename(app, options->saving.rename);
  app.add_flag("--no-check", options->no_check, "do not run the parts beside the model");
  add_check_feeds(app, options->feeds);
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw split asr.onnx\n"
      "thaw split asr.onnx --at encoder_output -o parts\n"
      "thaw split decoder.onnx --parts 3 -o parts");
  return [options] { return split_model(*options); };
}

}  // namespace thaw::cli
