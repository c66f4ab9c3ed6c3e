#include "thaw/cli/confined_call.h"

#include <charconv>
#include <csignal>
#include <string_view>

#include <sys/prctl.h>

#include "thaw/core/error.h"

namespace thaw::cli {
namespace {

constexpr std::string_view kRead = "--confined-to=read", kWrite = "--confined-to=write";

}  // namespace

std::vector<std::string> confined_words(const Confinement& confinement) {
  std::vector<std::string> words{std::string(confinement.may_write ? kWrite : kRead),
                                 std::to_string(confinement.folders.size())};
  for (const std::filesystem::path& folder : confinement.folders) words.push_back(folder.string());
  return words;
}

int take_confinement(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (is_confined() || (first != kRead && first != kWrite)) return 0;
  const std::string_view count = argc > 2 ? argv[2] : "";
  int folders = 0;
  const auto [end, failed] = std::from_chars(count.data(), count.data() + count.size(), folders);
  // A verb must follow.
  if (failed != std::errc() || end != count.data() + count.size() || folders < 1 || folders > argc - 4)
    throw Error(ErrorCode::kInvalidArgument, {.what = "does not say to which folders",
                                              .where = std::string(first),
                                              .expected = "how many, the folders and a verb"});
  Confinement confinement{.folders = {argv + 3, argv + 3 + folders}, .may_write = first == kWrite};
  confine(confinement);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody is there to read it once the server has ended
  return 2 + folders;
}

void require_paths_inside(const Options& options) {
  if (!is_confined()) return;
  for (const OptionInfo& option : options.all()) {
    if (!option.path_in("")) continue;
    const std::string name = option.position.empty() ? "--" + option.long_names.front() : option.position;
    for (const std::string& word : options.words(name)) {
      const std::string path = *option.path_in(word);
      require_inside(path);
      if (option.writes) require_may_write(path);
    }
  }
}

}  // namespace thaw::cli
