// A report as JSON, with every sample's figures, and as a table in CSV (RFC 4180).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "thaw/sensitivity.h"

namespace thaw::measuring {

std::string report_json(const SensitivityReport& report);
std::string report_csv(const SensitivityReport& report);

// Throws thaw::Error (kInvalidFile) for what is no such report, naming the key.
SensitivityReport parse_report(std::string_view text, const std::string& where);

std::string_view word_of(ErrorMetric metric);
std::string_view key_of(ErrorMetric metric);  // in JSON and CSV, with its unit
std::string_view word_of(SensitivityMode mode);
std::string_view word_of(SensitivityGroup group);
std::string_view word_of(UnitStatus status);

}  // namespace thaw::measuring
