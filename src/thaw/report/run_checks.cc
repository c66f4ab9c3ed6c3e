#include "thaw/report/run_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/report/members.h"
#include "thaw/report/printable.h"

namespace thaw::report {
namespace {

// What was seen where nothing differs.
std::string found(const confirm::RunCheck& check) {
  if (check.elements == 0) return "shapes only, as no output has elements";
  return fmt::format("max abs diff {:.3g} (max |output| {:.3g})", check.max_abs_diff, check.max_abs_expected);
}

// All run in one, where something runs at all.
Runtime runtime_of(const std::vector<confirm::RunCheck>& checks) {
  const auto ran =
      std::ranges::find_if(checks, [](const confirm::RunCheck& one) { return !one.runtime.version.empty(); });
  return ran == checks.end() ? Runtime() : ran->runtime;
}

}  // namespace

void write_checks(JsonWriter& json, const std::vector<confirm::RunCheck>& checks) {
  json.member_array("checks");
  for (const confirm::RunCheck& check : checks) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("case", check.name);
    write_map(json, "inputs", check.inputs);
    json.member("max_abs_diff", check.max_abs_diff);
    json.member("max_abs_expected", check.max_abs_expected);
    json.member("elements", check.elements);
    json.member("agrees", check.agrees);
    json.optional_member("message", check.message);
    json.end_object();
  }
  json.end_array();
  write_ran_on(json, runtime_of(checks));
}

std::string checks_text(const std::vector<confirm::RunCheck>& checks, std::string_view agrees,
                        std::string_view differs) {
  std::string text;
  for (const confirm::RunCheck& check : checks) {
    text += fmt::format("{} {}: ", check.agrees ? agrees : differs, printable(check.name));
    text += check.agrees ? found(check) : printable(check.message);
    std::string inputs;
    for (const auto& [name, type] : check.inputs)
      inputs += fmt::format("{}{} {}", inputs.empty() ? ", with " : ", ", printable(name), type);
    text += inputs + "\n";
  }
  return text + ran_on_text(runtime_of(checks));
}

void write_not_compared(JsonWriter& json, const std::vector<std::string>& reasons) {
  write_texts(json, "not_compared", reasons);
}

std::string not_compared_text(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += "not compared: " + printable(reason) + "\n";
  return text;
}

void add_checks(HtmlPage& page, const std::string& location, const std::vector<confirm::RunCheck>& checks) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const confirm::RunCheck& check : checks) {
    std::vector<std::string> inputs;
    for (const auto& [name, type] : check.inputs) inputs.push_back(fmt::format("{} {}", name, type));
    rows.push_back({HtmlCell::code(check.name), HtmlCell::list(inputs), HtmlCell::number(check.max_abs_diff),
                    HtmlCell::number(check.max_abs_expected), HtmlCell::count(check.elements),
                    check.agrees ? HtmlCell::verdict(Outcome::kGood, check.elements > 0 ? "agrees" : "agrees in shapes")
                                 : HtmlCell::verdict(Outcome::kBad, "differs: " + check.message)});
  }
  page.table({location, "inputs", "max abs diff", "max |output|", "elements", "verdict"}, rows);
  add_ran_on(page, runtime_of(checks));
}

void add_checked(HtmlPage& page, const std::vector<confirm::RunCheck>& checks,
                 const std::vector<std::string>& not_compared) {
  page.heading("Checked");
  if (checks.empty() && not_compared.empty()) page.sentence("The result was not run against the original.");
  if (!checks.empty()) add_checks(page, "sizes", checks);
  for (const std::string& reason : not_compared) page.sentence("Not compared: " + reason);
}

}  // namespace thaw::report
