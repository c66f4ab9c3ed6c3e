// The first tensors in which two models differ (thaw/verify.h), as text, on a page and as JSON.
#pragma once

#include <string>

#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/verify.h"

namespace thaw::report {

std::string first_differences_text(const DifferenceSearch& search);
void add_first_differences(HtmlPage& page, const DifferenceSearch& search);

// "where": {"case", "sizes", "tensors": […], "candidates", "compared", "runs", "notes"}.
void write_first_differences(JsonWriter& json, const DifferenceSearch& search);

}  // namespace thaw::report
