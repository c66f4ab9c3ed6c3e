// thaw rule: what a rule of `check` means, without a network or the docs at hand.
#include <algorithm>
#include <memory>

#include "thaw/check.h"
#include "thaw/cli/output.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/verb.h"
#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/core/suggest.h"

namespace thaw::cli {
namespace {

struct RuleArguments {
  std::string code;
  Format format = Format::kText;
};

const RuleInfo& find_rule(const std::vector<RuleInfo>& all, const std::string& given) {
  std::string code = given;
  for (char& c : code) c = ascii::to_upper(c);
  if (!code.starts_with("THAW")) code = "THAW" + code;
  const auto at = std::ranges::find(all, code, &RuleInfo::code);
  if (at != all.end()) return *at;
  std::vector<std::string_view> known;
  for (const RuleInfo& each : all) known.push_back(each.code);
  throw Error(ErrorCode::kInvalidArgument, {.what = "there is no rule '" + given + "'" + did_you_mean(given, known),
                                            .where = "thaw rule",
                                            .expected = "a code such as THAW003",
                                            .next = "`thaw rule` lists them"});
}

int explain_rule(const RuleArguments& arguments) {
  const std::vector<RuleInfo> all = rules();
  if (arguments.code.empty())
    print(std::span<const RuleInfo>(all), arguments.format);
  else
    print(find_rule(all, arguments.code), arguments.format);
  return kFine;
}

}  // namespace

Action define_rule(Options& options) {
  auto arguments = std::make_shared<RuleArguments>();
  options.use("Use it for a code that check printed: what it means, why it matters and how to fix it.");
  options.argument("CODE", arguments->code, "CODE", "the rule, such as THAW003 (all)", false);
  add_format(options, arguments->format);
  options.common({"--format"});
  options.examples(
      "thaw rule THAW003\n"
      "thaw rule\n"
      "thaw rule --format json");
  return [arguments] { return explain_rule(*arguments); };
}

}  // namespace thaw::cli
