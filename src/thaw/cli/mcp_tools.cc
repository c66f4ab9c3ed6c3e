#include "thaw/cli/mcp_tools.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "thaw/cli/help.h"
#include "thaw/cli/options.h"
#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/core/suggest.h"

namespace thaw::cli {
namespace {

using Json = nlohmann::json;
using report::JsonWriter;

constexpr std::string_view kDryRun = "dry-run", kFormat = "format";
// What the server decides: the form of what is printed, that models of strangers run in the sandbox, and which libraries run them.
constexpr std::array kOfServer = {kFormat, std::string_view("no-sandbox"), std::string_view("onnxruntime"),
                                  std::string_view("provider"), std::string_view("against-provider")};
constexpr double kMostExact = 0x1p53;  // larger bounds say nothing

// The argument of the tool that stands for the option.
std::string argument_name(const OptionInfo& option) {
  if (option.position.empty()) return option.long_names.empty() ? std::string() : option.long_names.front();
  return ascii::to_lower(option.position);
}

// What a server that writes nothing withholds, or has decided.
bool is_about_writing(const OptionInfo& option) { return option.writes || argument_name(option) == kDryRun; }

bool has_option(const std::vector<OptionInfo>& options, std::string_view name) {
  return std::ranges::find(options, name, argument_name) != options.end();
}

// Those that a caller of the tool may give.
std::vector<OptionInfo> arguments_of(const Options& options, bool may_write) {
  std::vector<OptionInfo> all = options.all();
  std::erase_if(all, [&](const OptionInfo& option) {
    const std::string name = argument_name(option);
    const bool is_common = option.position.empty() && option.heading == kGeneral;
    return is_common || std::ranges::find(kOfServer, name) != kOfServer.end() ||
           (!may_write && is_about_writing(option));
  });
  return all;
}

void write_bound(JsonWriter& json, std::string_view name, double bound, bool is_whole) {
  if (std::abs(bound) > kMostExact) return;
  if (is_whole)
    json.member(name, static_cast<int64_t>(bound));
  else
    json.member(name, bound);
}

// The schema of one value: the members of an object that the caller has begun.
void write_value_schema(JsonWriter& json, const OptionInfo& option) {
  if (!option.takes_value()) return json.member("type", "boolean");
  switch (option.kind) {
    case ValueKind::kWhole:
    case ValueKind::kNumber: {
      const bool is_whole = option.kind == ValueKind::kWhole;
      json.member("type", is_whole ? "integer" : "number");
      if (!option.bounds) return;
      write_bound(json, "minimum", option.bounds->least, is_whole);
      write_bound(json, "maximum", option.bounds->most, is_whole);
      return;
    }
    case ValueKind::kBytes:
      json.member_array("type");
      json.value("integer");
      json.value("string");
      json.end_array();
      break;
    case ValueKind::kText:
      json.member("type", "string");
      break;
  }
  json.member("minLength", 1);
  const std::vector<std::string> choices = option.choices();
  if (choices.empty()) return;
  json.member_array("enum");
  for (const std::string& word : choices) json.value(word);
  json.end_array();
}

void write_argument_schema(JsonWriter& json, const OptionInfo& option) {
  const bool is_text = option.takes_value() && option.choices().empty() && !option.bounds;
  json.member("description", is_text ? fmt::format("{}: {}", option.type, option.help) : option.help);
  const int lists = option.several == Several::kNo ? 0 : option.several == Several::kGroups ? 2 : 1;
  for (int i = 0; i < lists; ++i) {
    json.member("type", "array");
    if (i > 0 || option.is_required) json.member("minItems", 1);
    json.member_object("items");
  }
  write_value_schema(json, option);
  for (int i = 0; i < lists; ++i) json.end_object();
}

std::string description_of(const Verb& verb, const Options& options, bool may_write) {
  std::string summary(verb.summary);
  summary.front() = ascii::to_upper(summary.front());
  const bool is_dry = !may_write && has_option(options.all(), kDryRun);
  return fmt::format("{}. {}{}", summary, options.use(), is_dry ? " A dry run: it does all but write." : "");
}

[[noreturn]] void refuse_argument(const Verb& verb, const std::string& what, std::string expected) {
  throw Error(ErrorCode::kInvalidArgument, {.what = what,
                                            .where = fmt::format("thaw {}", verb.name),
                                            .expected = std::move(expected),
                                            .next = "see the tool's inputSchema"});
}

// A verb's arguments become words one by one.
class CallWords {
 public:
  CallWords(const Verb& verb, std::vector<std::string> words) : verb_(verb), words_(std::move(words)) {}

  void add(const OptionInfo& option, const Json& value) {
    option_ = &option;
    name_ = argument_name(option);
    if (!option.takes_value()) {
      if (!value.is_boolean()) refuse(value, "true or false");
      if (value.get<bool>()) words_.push_back("--" + name_);
      return;
    }
    if (option.several == Several::kNo) return push(text_of(value));
    if (!value.is_array()) refuse(value, "a list");
    for (const Json& one : value) {
      if (option.several == Several::kGroups)
        push_group(one);
      else
        push(text_of(one));
    }
  }

