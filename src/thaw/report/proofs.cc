#include "thaw/report/proofs.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/report/table.h"

namespace thaw::report {
namespace {

bool is_proven(const OutputProof& output) { return output.verdict == OutputVerdict::kProven; }
bool is_quantized(const OutputProof& output) { return output.verdict == OutputVerdict::kQuantized; }

// "9 constants that were quantized, by up to 3.1 % of their largest elements".
std::string quantized_of(const Proof& proof) {
  double most = 0;
  for (const QuantizedConstant& one : proof.quantized) most = std::max(most, one.difference);
  return fmt::format("{} that {} quantized, by up to {:.2g} % of the largest element",
                     counted(proof.quantized.size(), "constant"), proof.quantized.size() == 1 ? "was" : "were",
                     100 * most);
}

std::string_view verdict_name(OutputVerdict verdict) {
  switch (verdict) {
    case OutputVerdict::kProven:
      return "proven";
    case OutputVerdict::kOpen:
      return "open";
    case OutputVerdict::kQuantized:
      return "quantized";
    case OutputVerdict::kDiffers:
      return "differs";
  }
  return "";
}

// "3 constants equal to 2 ulp"; empty where all are equal.
std::string rounding_of(const Proof& proof) {
  if (proof.rounded_constants == 0) return {};
  return fmt::format("{} equal to {:.2g} ulp", counted(proof.rounded_constants, "constant"), proof.rounding_steps);
}

// What a proof is made of: "1,204 terms; 3 constants equal to 2 ulp".
std::string size_of(const Proof& proof) {
  const std::string rounding = rounding_of(proof);
  return counted(proof.terms, "term") + (rounding.empty() ? "" : "; " + rounding);
}

// "at every size", or "for height=32..640:32".
std::string sizes_of(const Proof& proof, std::string_view otherwise = "at every size") {
  return proof.sizes.empty() ? std::string(otherwise) : fmt::format("for {}", fmt::join(proof.sizes, ", "));
}

// "evidence proof.json: 231 steps, 12 by laws".
std::string evidence_text(const ProofEvidence& evidence) {
  return printable(fmt::format("evidence {}: {}, {} by laws", evidence.path, counted(evidence.steps, "step"),
                               evidence.steps_by_laws));
}

// "assumed: integers fit their types"; empty where nothing is.
std::string assumptions_of(const Proof& proof) {
  return proof.assumptions.empty() ? "" : fmt::format("assumed: {}", fmt::join(proof.assumptions, "; "));
}

}  // namespace

std::string outputs_proof_text(const Proof& proof) {
  if (proof.outputs.empty()) return {};
  Table table;
  for (const OutputProof& output : proof.outputs) {
    std::string what = fmt::format("proven equal {} ({})", sizes_of(proof), size_of(proof));
    if (is_quantized(output)) {
      what = fmt::format("equal {} but for {} ({})", sizes_of(proof), quantized_of(proof), size_of(proof));
    } else if (!is_proven(output))
      what = std::string(verdict_name(output.verdict)) + (output.place.empty() ? "" : ": " + output.place);
    table.add({"output " + output.name, std::move(what)});
  }
  const std::string assumed = assumptions_of(proof);
  return "\n" + table.text(0) + (assumed.empty() ? "" : assumed + "\n") +
         (proof.evidence ? evidence_text(*proof.evidence) + "\n" : "");
}

std::string proof_text(const Proof& proof, bool all, const ProofWords& words) {
  constexpr size_t kShown = 3;
  if (!proof.reason.empty()) return fmt::format("{}: {}\n", words.open, printable(proof.reason));
  if (proof.outputs.empty()) return {};
  const auto proven = static_cast<size_t>(std::ranges::count_if(proof.outputs, is_proven));
  const std::string outputs = counted(proof.outputs.size(), "output");
  std::string text;
  const std::string rounding = rounding_of(proof);
  if (proven > 0)
    text = fmt::format("proven equal to {} {}: {}{}\n", words.other, printable(sizes_of(proof, words.sizes)),
                       proven == proof.outputs.size() ? outputs : fmt::format("{} of {}", proven, outputs),
                       rounding.empty() ? "" : "; " + rounding);
  const auto quantized = static_cast<size_t>(std::ranges::count_if(proof.outputs, is_quantized));
  if (quantized > 0)
    text += fmt::format("equal to {} {} but for {}: {}\n", words.other, printable(sizes_of(proof, words.sizes)),
                        quantized_of(proof),
                        quantized == proof.outputs.size() ? outputs : fmt::format("{} of {}", quantized, outputs));
  if (!proof.assumptions.empty()) text += assumptions_of(proof) + "\n";
  size_t shown = 0;
  for (const OutputProof& output : proof.outputs) {
    if (is_proven(output) || is_quantized(output) || (++shown > kShown && !all)) continue;
    text += printable(fmt::format("{}: output '{}', {}", words.open, output.name, output.place)) + "\n";
  }
  if (shown > kShown && !all) text += fmt::format("  … and {} more (--format json has them)\n", shown - kShown);
  return text;
}

void write_proof_members(JsonWriter& json, const Proof& proof, std::string_view sizes) {
  if (proof.outputs.empty() && proof.reason.empty()) return;
  json.member_array("outputs");
  for (const OutputProof& output : proof.outputs) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("name", output.name);
    json.member("verdict", verdict_name(output.verdict));
    json.optional_member("place", output.place);
    json.end_object();
  }
  json.end_array();
  if (!proof.sizes.empty()) write_texts(json, sizes, proof.sizes);
  json.member("terms", proof.terms);
  json.member("rounded_constants", proof.rounded_constants);
  json.member("rounding_steps", proof.rounding_steps);
  if (!proof.assumptions.empty()) write_texts(json, "assumptions", proof.assumptions);
  if (!proof.quantized.empty()) {
    json.member_array("quantized");
    for (const QuantizedConstant& one : proof.quantized) {
      json.begin_object(JsonWriter::Layout::kLine);
      json.member("name", one.name);
      json.member("difference", one.difference);
      json.end_object();
    }
    json.end_array();
  }
  json.optional_member("reason", proof.reason);
  if (!proof.evidence) return;
  json.member_object("evidence", kLine);
  json.member("path", proof.evidence->path);
  json.member("outputs", proof.evidence->outputs);
  json.member("steps", proof.evidence->steps);
  json.member("steps_by_laws", proof.evidence->steps_by_laws);
  json.end_object();
}

