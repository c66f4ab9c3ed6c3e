#include "thaw/cli/fitting_options.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/quant/precisions.h"

namespace thaw::cli {
namespace {

constexpr std::array<std::string_view, 6> kOfBlocks = {"--method",     "--block",          "--symmetric",
                                                       "--real-zeros", "--accuracy-level", "--form"};
constexpr std::array<std::string_view, 5> kOfInt8 = {"--dynamic", "--per-tensor", "--asymmetric-weights",
                                                     "--unsigned-weights", "--reduced-range"};
constexpr std::array<std::string_view, 8> kOfRanges = {
    "--range",  "--percentile", "--symmetric-activations", "--signed-activations",
    "--smooth", "--equalize",   "--activation-products",   "--correct-bias"};
constexpr std::array<std::string_view, 1> kOfHalf = {"--io"};

std::string_view given_of(const CLI::App& app, std::span<const std::string_view> names) {
  const auto at = std::ranges::find_if(names, [&](std::string_view name) { return app.count(std::string(name)) > 0; });
  return at == names.end() ? std::string_view() : *at;
}

void refuse(const CLI::App& app, std::span<const std::string_view> names, std::string_view what, std::string_view of) {
  const std::string_view given = given_of(app, names);
  if (given.empty()) return;
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("{} says nothing of {}", given, what),
                                            .where = std::string(given),
                                            .expected = fmt::format("{}", of),
                                            .next = "leave it out"});
}

}  // namespace

void require_fitting(const CLI::App& app, const PrecisionOptions& precision) {
  using quantizing::is_blocks, quantizing::is_half, quantizing::is_int8;
  if (precision.to == NumberFormat::kKeep) return;
  const std::string what = fmt::format("--to {}", quantizing::name_of(precision.to));
  if (!is_blocks(precision.to)) refuse(app, kOfBlocks, what, "it with --to int4, int3, int2 or int8-blocks");
  if (!is_half(precision.to)) refuse(app, kOfHalf, what, "it with --to f16 or bf16");
  if (!is_int8(precision.to)) refuse(app, kOfInt8, what, "it with --to int8");
  if (!is_int8(precision.to)) refuse(app, kOfRanges, what, "it with --to int8 and --data");
  if (is_int8(precision.to) && precision.int8.dynamic)
    refuse(app, kOfRanges, "--dynamic, which measures activations at each run", "it with --to int8 and --data");
}

}  // namespace thaw::cli
