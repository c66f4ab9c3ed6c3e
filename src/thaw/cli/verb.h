// A verb of the command: one file in this folder, one line in main.cc. `thaw NAME --help` prints what it declares.
//
//   namespace {
//   struct Options {
//     std::string model;
//     Format format = Format::kText;
//   };
//   int show(const Options& options);  // does it and returns the exit code
//   }  // namespace
//
//   Action define_show(CLI::App& app) {
//     auto options = std::make_shared<Options>();
//     add_model(app, options->model);
//     add_format(app, options->format);
//     app.footer("thaw show model.onnx");            // the example, shown by --help
//     return [options] { return show(*options); };
//   }
//
// cli/options.h has the options that verbs share, cli/output.h the ways out. Errors are thrown (thaw::Error, or
// anything): run_command turns them into one line and exit code 2.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace thaw::cli {

// What a verb does once its options are parsed. Returns the exit code.
using Action = std::function<int()>;

// 0: fine. 1: findings, or a comparison that failed. 2: the input or the call is wrong.
enum ExitCode : int { kFine = 0, kFindings = 1, kWrong = 2 };

struct Verb {
  std::string_view group;           // heading in `thaw --help`
  std::string_view name;            // "inspect"
  std::string_view summary;         // one line, lower case, no full stop
  Action (*define)(CLI::App& app);  // adds the verb's options; nothing is parsed yet
};

// Each stands in the file of its name.
Action define_inspect(CLI::App& app);
Action define_inputs(CLI::App& app);
Action define_diff(CLI::App& app);
Action define_check(CLI::App& app);
Action define_completion(CLI::App& app);
Action define_rule(CLI::App& app);
Action define_batch(CLI::App& app);
Action define_fix(CLI::App& app);
Action define_lift(CLI::App& app);
Action define_optimize(CLI::App& app);
Action define_convert(CLI::App& app);
Action define_sensitivity(CLI::App& app);
Action define_plan(CLI::App& app);
Action define_pin(CLI::App& app);
Action define_split(CLI::App& app);
Action define_build(CLI::App& app);
Action define_run(CLI::App& app);
Action define_verify(CLI::App& app);

// The verbs that run_command was given, in the order of `thaw --help`.
std::span<const Verb> all_verbs();

// The whole command: finds the verb, parses its options (and no other verb's), runs it, and turns every error into one
// line on stderr (and, with --format json, an object on stdout).
int run_command(std::span<const Verb> verbs, int argc, char** argv);

}  // namespace thaw::cli
