// The command around the verbs: finds the one that is called, parses its options, and deals with every error in one
// place.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "thaw/cli/confined_call.h"
#include "thaw/cli/help.h"
#include "thaw/cli/output.h"
#include "thaw/cli/overtime.h"
#include "thaw/cli/verb.h"
#include "thaw/cli/waiting_line.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/core/read_files.h"
#include "thaw/core/suggest.h"
#include "thaw/limits.h"
#include "thaw/report/fit.h"
#include "thaw/report/printable.h"
#include "thaw/report/style.h"
#include "thaw/report/table.h"
#include "thaw/verbs/worker.h"
#include "thaw/version.h"

namespace thaw::cli {
namespace {

std::span<const Verb> given_verbs;

using Arguments = std::span<char* const>;

// Whether the caller reads JSON; asked before the options are parsed, since parsing may be what fails.
bool wants_json(Arguments arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--format=json") return true;
    if (word == "--format" && i + 1 < arguments.size() && std::string_view(arguments[i + 1]) == "json") return true;
  }
  return false;
}

int fail(const Error& error, bool json) {
  WaitingLine::end();
  set_output_mode(OutputMode::kAsItIs);
  if (json) {
    try {
      write_output(to_json(error));
    } catch (const Error&) {  // stdout is what is broken; stderr says so below
    }
  }
  const std::string line = "thaw: " + report::printable(error.what()) + "\n";
  const report::Style style = report::Style::of(STDERR_FILENO);
  std::fputs(report::fit(report::dress_outcomes(line, style), report::columns_of(STDERR_FILENO)).c_str(), stderr);
  return kWrong;
}

// What other tools call what a verb does.
struct PeerName {
  std::string_view name, verbs;
};
constexpr PeerName kPeerNames[] = {
    {"quantize", "`thaw convert`"},
    {"quantise", "`thaw convert`"},
    {"calibrate", "`thaw convert --data`"},
    {"simplify", "`thaw optimize`"},
    {"slim", "`thaw optimize`"},
    {"fold", "`thaw optimize`"},
    {"extract", "`thaw split`"},
    {"cut", "`thaw split`"},
    {"surgeon", "`thaw split`, `thaw fix` or `thaw pin`"},
    {"sanitize", "`thaw fix`"},
    {"repair", "`thaw fix`"},
    {"export", "`thaw build`, of a checkpoint, or `thaw lift`, of static exports,"},
    {"shapes", "`thaw inspect`"},
    {"infer", "`thaw inspect`"},
    {"show", "`thaw inspect`"},
    {"info", "`thaw inspect`"},
    {"lint", "`thaw check`"},
    {"validate", "`thaw check`"},
    {"compare", "`thaw verify`, of numbers, or `thaw diff`, of graphs,"},
    {"test", "`thaw verify`"},
    {"make_dynamic", "`thaw fix` or `thaw lift`"},
    {"dynamic", "`thaw fix` or `thaw lift`"},
    {"static", "`thaw pin`"},
    {"freeze", "`thaw pin`"},
    {"generate", "`thaw inputs`, of inputs,"},
    {"preprocess", "`thaw inputs`"},
};

const Verb& find_verb(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Verb& verb : given_verbs) {
    if (verb.name == name) return verb;
    known.push_back(verb.name);
  }
  const auto peer = std::ranges::find(kPeerNames, name, &PeerName::name);
  if (peer != std::end(kPeerNames))
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("there is no verb '{}'", name),
                                              .where = {},
                                              .expected = {},
                                              .next = fmt::format("{} does that; see `thaw --help`", peer->verbs)});
  const bool option = name.starts_with("-");
  if (option) known = {"--help", "--version"};
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("unknown {} '{}'{}", option ? "option" : "verb", name, did_you_mean(name, known)),
               .where = {},
               .expected = {},
               .next = "see `thaw --help`"});
}

// How long each phase took, the longest first.
std::string phases_text() {
  std::vector<PhaseTime> times = phase_times();
  std::ranges::stable_sort(times, std::ranges::greater(), &PhaseTime::seconds);
  report::Table table(72);
  for (const PhaseTime& time : times)
    table.add({std::string(time.name), fmt::format("{:.3f} s", time.seconds),
               time.count > 1 ? fmt::format("{} times", time.count) : std::string()});
  return table.text(0);
}

void write_help(std::string_view text) {
  set_output_mode(OutputMode::kText);
  write_output(text);
}

int run_verb(const Verb& verb, int argc, char** argv) {
  Action action;
  CommonOptions common;
  const std::unique_ptr<Options> options = declared(verb, &action, &common);
  const Options::Parsed parsed = options->parse(argc, argv);
  if (parsed != Options::Parsed::kRun) {
    write_help(parsed == Options::Parsed::kHelp ? help_of(verb, *options) : short_help_of(verb, *options));
    return kFine;
  }
  require_paths_inside(*options);
  const std::vector<std::string> format = options->words("--format");
  if (verb.name != "completion" && (format.empty() || format.back() == "text"))
    set_output_mode(common.quiet ? OutputMode::kQuiet : OutputMode::kText);
  report::Style::choose(common.color);
  int code = kWrong;
  {
    const WaitingLine waiting(!common.quiet);
    const Overtime overtime(!format.empty() && format.back() == "json");
    code = action();
  }
  end_output(code);
  if (common.verbose) std::fputs(phases_text().c_str(), stderr);
  return code;
}

int dispatch(int argc, char** argv) {
  if (const int taken = take_confinement(argc, argv); taken > 0) return dispatch(argc - taken, argv + taken);
  if (argc < 2) {
    std::fputs(help_of_command(given_verbs).c_str(), stderr);
    return kWrong;
  }
  const std::string_view first = argv[1];
  if (first == "--version") {
    const bool verbose = argc > 2 && (argv[2] == std::string_view("--verbose") || argv[2] == std::string_view("-v"));
    write_output(fmt::format("thaw {}\n{}", kVersion, verbose ? verbs::sandbox_text() : ""));
    return kFine;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    if (argc < 3) {
      write_help(help_of_command(given_verbs));
    } else {
      const Verb& verb = find_verb(argv[2]);
      write_help(help_of(verb, *declared(verb)));
    }
    return kFine;
  }
  return run_verb(find_verb(first), argc - 1, argv + 1);
}

}  // namespace

std::span<const Verb> all_verbs() { return given_verbs; }

int run_command(std::span<const Verb> verbs, int argc, char** argv) {
  given_verbs = verbs;
  const ReadFiles reading;
  const CallClock clock;
  const bool json = wants_json(Arguments(argv, static_cast<size_t>(argc)));
  try {
    return dispatch(argc, argv);
  } catch (const Error& error) {
    return fail(error, json);
  } catch (const std::bad_alloc&) {
    const uint64_t most = limits().max_memory;
    const double megabytes = static_cast<double>(most) / (1 << 20);
    return fail(Error(ErrorCode::kOutOfBudget,
                      {.what = most == 0 ? std::string("out of memory")
                                         : fmt::format("the call needs more than --max-memory {:.4g} MiB", megabytes),
                       .next = most == 0 ? "give the process more memory" : "allow more with --max-memory"}),
                json);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(Error(ErrorCode::kCannotRead, {.what = error.code().message(),
                                               .where = error.path1().string(),
                                               .expected = "a path that can be used",
                                               .next = "check the path and its permissions"}),
                json);
  } catch (const std::exception& error) {
    return fail(
        Error(ErrorCode::kInternal, {.what = fmt::format("internal error: {}", error.what()),
                                     .next = "this is a bug in thaw: please report it with the command and the model"}),
        json);
  }
}

}  // namespace thaw::cli
