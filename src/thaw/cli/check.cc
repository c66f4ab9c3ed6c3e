// thaw check: what is wrong with a model's sizes, types and declarations, where it comes from and what mends it.
#include "thaw/check/check.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "thaw/cli/check_config.h"
#include "thaw/cli/check_page.h"
#include "thaw/cli/error_json.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/confirm/breaking_sizes.h"
#include "thaw/core/error.h"
#include "thaw/ir/wire/foreign_file.h"
#include "thaw/ops/target/target.h"
#include "thaw/report/findings.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

struct CheckArguments {
  std::vector<std::string> models;
  std::string report;
  CheckOptions check;
  RunOptions run;
  bool all = false, exit_zero = false;
  Format format = Format::kText;
};

ExitCode code_of(const CheckedFile& file) {
  if (file.error) return kWrong;
  return !file.exit_zero && report::worth_failing(report::count(file.report.findings)) ? kFindings : kFine;
}

constexpr size_t kMostPerRule = 8;  // in text, unless --all

// Files as they are named, and every .onnx file below a folder, by name.
std::vector<std::string> files_of(const std::vector<std::string>& named) {
  std::vector<std::string> files;
  for (const std::string& path : named) {
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.path().extension() == ".onnx" && entry.is_regular_file(failed)) found.push_back(entry.path().string());
    if (found.empty()) throw Error(ErrorCode::kCannotRead, ir::folder_instead_of_model(path));
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

std::string proof_text(const SizeProof& proof) {
  if (proof.statements == 0) return "proof: every statement that the nodes make about sizes follows from the ranges\n";
  return fmt::format("proof: {} statements about sizes, {} proven, {} broken, {} open\n", proof.statements,
                     proof.proven, proof.broken, proof.open);
}

void check_file(CheckedFile& file, const CheckArguments& options, const CheckConfig& config, bool is_only) {
  CheckOptions how = options.check;
  if (how.only.empty()) how.only = config.select.value_or(std::vector<std::string>());
  if (how.ignore.empty()) how.ignore = config.ignore.value_or(std::vector<std::string>());
  // Of many models each gives its memory back before the next is read.
  std::unique_ptr<ir::Model> model = ir::load(file.path);
  file.report = checking::check(*model, how);
  if (options.check.run) {
    std::vector<std::filesystem::path> archives;
    confirm::run_at_breaking_sizes(*model, file.report.findings, checking::parse_dims(how.dims),
                                   options.run.feeds(archives));
  }
  if (!options.report.empty()) file.modules = modules_of(*model, file.report.findings);
  if (is_only) until_exit(std::move(model));
}

void write_checked(report::JsonWriter& json, const CheckedFile& file, bool proof) {
  json.member("model", file.path);
  if (file.error) return write_error(json, *file.error);
  report::write_findings(json, file.report.findings);
  if (!proof) return;
  json.member_object("proof");
  json.member("statements", file.report.proof.statements);
  json.member("proven", file.report.proof.proven);
  json.member("broken", file.report.proof.broken);
  json.member("open", file.report.proof.open);
  json.end_object();
}

std::string check_json(const std::vector<CheckedFile>& files, bool proof) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  if (files.size() == 1) {
    write_checked(json, files.front(), proof);
  } else {
    json.member_array("models");
    for (const CheckedFile& file : files) {
      json.begin_object();
      write_checked(json, file, proof);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  return text + "\n";
}

std::string check_sarif(std::vector<CheckedFile>& files) {
  std::vector<report::CheckedModel> models;
  for (CheckedFile& file : files) models.push_back({file.path, std::move(file.report.findings)});
  return report::findings_sarif(models);
}

std::string check_text(const std::vector<CheckedFile>& files, bool proof, bool all) {
  std::string text;
  size_t failed = 0;
  for (const CheckedFile& file : files) {
    failed += code_of(file) == kFine ? 0 : 1;
    if (file.error) continue;
    text += (text.empty() ? "" : "\n") + report::findings_text(file.path, file.report.findings,
                                                               report::Style::of(STDOUT_FILENO),
                                                               all ? std::numeric_limits<size_t>::max() : kMostPerRule);
    if (proof) text += proof_text(file.report.proof);
  }
  if (files.size() > 1) text += fmt::format("\n{} models, {} with findings that count\n", files.size(), failed);
  return text;
}

int check_models(const CheckArguments& options) {
  if (options.check.run && options.check.dims.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                {"there are no sizes to run at", "--run", "--dims too, such as --dims n=1..8,h=64..1024:32", ""});
  }
  std::vector<CheckedFile> files;
  const std::vector<std::string> paths = files_of(options.models);
  ReportFile page(options.report, paths);
  for (const std::string& path : paths) {
    CheckedFile& file = files.emplace_back();
    file.path = path;
    const CheckConfig config = config_for(path);
    file.exit_zero = options.exit_zero || config.exit_zero.value_or(false);
    if (paths.size() == 1) {
      check_file(file, options, config, /*is_only=*/true);
      continue;
    }
    try {
      check_file(file, options, config, /*is_only=*/false);
    } catch (const Error& error) {  // the others are checked all the same
      file.error = error;
      std::fputs(("thaw: " + report::printable(error.what()) + "\n").c_str(), stderr);
    }
  }
  int code = kFine;
  for (const CheckedFile& file : files) code = std::max<int>(code, code_of(file));
  const bool proof = !options.check.dims.empty();
  page.write(options.report.empty() ? std::string() : check_json(files, proof), [&] { return check_page(files); });
  switch (options.format) {
    case Format::kJson:
      write_output(check_json(files, proof));
      break;
    case Format::kSarif:
      write_output(check_sarif(files));
      break;
    case Format::kText:
      write_output(check_text(files, proof, options.all));
      break;
  }
  return code;
}

}  // namespace

Action define_check(CLI::App& app) {
  auto options = std::make_shared<CheckArguments>();
  app.add_option("MODEL", options->models, "ONNX files, or folders with some")->required()->type_name("FILE");
  app.add_option("--dims", options->check.dims, "prove the model over these sizes, or show the smallest that breaks it")
      ->type_name("RANGES");
  std::vector<std::pair<std::string_view, std::string>> targets;
  for (const ops::Target& target : ops::targets()) targets.emplace_back(target.name, target.name);
  add_choice(app, "--target", options->check.target, std::move(targets),
             "look for what this backend does not take too");
  app.add_flag("--run", options->check.run, "run the model at the sizes that break it, and say what came of it");
  add_texts(app, "--values", options->run.values, "NAME=1,22,30", "with --run: the elements of a small input");
  add_list(app, "--select,--rule", options->check.only, "CODE",
           "look for these rules only, or for those that begin so: THAW01");
  add_list(app, "--ignore", options->check.ignore, "CODE", "leave these rules out, or those that begin so");
  app.add_flag("--exit-zero", options->exit_zero, "exit with 0 also where there are errors or warnings");
  app.add_flag("--all", options->all, "print every finding, not the first few of each rule");
  add_report(app, options->report);
  add_limits(app);
  add_format(app, options->format, true);
  app.footer(
      "thaw check detector.onnx\n"
      "thaw check detector.onnx --dims 'batch=1..32,height=64..1024:32,width=64..1024:32'\n"
      "thaw check tower.onnx --target directml\n"
      "thaw check models/ --select THAW00,THAW01 --exit-zero\n"
      "thaw check tower.onnx --format sarif --ignore THAW004");
  return [options] { return check_models(*options); };
}

}  // namespace thaw::cli
