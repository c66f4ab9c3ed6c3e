#include "thaw/run/providers.h"

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/run/provider_access.h"
#include "thaw/verbs/texts.h"

namespace thaw::run {
namespace {

TEST(Providers, AWordStandsForEverySpelling) {
  for (const char* name : {"CUDAExecutionProvider", "cuda", "Cuda"}) EXPECT_EQ(provider_word(name), "cuda");
  for (const char* name : {"NvTensorRTRTXExecutionProvider", "nv-tensorrt-rtx", "nv_tensorrt_rtx"})
    EXPECT_EQ(provider_word(name), "nvtensorrtrtx");
  EXPECT_EQ(short_provider("OpenVINOExecutionProvider"), "OpenVINO");
  EXPECT_EQ(short_provider("mine"), "mine");
}

TEST(Providers, KnownOnesStandThereOnceUnderTheirWord) {
  for (const KnownProvider& one : known_providers()) {
    EXPECT_EQ(provider_word(one.name), one.word);
    EXPECT_EQ(find_known_provider(one.word), &one);
  }
  EXPECT_EQ(find_known_provider("cudda"), nullptr);
}

TEST(Providers, TheCpuIsTheLastAndGoesWithoutSaying) {
  EXPECT_TRUE(with_settled_providers({.providers = {{"cpu"}}}).providers.empty());
  const SessionOptions two = with_settled_providers({.providers = {{"tensorrt"}, {"cuda"}, {"CPUExecutionProvider"}}});
  ASSERT_EQ(two.providers.size(), 2U);
  EXPECT_EQ(two.providers[1].name, "cuda");
  for (const std::vector<Provider>& wrong :
       {std::vector<Provider>{{"cpu"}, {"cuda"}}, {{"cuda"}, {"CUDA"}}, {{""}}, {{"cpu", {{"a", "1"}}}}})
    EXPECT_THROW(static_cast<void>(with_settled_providers({.providers = wrong})), Error);
}

TEST(Providers, ThoseOfTheProcessAreTakenWhereASessionNamesNone) {
  set_providers({{"cuda", {{"device_id", "1"}}}});
  EXPECT_EQ(describe(with_settled_providers({}).providers), "cuda:device_id=1");
  EXPECT_TRUE(with_settled_providers({.providers = {{"cpu"}}}).providers.empty());
  EXPECT_THROW(set_providers({{"cuda"}, {"cuda"}}), Error);
  EXPECT_EQ(process_providers().size(), 1U);
  set_providers({});
  EXPECT_TRUE(with_settled_providers({}).providers.empty());
}

TEST(Providers, TextsHaveOptionsWithCommasInTheirValues) {
  const Provider one = verbs::parse_provider("tensorrt:trt_profile_min_shapes=x:1x4,y:2x4,device_id=1");
  EXPECT_EQ(one.name, "tensorrt");
  EXPECT_EQ(one.options,
            (std::map<std::string, std::string>{{"device_id", "1"}, {"trt_profile_min_shapes", "x:1x4,y:2x4"}}));
  EXPECT_TRUE(verbs::parse_provider("cuda").options.empty());
  for (const char* wrong : {"", ":a=1", "cuda:", "cuda:a", "cuda:=1", "cuda:a=1,a=2"})
    EXPECT_THROW(static_cast<void>(verbs::parse_provider(wrong)), Error) << wrong;
}

TEST(ProviderAccess, IsWhatTheProvidersAndTheirOptionsName) {
  const ProviderAccess access = access_of(std::vector<Provider>{
      {"openvino", {{"cache_dir", "/tmp"}, {"device_type", "CPU"}, {"library", "/lib/a.so"}, {"config", "/dev/null"}}},
      {"cuda", {{"file", "/no/such/file"}}}});
  EXPECT_EQ(access.words, (std::vector<std::string>{"cuda", "openvino"}));
  EXPECT_EQ(access.folders, std::vector<std::filesystem::path>{"/tmp"});
  EXPECT_EQ(access.files, std::vector<std::filesystem::path>{"/dev/null"});
  EXPECT_EQ(access.libraries, std::vector<std::filesystem::path>{"/lib/a.so"});
  std::vector<std::string> arguments = to_arguments(access);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  EXPECT_EQ(access_in(words), access);
  EXPECT_TRUE(is_kept_for(access, "CUDA_VISIBLE_DEVICES"));
  EXPECT_FALSE(is_kept_for(access, "AWS_SECRET_ACCESS_KEY"));
}

TEST(ProviderAccess, IsNothingWithTheCpuAlone) {
  const ProviderAccess access = access_of({});
  EXPECT_TRUE(to_arguments(access).empty());
  const OpenPaths paths = paths_of(access, {});
  EXPECT_TRUE(paths.read.empty() && paths.read_and_write.empty() && paths.made_in.empty());
  EXPECT_FALSE(is_kept_for(access, "CUDA_VISIBLE_DEVICES"));
}

}  // namespace
}  // namespace thaw::run
