// thaw check: what is wrong with a model's sizes, types and declarations, where it comes from and what mends it.
#include "thaw/check/check.h"

#include <filesystem>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/run_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/confirm/breaking_sizes.h"
#include "thaw/core/error.h"
#include "thaw/ops/target/target.h"
#include "thaw/report/findings.h"

namespace thaw::cli {
namespace {

struct CheckArguments {
  std::string model;
  CheckOptions check;
  RunOptions run;
  bool all = false;
  Format format = Format::kText;
};

constexpr size_t kMostPerRule = 8;  // in text, unless --all

std::string proof_text(const SizeProof& proof) {
  if (proof.statements == 0) return "proof: every statement that the nodes make about sizes follows from the ranges\n";
  return fmt::format("proof: {} statements about sizes, {} proven, {} broken, {} open\n", proof.statements,
                     proof.proven, proof.broken, proof.open);
}

int check_model(const CheckArguments& options) {
  if (options.check.run && options.check.dims.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                {"there are no sizes to run at", "--run", "--dims too, such as --dims n=1..8,h=64..1024:32", ""});
  }
  ir::Model& model = *until_exit(ir::load(options.model));
  CheckReport report = checking::check(model, options.check);
  const bool proof = !options.check.dims.empty();
  if (options.check.run) {
    std::vector<std::filesystem::path> archives;
    confirm::run_at_breaking_sizes(model, report.findings, checking::parse_dims(options.check.dims),
                                   options.run.feeds(archives));
  }
  const auto& findings = report.findings;
  switch (options.format) {
    case Format::kJson: {
      std::string text;
      report::JsonWriter json(text);
      json.begin_object();
      json.member("model", options.model);
      report::write_findings(json, findings);
      if (proof) {
        json.member_object("proof");
        json.member("statements", report.proof.statements);
        json.member("proven", report.proof.proven);
        json.member("broken", report.proof.broken);
        json.member("open", report.proof.open);
        json.end_object();
      }
      json.end_object();
      write_output(text + "\n");
      break;
    }
    case Format::kSarif:
      write_output(report::findings_sarif(options.model, findings));
      break;
    case Format::kText: {
      std::string text = report::findings_text(options.model, findings, report::Style::of(STDOUT_FILENO),
                                               options.all ? std::numeric_limits<size_t>::max() : kMostPerRule);
      if (proof) text += proof_text(report.proof);
      write_output(text);
      break;
    }
  }
  return report::worth_failing(report::count(findings)) ? kFindings : kFine;
}

}  // namespace

Action define_check(CLI::App& app) {
  auto options = std::make_shared<CheckArguments>();
  add_model(app, options->model);
  app.add_option("--dims", options->check.dims, "prove the model over these sizes, or show the smallest that breaks it")
      ->type_name("RANGES");
  std::vector<std::pair<std::string_view, std::string>> targets;
  for (const ops::Target& target : ops::targets()) targets.emplace_back(target.name, target.name);
  add_choice(app, "--target", options->check.target, std::move(targets),
             "look for what this backend does not take too");
  app.add_flag("--run", options->check.run, "run the model at the sizes that break it, and say what came of it");
  add_texts(app, "--values", options->run.values, "NAME=1,22,30", "with --run: the elements of a small input");
  add_list(app, "--rule", options->check.only, "CODE", "look for these rules only");
  add_list(app, "--ignore", options->check.ignore, "CODE", "leave these rules out");
  app.add_flag("--all", options->all, "print every finding, not the first few of each rule");
  add_limits(app);
  add_format(app, options->format, true);
  app.footer(
      "thaw check detector.onnx\n"
      "thaw check detector.onnx --dims 'batch=1..32,height=64..1024:32,width=64..1024:32'\n"
      "thaw check tower.onnx --target directml\n"
      "thaw check tower.onnx --format sarif --ignore THAW004");
  return [options] { return check_model(*options); };
}

}  // namespace thaw::cli
