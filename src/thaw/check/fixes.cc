#include "thaw/check/fixes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/shell_word.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::checking {
namespace {

constexpr size_t kMostCommands = 3;

// `{}` in a command is the model's file.
struct Fix {
  std::string_view code;
  std::string_view consequence;
  std::array<std::string_view, kMostCommands> commands;
};

constexpr std::string_view kFix = "thaw fix {} -o fixed.onnx";
constexpr std::string_view kReference = "thaw fix {} -o fixed.onnx --reference refs.npz";
constexpr std::string_view kLift = "thaw lift {} SECOND_SIZE.onnx THIRD_SIZE.onnx -o lifted.onnx";
constexpr std::string_view kDirectml = "thaw optimize {} -o directml.onnx --target directml";
constexpr std::string_view kOtherSizesStop = "ONNX Runtime stops at other sizes: shape mismatch";

// clang-format off
constexpr Fix kFixes[] = {
    {"THAW001", "ONNX Runtime rejects the model, or stops at this node", {}},
    {"THAW003", "ONNX Runtime will stop with 'Shape mismatch attempting to re-use buffer'", {kFix}},
    {"THAW004", "ONNX Runtime assumes that sizes with one name are equal, and may stop with 'Shape mismatch attempting to re-use buffer'", {kFix}},
    {"THAW005", "ONNX Runtime warns, or rejects the model: 'existing shape differ' or 'Type Error'", {kFix}},
    {"THAW006", "runtimes refuse the model, or read the other one", {kFix}},
    {"THAW010", kOtherSizesStop, {kFix, kReference, kLift}},
    {"THAW011", "ONNX Runtime stops at other sizes: the lengths of the Split no longer add up", {kLift, kReference}},
    {"THAW012", "at larger sizes the rest is silently cut off", {kFix, kLift}},
    {"THAW013", "ONNX Runtime stops at other sizes: the table does not broadcast", {kLift, kReference}},
    {"THAW014", "at larger sizes elements are left out, at smaller ones ONNX Runtime stops: 'indices element out of data bounds'", {kLift, kReference}},
    {"THAW015", "ONNX Runtime stops at any other size", {}},
    {"THAW016", "multiples of the frozen size run, and give wrong results", {kFix, kReference, kLift}},
    {"THAW017", "inputs with the same element count but other sides run, and give wrong results", {kLift, kReference}},
    {"THAW018", "with more than one sample, results are mixed", {"thaw batch {} -o batched.onnx"}},
    {"THAW019", kOtherSizesStop, {kReference, kLift}},
    {"THAW020", "the last step may be off by one", {}},
    {"THAW021", "ONNX Runtime rejects the model: 'Type Error'", {kFix}},
    {"THAW034", "the device waits for the host in every run", {kFix}},
    {"THAW050", "findings may be missing", {"thaw check {} --max-visits 1000000000"}},
};
// clang-format on

// What a target does not take, and of that what `optimize --target directml` writes in another form.
constexpr std::string_view kOfTargets[] = {"THAW030", "THAW032", "THAW036"};
constexpr std::string_view kOfDirectml[] = {"THAW030", "THAW031", "THAW032"};

// Weights in blocks are not made numbers again: `convert --target directml` of the model before leaves such a table as it is.
bool stays_in_directml(const Finding& finding) {
  return finding.code == "THAW030" && finding.where.op.starts_with(fmt::format("{}.", ops::kMicrosoft));
}

std::string file_of(const ir::Model& model) {
  return model.path.extension().empty() ? "model.onnx" : shell_path(model.path.string());
}

// A vision tower, as far as its inputs tell: the checkpoint may still be there.
bool may_be_built(const ir::Model& model) {
  return std::ranges::any_of(model.graph->inputs(), [](const ir::Value* input) {
    return input->name() == "grid_thw" || input->name() == "image_grid_thw" ||
           (input->name() == "pixel_values" && input->type.shape && input->type.shape->size() == 2);
  });
}

}  // namespace

void add_fix(Finding& finding, const ir::Model& model, const ops::Target* target) {
  const std::vector<std::string> own = std::exchange(finding.commands, {});
  const auto add = [&](std::string_view command) {
    if (command.empty()) return;
    std::string text(command);
    if (const size_t at = text.find("{}"); at != std::string::npos) text.replace(at, 2, file_of(model));
    if (std::ranges::find(finding.commands, text) == finding.commands.end())
      finding.commands.push_back(std::move(text));
  };
  for (const std::string& command : own) add(command);
  const auto is_of = [&](const auto& codes) { return std::ranges::find(codes, finding.code) != std::end(codes); };
  if (target != nullptr && is_of(kOfTargets)) finding.consequence = target->otherwise;
  if (target != nullptr && target->name == "directml" && is_of(kOfDirectml) && !stays_in_directml(finding))
    add(kDirectml);
  const auto* fix = std::ranges::find(kFixes, finding.code, &Fix::code);
  if (fix == std::end(kFixes)) return;
  // What the rule says of a finding goes before what is said of all. A note's model works as it is declared.
  const bool is_said = !finding.consequence.empty();
  if (!is_said && (finding.severity != Severity::kNote || finding.code == "THAW018"))
    finding.consequence = fix->consequence;
  if (!own.empty()) return;
  for (const std::string_view command : fix->commands) add(command);
  const bool is_lifted = std::ranges::find(fix->commands, kLift) != fix->commands.end();
  if (is_lifted && may_be_built(model)) add("thaw build CHECKPOINT_FOLDER -o onnx --part vision");
}

}  // namespace thaw::checking
