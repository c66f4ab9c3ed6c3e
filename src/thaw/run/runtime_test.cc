#include "thaw/run/runtime.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "thaw/core/temp_folder_testing.h"
#include "thaw/run/python.h"

namespace thaw::run {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// Named while it lives.
class Named {
 public:
  explicit Named(const fs::path& path) { set_runtime(path); }
  Named(const Named&) = delete;
  Named& operator=(const Named&) = delete;
  ~Named() { set_runtime({}); }
};

RC_GTEST_PROP(Runtime, TheNewestOfAFolderComesFirst, ()) {
  using Numbers = std::array<int, 3>;
  const auto made = *rc::gen::container<std::vector<Numbers>>(
      rc::gen::apply([](int a, int b, int c) { return Numbers{a, b, c}; }, rc::gen::inRange(0, 3),
                     rc::gen::inRange(0, 130), rc::gen::inRange(0, 30)));
  RC_PRE(!made.empty());
  const TempFolder folder;
  for (const Numbers& n : made) folder.write(fmt::format("libonnxruntime.so.{}.{}.{}", n[0], n[1], n[2]), "");
  std::vector<Numbers> wanted = made;
  std::ranges::sort(wanted, std::greater());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  std::vector<fs::path> paths;
  for (const Numbers& n : wanted) paths.push_back(folder / fmt::format("libonnxruntime.so.{}.{}.{}", n[0], n[1], n[2]));
  const Named named(folder.path());
  RC_ASSERT(runtime_candidates() == paths);
}

TEST(Runtime, LinksAreTheirFileAndOtherNamesNone) {
  const TempFolder folder;
  folder.write("libonnxruntime.so.1.31.1", "");
  for (const char* name : {"libonnxruntime_providers_shared.so", "libonnxruntime.so.1.99.0.txt", "libonnxruntime.sox",
                           "onnxruntime.so.1.40.0"})
    folder.write(name, "");
  fs::create_symlink("libonnxruntime.so.1.31.1", folder / "libonnxruntime.so.1");
  fs::create_symlink("libonnxruntime.so.1", folder / "libonnxruntime.so");
  const Named named(folder.path());
  EXPECT_THAT(runtime_candidates(), ElementsAre(folder / "libonnxruntime.so.1"));
}

TEST(Runtime, AFolderThatHoldsNoneIsNamedWithTheName) {
  const TempFolder folder;
  const Named named(folder.path());
  EXPECT_THAT(runtime_candidates(), ElementsAre(folder / "libonnxruntime.so.1"));
}

TEST(Runtime, ItIsNamedInAnEnvironmentOnce) {
  std::vector<std::string> variables{"A=b", "THAW_ONNXRUNTIME=/old", "THAW_ONNXRUNTIME_GENAI=/genai"};
  name_runtime_in(variables, "/new");
  EXPECT_THAT(variables, ElementsAre("A=b", "THAW_ONNXRUNTIME_GENAI=/genai", "THAW_ONNXRUNTIME=/new"));
}

TEST(Python, IsThatOfTheSitePackagesOrBeside) {
  const TempFolder folder;
  const auto make = [&](const char* name) {
    fs::create_directories((folder / name).parent_path());
    const fs::path path = folder.write(name, "");
    fs::permissions(path, fs::perms::owner_all);
    return path;
  };
  const fs::path site = folder / "lib/python3.12/site-packages";
  EXPECT_EQ(site_of(site / "onnx_thaw/lib/thaw/thaw-worker"), site);
  EXPECT_EQ(site_of(site / "other/bin/thaw"), std::nullopt);
  EXPECT_EQ(site_of({}), std::nullopt);
  EXPECT_THAT(pythons_of(site / "onnx_thaw/bin/thaw"), IsEmpty());
  const fs::path plain = make("bin/python3");
  make("bin/python3.13");
  EXPECT_THAT(pythons_of(site / "onnx_thaw/bin/thaw"), ElementsAre(plain));
  const fs::path exact = make("bin/python3.12");
  EXPECT_THAT(pythons_of(site / "onnx_thaw/bin/thaw"), ElementsAre(exact));
  EXPECT_THAT(pythons_of(folder / "bin/thaw"), ElementsAre(plain));
  // A folder that is no environment's.
  EXPECT_THAT(pythons_of(folder / "a/b/target/onnx_thaw/bin/thaw"), IsEmpty());
}

}  // namespace
}  // namespace thaw::run