void write_proof(JsonWriter& json, const Proof& proof) {
  if (proof.outputs.empty() && proof.reason.empty()) return;
  json.member_object("proof");
  write_proof_members(json, proof, "sizes");
  json.end_object();
}

void add_proof(HtmlPage& page, const Proof& proof, const ProofWords& words) {
  if (!proof.reason.empty()) page.sentence("Not proven: " + proof.reason + ".");
  if (proof.outputs.empty()) return;
  page.heading(fmt::format("Equal to {} {}", words.other, sizes_of(proof, words.sizes)));
  std::vector<std::vector<HtmlCell>> rows;
  for (const OutputProof& output : proof.outputs) {
    const Outcome outcome = is_proven(output)                           ? Outcome::kGood
                            : output.verdict == OutputVerdict::kDiffers ? Outcome::kBad
                                                                        : Outcome::kOpen;
    rows.push_back({HtmlCell::code(output.name), HtmlCell::verdict(outcome, verdict_name(output.verdict)),
                    HtmlCell::text(output.place)});
  }
  page.table({"output", "verdict", "not proven"}, rows);
  page.sentence(fmt::format("In real arithmetic, of {}.", size_of(proof)));
  if (!proof.quantized.empty()) {
    page.sentence(fmt::format("Quantized: equal but for {}.", quantized_of(proof)));
    std::vector<std::vector<HtmlCell>> constants;
    for (const QuantizedConstant& one : proof.quantized)
      constants.push_back({HtmlCell::code(one.name), HtmlCell::number(one.difference)});
    page.table({"constant", "max abs diff, as a part of the largest element"}, constants);
  }
  if (!proof.assumptions.empty()) page.sentence(fmt::format("Assumed: {}.", fmt::join(proof.assumptions, "; ")));
  if (proof.evidence) page.sentence(evidence_text(*proof.evidence) + ".");
}

}  // namespace thaw::report
