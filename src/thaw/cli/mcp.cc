// thaw mcp: the verbs as tools of a Model Context Protocol server.
#include <cstdio>
#include <filesystem>
#include <memory>

#include <unistd.h>

#include "thaw/cli/mcp_server.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/verb.h"
#include "thaw/core/confined.h"
#include "thaw/core/error.h"

namespace thaw::cli {
namespace {

struct McpArguments {
  std::vector<std::string> roots;
  bool write = false;
  double timeout = 600;
};

int serve(const McpArguments& arguments) {
  McpOptions how{.confinement = {.folders = {}, .may_write = arguments.write}, .timeout = arguments.timeout};
  for (const std::string& root : arguments.roots) how.confinement.folders.push_back(real_folder(root));
  if (how.confinement.folders.empty()) how.confinement.folders.push_back(real_folder("."));
  std::error_code failed;
  std::filesystem::current_path(how.confinement.folders.front(), failed);
  if (failed)
    throw Error(ErrorCode::kCannotRead, {.what = "cannot be the working folder: " + failed.message(),
                                         .where = how.confinement.folders.front().string(),
                                         .expected = "a folder that can be entered",
                                         .next = "check its permissions"});
  if (::isatty(STDIN_FILENO) != 0)
    std::fputs("thaw mcp: waits for the messages of an MCP client; the end of the input (Ctrl-D) ends it\n", stderr);
  set_output_mode(OutputMode::kAsItIs);
  serve_mcp(how);
  return kFine;
}

}  // namespace

Action define_mcp(Options& options) {
  auto arguments = std::make_shared<McpArguments>();
  options.use("Use it in the configuration of an assistant or an editor: it speaks MCP on stdin and stdout.");
  options.heading("Access");
  options.texts("--root", arguments->roots, "FOLDER",
                "a folder whose files calls may use; relative paths begin in the first (the working folder)");
  options.flag("--write", arguments->write, "allow calls to write, in these folders");
  options.heading("Limits");
  options.value("--timeout", arguments->timeout, "SECONDS", "end a call after this long; 0: never (600)",
                Bounds{0, 1e9});
  options.common({"--root", "--write", "--timeout"});
  options.examples(
      "thaw mcp\n"
      "thaw mcp --root models --root data\n"
      "thaw mcp --root models --write --timeout 3600");
  return [arguments] { return serve(*arguments); };
}

}  // namespace thaw::cli
