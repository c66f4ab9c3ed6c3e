// Prompts of a built folder and the model's own answers, as samples of all its models joined.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thaw/generate.h"
#include "thaw/generate/built_folder.h"
#include "thaw/generate/decoder_inputs.h"
#include "thaw/generate/prompt.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/run/session.h"

namespace thaw::generating {

// A part of a built folder, and its model.
struct Part {
  std::string name;  // "vision", "audio", "embedding", "text"
  std::filesystem::path path;
};
// Those that prompts run, in their order; the tower where they have files.
std::vector<Part> parts_of(const BuiltFolder& built, bool has_files);

// The positions whose logits are compared, int64 [answer]: an input of the joined model.
inline constexpr const char* kAnswerPositions = "answer_positions";

// What the joined parts compute of a prompt: the logits at kAnswerPositions, [batch, answer, vocabulary]. `models`: as many as parts.
std::unique_ptr<ir::Model> joined_parts(const std::vector<Part>& parts,
                                        const std::vector<std::unique_ptr<ir::Model>>& models);

// A sample is a prompt with what the models answer to it, greedily, in one run: every token of the answer is predicted from the right
// ones before it.
class PromptSamples : public quantizing::SampleSource {
 public:
  // Runs the models. Throws thaw::Error as PromptMaker does, for lists of prompts and files that do not pair, and for a folder of
  // which some prompts have files and others none.
  PromptSamples(const BuiltFolder& built, const PromptOptions& options);

  size_t size() const override { return answered_.size(); }
  std::string name(size_t i) const override { return answered_[i].name; }
  Arrays read(size_t i, const std::vector<std::string>& inputs) const override;
  // All that the joined model may be fed.
  Arrays feeds(size_t i) const;
  const std::vector<Part>& parts() const { return parts_; }
  const BuiltFolder& built() const { return built_; }

 private:
  struct Answered {
    std::string name;
    GenerateOptions asked;
    std::vector<int64_t> answer;  // fed behind the prompt
    size_t predicted = 0;         // tokens that are compared
  };

  BuiltFolder built_;
  std::vector<Part> parts_;
  Arrays no_features_;
  std::unique_ptr<DecoderInputs> decoder_;
  std::vector<Answered> answered_;
};

// The same as samples of one of the parts: those before it run on each prompt when it is read.
class PartSamples : public quantizing::SampleSource {
 public:
  // `part`: its name. Throws thaw::Error (kInvalidArgument) where prompts run no such part, and as PromptSamples does.
  PartSamples(const BuiltFolder& built, const PromptOptions& options, const std::string& part);

  size_t size() const override { return prompts_.size(); }
  std::string name(size_t i) const override { return prompts_.name(i); }
  Arrays read(size_t i, const std::vector<std::string>& inputs) const override;

 private:
  PromptSamples prompts_;
  std::string part_;
  std::vector<std::pair<Part, std::unique_ptr<run::Session>>> before_;
};

}  // namespace thaw::generating
