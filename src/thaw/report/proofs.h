// Which outputs are equal at every size (thaw/proof.h), as text, JSON and HTML.
#pragma once

#include <string>
#include <string_view>

#include "thaw/proof.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"

namespace thaw::report {

// Nothing is said where nothing was to be compared.

// A line for each output, for `thaw verify --prove`.
std::string outputs_proof_text(const Proof& proof);
// "outputs": [{"name", "verdict", "place"}], "terms", "rounded_constants", "rounding_steps", "reason"; the sizes under the name that is
// given, where the proof is not for all.
void write_proof_members(JsonWriter& json, const Proof& proof, std::string_view sizes);

// What a result is compared with, and at which sizes where the proof names none.
struct ProofWords {
  std::string_view other = "the original", sizes = "at every size", open = "not proven at other sizes";
};
// Of a result beside its original: a line for all outputs that are proven, and one for each that is open, the first few unless `all`.
std::string proof_text(const Proof& proof, bool all, const ProofWords& words = {});
// The members above, as the object "proof".
void write_proof(JsonWriter& json, const Proof& proof);

void add_proof(HtmlPage& page, const Proof& proof, const ProofWords& words = {});

}  // namespace thaw::report
