#include "thaw/cli/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <system_error>
#include <type_traits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/core/type_word.h"

namespace thaw::cli {
namespace {

constexpr double kMostBytes = 0x1p62;
constexpr std::string_view kEndOfFormer = "0.4";  // the release that former names of options end with

// T of T and of std::optional<T>.
template <typename T>
struct Unwrapped {
  using Type = T;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using Type = T;
};

// Of an option without bounds of its own: all that reads as what it is for, and is exact as a double.
template <typename T>
constexpr Bounds kAnyNumber = std::is_floating_point_v<T> ? Bounds{.least = -1e300, .most = 1e300}
                              : std::is_signed_v<T>       ? Bounds{.least = -2147483648.0, .most = 2147483647.0}
                                                          : kNotNegative;

// Decimals, all of the text: no spaces, no infinity, nothing past what T holds.
template <typename T>
std::optional<T> parse_number(std::string_view text) {
  T number{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<uint64_t> parse_bytes(const std::string& text) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc()) return std::nullopt;
  std::string unit = ascii::to_lower({end, text.data() + text.size()});
  std::erase(unit, ' ');
  if (unit.ends_with('b')) unit.pop_back();
  if (unit.size() == 2 && unit.ends_with('i')) unit.pop_back();
  const size_t power = unit.empty() ? 0 : std::string_view("kmgt").find(unit) + 1;
  if (unit.size() > 1 || (power == 0 && !unit.empty())) return std::nullopt;
  const double bytes = number * std::pow(1024.0, static_cast<double>(power));
  if (!(bytes >= 0 && bytes <= kMostBytes)) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

[[noreturn]] void refuse(const std::string& what) { throw CLI::ValidationError(what, CLI::ExitCodes::ValidationError); }

// A mistyped option says more than what is missing on its account, so it comes first.
Error usage_error(const std::string& verb, const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::string what = error.what();
  for (const std::string& word : app.remaining()) {
    if (word.starts_with("-") && word != "-" && word != "--") {
      const std::string name = word.substr(0, word.find('='));
      what = fmt::format("unknown option '{}'{}", name, did_you_mean(name, known));
      break;
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) what = fmt::format("unexpected argument '{}'", word);
  }
  return Error(ErrorCode::kInvalidArgument,
               {.what = what, .where = verb, .expected = {}, .next = fmt::format("see `thaw {} --help`", verb)});
}

OptionInfo info_of(const CLI::Option& option) {
  OptionInfo info{.short_names = option.get_snames(),
                  .long_names = option.get_lnames(),
                  .position = option.get_positional() ? option.get_name(true) : std::string(),
                  .type = {},
                  .help = option.get_description(),
                  .heading = option.get_group(),
                  .is_required = option.get_required(),
                  .repeats = option.get_expected_max() > 1};
  // Without what CLI11 appends for a validator.
  if (option.get_items_expected_max() > 0)
    info.type = option.get_type_name().substr(0, option.get_type_name().find(':'));
  return info;
}

}  // namespace

std::string OptionInfo::names() const {
  if (!position.empty()) return position;
  std::string text;
  for (const std::string& name : short_names) text += (text.empty() ? "-" : ", -") + name;
  for (const std::string& name : long_names) text += (text.empty() ? "--" : ", --") + name;
  return text;
}

std::vector<std::string> OptionInfo::choices() const {
  std::vector<std::string> words;
  if (type.find('|') == std::string::npos) return words;
  // "N|WxH" are no words: what stands for a value is in capitals.
  if (std::ranges::any_of(type, ascii::is_upper)) return words;
  std::istringstream stream(type);
  for (std::string word; std::getline(stream, word, '|');) words.push_back(word);
  return words;
}

std::optional<std::string> OptionInfo::path_in(const std::string& value) const {
  constexpr std::string_view kNamed = "NAME=";
  if (is_path() || type == "PATH") return value;
  if (!type.starts_with(kNamed) || !(type.ends_with("=FILE") || type.ends_with("=PATH"))) return std::nullopt;
  const size_t equals = value.find('=');
  return equals == std::string::npos ? value : value.substr(equals + 1);
}

Options::Options(std::string_view summary, std::string_view verb)
    : verb_(verb), app_(std::make_unique<CLI::App>(std::string(summary), fmt::format("thaw {}", verb))) {
  app_->set_help_flag("-h", "print the commonest options")->group(std::string(kGeneral));
  app_->set_help_all_flag("--help", "print all options")->group(std::string(kGeneral));
}
Options::~Options() = default;

void Options::argument(const std::string& name, std::string& value, const std::string& type, const std::string& help,
                       bool is_required) {
  app_->add_option(name, value, help)->type_name(type)->required(is_required);
}

void Options::arguments(const std::string& name, std::vector<std::string>& values, const std::string& type,
                        const std::string& help, bool is_required) {
  declared_[app_->add_option(name, values, help)->type_name(type)->required(is_required)].several = Several::kTexts;
}

template <typename T>
void Options::value(const std::string& names, T& value, const std::string& type, const std::string& help,
                    std::optional<Bounds> bounds) {
  using Given = typename Unwrapped<T>::Type;
  if constexpr (std::is_arithmetic_v<Given>) {
    const std::string name = names.substr(names.rfind(',') + 1);
    const Bounds within = bounds.value_or(kAnyNumber<Given>);
    const auto take = [name, within, &value](const std::string& text) {
      const auto number = parse_number<Given>(text);
      if (!number || static_cast<double>(*number) < within.least || static_cast<double>(*number) > within.most)
        refuse(fmt::format("{} takes a {}number from {:g} to {:g}, not '{}'", name,
                           std::is_integral_v<Given> ? "whole " : "", within.least, within.most, text));
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::optional<Given>>)
        value = number;
      else
        value = *number;
    };
    Declared& declared = declared_[app_->add_option_function<std::string>(names, take, help)->type_name(type)];
    declared.kind = std::is_integral_v<Given> ? ValueKind::kWhole : ValueKind::kNumber;
    declared.bounds = within;
  } else {
    app_->add_option(names, value, help)->type_name(type);
  }
}
template void Options::value(const std::string&, std::string&, const std::string&, const std::string&,
                             std::optional<Bounds>);
template void Options::value(const std::string&, int&, const std::string&, const std::string&, std::optional<Bounds>);
template void Options::value(const std::string&, int64_t&, const std::string&, const std::string&,
                             std::optional<Bounds>);
template void Options::value(const std::string&, uint64_t&, const std::string&, const std::string&,
                             std::optional<Bounds>);
template void Options::value(const std::string&, double&, const std::string&, const std::string&,
                             std::optional<Bounds>);
template void Options::value(const std::string&, std::optional<std::string>&, const std::string&, const std::string&,
                             std::optional<Bounds>);
template void Options::value(const std::string&, std::optional<double>&, const std::string&, const std::string&,
                             std::optional<Bounds>);

void Options::required(const std::string& names, std::string& value, const std::string& type, const std::string& help) {
  app_->add_option(names, value, help)->type_name(type)->required();
}

namespace {

// What `take` finds wrong is wrong with the call.
std::function<void(const std::string&)> refusing(std::function<void(const std::string&)> take) {
  return [take = std::move(take)](const std::string& text) {
    try {
      take(text);
    } catch (const Error& error) {
      refuse(error.parts().what);
    }
  };
}

}  // namespace

void Options::text(const std::string& names, std::function<void(const std::string&)> take, const std::string& type,
                   const std::string& help) {
  app_->add_option_function<std::string>(names, refusing(std::move(take)), help)->type_name(type);
}

void Options::size(const std::string& names, std::function<void(uint64_t)> take, const std::string& type,
                   const std::string& help) {
  const auto read = [names, take = std::move(take)](const std::string& text) {
    const std::optional<uint64_t> bytes = parse_bytes(text);
    if (!bytes) refuse(fmt::format("{} takes a number of bytes, such as 64mb or 1.5G, not '{}'", names, text));
    take(*bytes);
  };
  declared_[app_->add_option_function<std::string>(names, read, help)->type_name(type)].kind = ValueKind::kBytes;
}

void Options::list(const std::string& names, std::vector<std::string>& list, const std::string& type,
                   const std::string& help) {
  CLI::Option* option = app_->add_option(names, list, help)->type_name(type)->delimiter(',')->allow_extra_args(false);
  declared_[option].several = Several::kList;
}

void Options::texts(const std::string& names, std::vector<std::string>& texts, const std::string& type,
                    const std::string& help) {
  declared_[app_->add_option(names, texts, help)->type_name(type)->allow_extra_args(false)].several = Several::kTexts;
}

void Options::each(const std::string& names, std::function<void(const std::string&)> take, const std::string& type,
                   const std::string& help) {
  const auto take_all = [take = refusing(std::move(take))](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) take(text);
  };
  CLI::Option* const option = app_->add_option_function<std::vector<std::string>>(names, take_all, help);
  declared_[option->type_name(type)->allow_extra_args(false)].several = Several::kTexts;
}

