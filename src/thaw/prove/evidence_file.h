// Evidence as a file of JSON (docs/schemas/proof.json), a step a line.
#pragma once

#include <filesystem>
#include <string>

#include "thaw/prove/evidence.h"

namespace thaw::proving {

std::string to_json(const EvidenceFile& evidence);
// Throws thaw::Error (kInvalidFile) for a file that is none, with the first member that is not as it should be.
EvidenceFile read_evidence(const std::filesystem::path& path);

}  // namespace thaw::proving
