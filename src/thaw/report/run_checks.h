// The runs that confirm a result (confirm/run_check.h), as JSON, text and HTML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thaw/confirm/run_check.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"

namespace thaw::report {

// "checks": [{"case", "inputs": {name: type}, "max_abs_diff", "max_abs_expected", "elements", "agrees", "message"}]. A difference
// that cannot be computed is null. "runtime" is where they ran.
void write_checks(JsonWriter& json, const std::vector<confirm::RunCheck>& checks);
// A line each: "agrees with NAME: max abs diff 4e-06 (max |output| 12.3), with pixel_values float32[660,1536]". `agrees` and
// `differs` are the words before the name; after a name that differs stands the message.
std::string checks_text(const std::vector<confirm::RunCheck>& checks, std::string_view agrees,
                        std::string_view differs);
// What was not compared, and why: "not_compared": […], and a line each.
void write_not_compared(JsonWriter& json, const std::vector<std::string>& reasons);
std::string not_compared_text(const std::vector<std::string>& reasons);
// Under a heading: the runs beside the model, and what could not be compared.
void add_checked(HtmlPage& page, const std::vector<confirm::RunCheck>& checks,
                 const std::vector<std::string>& not_compared);
void add_checks(HtmlPage& page, const std::string& location, const std::vector<confirm::RunCheck>& checks);

}  // namespace thaw::report