void Options::groups(const std::string& names, std::vector<std::vector<std::string>>& groups, const std::string& type,
                     const std::string& help) {
  declared_[app_->add_option(names, groups, help)->type_name(type)].several = Several::kGroups;
}

void Options::flag(const std::string& names, bool& value, const std::string& help) {
  app_->add_flag(names, value, help);
}
void Options::flag_off(const std::string& names, bool& value, const std::string& help) {
  app_->add_flag(names + "{false}", value, help);
}
void Options::flag_call(const std::string& names, std::function<void()> take, const std::string& help) {
  app_->add_flag_callback(names, std::move(take), help);
}

void Options::choose(const std::string& name, std::vector<std::string> words, std::function<void(size_t)> take,
                     const std::string& help) {
  const std::string type = fmt::format("{}", fmt::join(words, "|"));
  const auto read = [name, type, words = std::move(words), take = std::move(take)](const std::string& given) {
    auto at = std::ranges::find(words, given);
    if (at == words.end()) at = std::ranges::find(words, type_word(given));
    const std::vector<std::string_view> known(words.begin(), words.end());
    if (at == words.end())
      refuse(fmt::format("{} takes {}, not '{}'{}", name, type, given, did_you_mean(given, known)));
    take(static_cast<size_t>(at - words.begin()));
  };
  app_->add_option_function<std::string>(name, read, help)->type_name(type)->required(!name.starts_with('-'));
}

