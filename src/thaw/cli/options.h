// Options that verbs share, declared the same way by each: same name, same help, same completion.
//
// The type name of an option is what --help shows after it and what completion goes by: FILE and FOLDER complete paths,
// "a|b|c" completes those words, anything else completes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "thaw/core/suggest.h"
#include "thaw/model.h"

namespace thaw::cli {

enum class Format : uint8_t { kText, kJson, kSarif };

// A model file, as a required positional argument.
CLI::Option* add_model(CLI::App& app, std::string& path, const std::string& name = "MODEL",
                       const std::string& help = "the ONNX file");

// --format text|json, and sarif for verbs with findings.
void add_format(CLI::App& app, Format& format, bool sarif = false);

// --external keep|single|inline, of verbs that write a model.
void add_external(CLI::App& app, ExternalPolicy& external);

// --max-growth BYTES, of verbs that fold constants.
void add_max_growth(CLI::App& app, uint64_t& bytes);

// A list of words, given as --name A,B or --name A --name B. It never swallows the argument after its value.
CLI::Option* add_list(CLI::App& app, const std::string& name, std::vector<std::string>& list, const std::string& type,
                      const std::string& help);

// "h=640,w=480" as names and numbers; none for an empty text. Throws thaw::Error for ranges and expressions; `option`
// is for its message.
std::vector<std::pair<std::string, int64_t>> parse_sizes(const std::string& text, const std::string& option);

// An option whose value is one of a few words.
template <typename T>
CLI::Option* add_choice(CLI::App& app, const std::string& name, T& value,
                        std::vector<std::pair<std::string_view, T>> choices, const std::string& help) {
  std::string words;
  for (const auto& [word, meaning] : choices) words.append(words.empty() ? "" : "|").append(word);
  auto take = [&value, choices = std::move(choices), words, name](const std::string& given) {
    for (const auto& [word, meaning] : choices) {
      if (word == given) {
        value = meaning;
        return;
      }
    }
    std::vector<std::string_view> known;
    for (const auto& [word, meaning] : choices) known.push_back(word);
    throw CLI::ValidationError(name + " takes " + words + ", not '" + given + "'" + did_you_mean(given, known),
                               CLI::ExitCodes::ValidationError);
  };
  return app.add_option_function<std::string>(name, take, help)->type_name(words);
}

}  // namespace thaw::cli
