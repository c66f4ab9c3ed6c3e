// The options of a verb: what it declares, and what was given. CLI11 reads them (options.cc, the only source that knows it).
//
// The type of an option is what --help shows after it and what completion goes by: FILE and FOLDER complete paths, "a|b|c"
// completes those words, anything else completes nothing. What is given wrongly is a thaw::Error that names the option.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace thaw::cli {

// Bounds of a number, both among what it may be.
struct Bounds {
  double least, most;
};
inline constexpr std::string_view kGeneral = "General";  // the heading of what every verb has
inline constexpr Bounds kNotNegative{0, 1e18}, kTolerance{0, 1e300};

// What an option takes, and how it may be given several values.
enum class ValueKind : uint8_t { kText, kWhole, kNumber, kBytes };
enum class Several : uint8_t {
  kNo,
  kList,    // --name A,B or --name A --name B
  kTexts,   // --name A --name B; arguments without a name
  kGroups,  // --name A B --name C
};

// What of an option help, completion and tools of `thaw mcp` show.
struct OptionInfo {
  std::vector<std::string> short_names, long_names;  // without dashes
  std::string position;                              // the name of an argument that has none: "MODEL"
  std::string type;                                  // of its value: "FILE", "text|json"; empty where it takes none
  std::string help;
  std::string heading;  // in --help: "Output"
  bool is_required = false, repeats = false;
  bool is_common = false;  // -h shows it
  ValueKind kind = ValueKind::kText;
  Several several = Several::kNo;
  std::optional<Bounds> bounds = {};
  bool writes = false;  // what it names, or says, is written

  bool takes_value() const { return !type.empty(); }
  std::string names() const;                 // "-o, --output"; "MODEL"
  std::vector<std::string> choices() const;  // the words that its value may be; none when it is free
  bool is_path() const { return type == "FILE" || type == "FOLDER"; }
  // The path in a value: of NAME=FILE what follows the first '='. nullopt where its values name none.
  std::optional<std::string> path_in(const std::string& value) const;
};

class Options {
 public:
  Options(std::string_view summary, std::string_view verb);
  ~Options();
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  // Arguments without a name, in their order.
  void argument(const std::string& name, std::string& value, const std::string& type, const std::string& help,
                bool is_required = true);
  void arguments(const std::string& name, std::vector<std::string>& values, const std::string& type,
                 const std::string& help, bool is_required = true);

  // A value: T is std::string, int, int64_t, uint64_t, double or an optional one of these. Numbers are decimal and finite, within bounds.
  template <typename T>
  void value(const std::string& names, T& value, const std::string& type, const std::string& help,
             std::optional<Bounds> bounds = {});
  void required(const std::string& names, std::string& value, const std::string& type, const std::string& help);

  // Values that `take` reads; a thaw::Error of it is one of the call.
  void text(const std::string& names, std::function<void(const std::string&)> take, const std::string& type,
            const std::string& help);
  // A number of bytes: "400000000", "1e5", "64mb", "1.5 GiB"; K is 1024 however it is spelled.
  void size(const std::string& names, std::function<void(uint64_t)> take, const std::string& type,
            const std::string& help);

  // Given as --name A,B or --name A --name B. None swallows the argument after its value.
  void list(const std::string& names, std::vector<std::string>& list, const std::string& type, const std::string& help);
  // Given once or more, and not cut at commas.
  void texts(const std::string& names, std::vector<std::string>& texts, const std::string& type,
             const std::string& help);
  // The same, each read by `take` as in text().
  void each(const std::string& names, std::function<void(const std::string&)> take, const std::string& type,
            const std::string& help);
  // Several words behind each.
  void groups(const std::string& names, std::vector<std::vector<std::string>>& groups, const std::string& type,
              const std::string& help);

  void flag(const std::string& names, bool& value, const std::string& help);
  void flag_off(const std::string& names, bool& value, const std::string& help);  // sets it to false
  void flag_call(const std::string& names, std::function<void()> take, const std::string& help);

  // One of a few words. As an argument without a name where `name` has no dashes; it must then be given.
  template <typename T>
  void choice(const std::string& name, T& value, std::vector<std::pair<std::string_view, T>> choices,
              const std::string& help) {
    std::vector<std::string> words;
    for (const auto& [word, meaning] : choices) words.emplace_back(word);
    choose(
        name, std::move(words), [&value, choices = std::move(choices)](size_t i) { value = choices[i].second; }, help);
  }

  void exclude(const std::string& a, const std::string& b);  // only one of the two may be given

  // Each of these options says what is written, or that something is. A verb with --dry-run writes by itself, any other only where one of
  // these is given; but for one that always does.
  void writes(const std::vector<std::string>& names);
  void always_writes() { always_writes_ = true; }

  // What --help shows besides. `use`: when the verb is the one to take, a sentence.
  void use(const std::string& sentence);
  void heading(const std::string& name);        // of the options that are added from here on
  void common(std::vector<std::string> names);  // those that -h shows, in the order in which they were added
  void examples(const std::string& lines);
  void when_parsed(std::function<void()> call);

  // A former name, read as the new one with a warning, and shown nowhere. `when`: whether a value means what the former name
  // meant, where that name now means something else.
  void renamed(std::string_view former, std::string_view name, bool (*when)(std::string_view value) = nullptr);
  // A former flag that is read and does nothing, with a warning: "--check: the result is checked anyway".
  void retired(std::string_view flag, std::string_view why);

  // Once they are parsed.
  bool given(std::string_view name) const;
  std::vector<std::string> words(std::string_view name) const;  // as they were given

  enum class Parsed : uint8_t { kRun, kShortHelp, kHelp };
  // Throws thaw::Error for what is wrong with the call. `arguments`: the verb, and what follows it.
  Parsed parse(int argc, char** argv);

  std::vector<OptionInfo> all() const;
  bool does_always_write() const { return always_writes_; }
  std::string use() const { return use_; }
  std::string examples() const;

  // Names that are read and not shown, and what stands for them: "" for a flag that is no more.
  std::vector<std::pair<std::string, std::string>> former() const;

 private:
  struct Former {
    std::string name, now, why;
    bool (*when)(std::string_view value);
  };

  // The words of a call with the names of now, and a warning for each that was not.
  std::vector<std::string> with_present_names(std::vector<std::string> words) const;
  void choose(const std::string& name, std::vector<std::string> words, std::function<void(size_t)> take,
              const std::string& help);

  // What CLI11 does not know of an option.
  struct Declared {
    ValueKind kind = ValueKind::kText;
    Several several = Several::kNo;
    std::optional<Bounds> bounds = {};
    bool writes = false;
  };

  std::string verb_, use_;
  bool always_writes_ = false;
  std::map<const CLI::Option*, Declared> declared_;
  std::vector<std::string> common_;
  std::vector<Former> former_;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace thaw::cli