void Options::exclude(const std::string& a, const std::string& b) {
  app_->get_option(a)->excludes(app_->get_option(b));
}
void Options::writes(const std::vector<std::string>& names) {
  for (const std::string& name : names) declared_[app_->get_option(name)].writes = true;
}
void Options::use(const std::string& sentence) { use_ = sentence; }
void Options::heading(const std::string& name) { app_->option_defaults()->group(name); }
void Options::common(std::vector<std::string> names) { common_ = std::move(names); }
void Options::examples(const std::string& lines) { app_->footer(lines); }
void Options::when_parsed(std::function<void()> call) { app_->parse_complete_callback(std::move(call)); }

bool Options::given(std::string_view name) const {
  const CLI::Option* option = app_->get_option_no_throw(std::string(name));
  return option != nullptr && option->count() > 0;
}

std::vector<std::string> Options::words(std::string_view name) const {
  return given(name) ? app_->get_option(std::string(name))->results() : std::vector<std::string>();
}

void Options::renamed(std::string_view former, std::string_view name, bool (*when)(std::string_view value)) {
  former_.push_back({.name = std::string(former), .now = std::string(name), .why = {}, .when = when});
}

void Options::retired(std::string_view flag, std::string_view why) {
  former_.push_back({.name = std::string(flag), .now = {}, .why = std::string(why), .when = nullptr});
}

std::vector<std::pair<std::string, std::string>> Options::former() const {
  std::vector<std::pair<std::string, std::string>> names;
  for (const Former& former : former_) names.emplace_back(former.name, former.now);
  return names;
}

std::vector<std::string> Options::with_present_names(std::vector<std::string> words) const {
  std::vector<std::string> present, warned;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {  // arguments follow
      present.insert(present.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const size_t equals = std::min(words[i].find('='), words[i].size());
    const std::string name = words[i].substr(0, equals), rest = words[i].substr(equals);
    const std::string value = !rest.empty() ? rest.substr(1) : i + 1 < words.size() ? words[i + 1] : std::string();
    const auto at = std::ranges::find_if(
        former_, [&](const Former& former) { return former.name == name && (!former.when || former.when(value)); });
    if (at == former_.end()) {
      present.push_back(words[i]);
      continue;
    }
    if (!at->now.empty()) present.push_back(at->now + rest);
    if (std::ranges::find(warned, name) != warned.end()) continue;
    warned.push_back(name);
    std::fputs(
        at->now.empty()
            ? fmt::format("warning: {}: {}; the option goes with {}\n", name, at->why, kEndOfFormer).c_str()
            : fmt::format("warning: {} is now {}; the old name goes with {}\n", name, at->now, kEndOfFormer).c_str(),
        stderr);
  }
  return present;
}

Options::Parsed Options::parse(int argc, char** argv) {
  std::vector<std::string> words = with_present_names({argv + 1, argv + argc});
  std::ranges::reverse(words);  // as CLI11 takes them
  try {
    app_->parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return Parsed::kShortHelp;
  } catch (const CLI::CallForAllHelp&) {
    return Parsed::kHelp;
  } catch (const CLI::ParseError& error) {
    throw usage_error(verb_, *app_, error);
  }
  return Parsed::kRun;
}

std::vector<OptionInfo> Options::all() const {
  std::vector<OptionInfo> infos;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    OptionInfo& info = infos.emplace_back(info_of(*option));
    info.is_common = std::ranges::any_of(common_, [&](const std::string& name) { return option->check_name(name); });
    const auto declared = declared_.find(option);
    if (declared == declared_.end()) continue;
    info.kind = declared->second.kind;
    info.several = declared->second.several;
    info.bounds = declared->second.bounds;
    info.writes = declared->second.writes;
  }
  return infos;
}

std::string Options::examples() const { return app_->get_footer(); }

}  // namespace thaw::cli