  std::vector<std::string> words() const {
    std::vector<std::string> all = words_;
    all.emplace_back("--");
    all.insert(all.end(), positions_.begin(), positions_.end());
    return all;
  }

 private:
  [[noreturn]] void refuse(const Json& value, std::string expected) const {
    std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    constexpr size_t kLongest = 60;
    if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
    refuse_argument(verb_, fmt::format("'{}' is {}", name_, text), std::move(expected));
  }

  std::string text_of(const Json& value) const {
    switch (option_->kind) {
      case ValueKind::kWhole:
        if (!value.is_number_integer()) refuse(value, "a whole number");
        return value.dump();
      case ValueKind::kNumber:
        if (!value.is_number()) refuse(value, "a number");
        return value.dump();
      case ValueKind::kBytes:
        if (value.is_number_integer()) return value.dump();
        [[fallthrough]];
      case ValueKind::kText:
        break;
    }
    if (!value.is_string()) refuse(value, option_->kind == ValueKind::kBytes ? "a number of bytes, or text" : "text");
    std::string text = value.get<std::string>();
    if (text.empty() || text.find('\0') != std::string::npos) refuse(value, "text of one character or more");
    // The command would read two values where one is given.
    if (option_->several == Several::kList && text.find(',') != std::string::npos)
      refuse(value, "an element without commas");
    return text;
  }

  void push(std::string text) {
    if (option_->position.empty())
      words_.push_back(fmt::format("--{}={}", name_, text));
    else
      positions_.push_back(std::move(text));
  }

  void push_group(const Json& group) {
    if (!group.is_array() || group.empty()) refuse(group, "a list of one element or more");
    push(text_of(group.front()));
    for (size_t i = 1; i < group.size(); ++i) {
      std::string text = text_of(group[i]);
      if (text.front() == '-') refuse(group[i], "a name that does not begin with '-', such as ./-a");
      words_.push_back(std::move(text));
    }
  }

  const Verb& verb_;
  const OptionInfo* option_ = nullptr;
  std::string name_;
  std::vector<std::string> words_, positions_;
};

}  // namespace

std::vector<const Verb*> mcp_tools(bool may_write) {
  std::vector<const Verb*> tools;
  for (const Verb& verb : all_verbs()) {
    const std::unique_ptr<Options> options = declared(verb);
    if (has_option(options->all(), kFormat) && (may_write || !options->does_always_write())) tools.push_back(&verb);
  }
  return tools;
}

void write_tool(JsonWriter& json, const Verb& verb, bool may_write) {
  const std::unique_ptr<Options> options = declared(verb);
  const std::vector<OptionInfo> arguments = arguments_of(*options, may_write);
  const bool writes = may_write && (options->does_always_write() ||
                                    std::ranges::any_of(arguments, [](const OptionInfo& one) { return one.writes; }));
  json.member("name", verb.name);
  json.member("title", fmt::format("thaw {}", verb.name));
  json.member("description", description_of(verb, *options, may_write));
  json.member_object("inputSchema");
  json.member("type", "object");
  json.member_object("properties");
  for (const OptionInfo& option : arguments) {
    json.member_object(argument_name(option));
    write_argument_schema(json, option);
    json.end_object();
  }
  json.end_object();
  json.member_array("required");
  for (const OptionInfo& option : arguments)
    if (option.is_required) json.value(argument_name(option));
  json.end_array();
  json.member("additionalProperties", false);
  json.end_object();
  json.member_object("annotations");
  json.member("readOnlyHint", !writes);
  if (writes) json.member("destructiveHint", true);  // a file that an output names is replaced
  json.member("openWorldHint", false);
  json.end_object();
}

std::vector<std::string> words_of_call(const Verb& verb, const Json& arguments, bool may_write) {
  const std::unique_ptr<Options> options = declared(verb);
  const std::vector<OptionInfo> all = options->all(), known = arguments_of(*options, may_write);
  std::vector<std::string> first{std::string(verb.name), "--format=json", "--color=never"};
  if (!may_write && has_option(all, kDryRun)) first.push_back(fmt::format("--{}", kDryRun));
  CallWords call(verb, std::move(first));
  for (const OptionInfo& option : known) {
    const auto at = arguments.find(argument_name(option));
    if (at != arguments.end()) call.add(option, *at);
  }
  for (const auto& [name, value] : arguments.items()) {
    if (has_option(known, name)) continue;
    const auto withheld = std::ranges::find(all, name, argument_name);
    if (!may_write && withheld != all.end() && is_about_writing(*withheld))
      refuse_argument(verb, fmt::format("'{}' is not for callers of this server", name),
                      "a call that writes nothing; `thaw mcp --write` allows outputs");
    std::vector<std::string> names;
    for (const OptionInfo& option : known) names.push_back(argument_name(option));
    const std::vector<std::string_view> views(names.begin(), names.end());
    refuse_argument(verb, fmt::format("there is no argument '{}'{}", name, did_you_mean(name, views)),
                    "arguments that the tool has");
  }
  return call.words();
}

}  // namespace thaw::cli
