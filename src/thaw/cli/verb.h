// A verb of the command: one file in this folder, one line in main.cc. `thaw NAME --help` prints what it declares.
//
//   namespace {
//   struct ShowArguments {
//     std::string model;
//     Format format = Format::kText;
//   };
//   int show(const ShowArguments& arguments);  // does it and returns the exit code
//   }  // namespace
//
//   Action define_show(Options& options) {
//     auto arguments = std::make_shared<ShowArguments>();
//     options.use("Use it to …");                    // the second line of --help
//     add_model(options, arguments->model);
//     options.heading("Sizes");                      // of the options that follow
//     options.value("--sizes", arguments->sizes, "SPEC", "…");
//     add_format(options, arguments->format);
//     options.renamed("--dims", "--sizes");          // read until 0.4, with a warning
//     options.common({"--sizes"});                   // what -h shows
//     options.examples(…);                           // three calls
//     return [arguments] { return show(*arguments); };
//   }
//
// A verb parses its options, calls the library (include/thaw, verbs/) and prints what report/ makes of the result: it decides nothing.
// cli/shared_options.h has the options that several have, cli/output.h the ways out. Errors are thrown (thaw::Error, or
// anything): run_command turns them into one line and exit code 2.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace thaw::cli {

class Options;

// What a verb does once its options are parsed. Returns the exit code.
using Action = std::function<int()>;

// 0: fine. 1: findings, or a comparison that failed. 2: the input or the call is wrong.
enum ExitCode : int { kFine = 0, kFindings = 1, kWrong = 2 };

struct Verb {
  std::string_view group;              // heading in `thaw --help`
  std::string_view name;               // "inspect"
  std::string_view summary;            // one line, lower case, no full stop
  Action (*define)(Options& options);  // adds the verb's options; nothing is parsed yet
};

// Each stands in the file of its name.
Action define_inspect(Options& options);
Action define_inputs(Options& options);
Action define_diff(Options& options);
Action define_check(Options& options);
Action define_completion(Options& options);
Action define_mcp(Options& options);
Action define_rule(Options& options);
Action define_batch(Options& options);
Action define_fix(Options& options);
Action define_lift(Options& options);
Action define_optimize(Options& options);
Action define_convert(Options& options);
Action define_sensitivity(Options& options);
Action define_plan(Options& options);
Action define_pin(Options& options);
Action define_split(Options& options);
Action define_build(Options& options);
Action define_run(Options& options);
Action define_verify(Options& options);

// The verbs that run_command was given, in the order of `thaw --help`.
std::span<const Verb> all_verbs();

// The whole command: finds the verb, parses its options (and no other verb's), runs it, and turns every error into one
// line on stderr (and, with --format json, an object on stdout).
int run_command(std::span<const Verb> verbs, int argc, char** argv);

}  // namespace thaw::cli
