// One verb through the public headers alone, for the test that holds the command against the library.
//
//   through_library VERB ARGUMENT...
//
// Prints to_json() of the report, or of the error. Exit code as the command's: 0 accepted, 1 not, 2 an error.
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <thaw/thaw.h>

namespace {

using Words = std::vector<std::string>;

// "h=3,w=5".
thaw::NamedSizes sizes_of(const std::string& text) {
  thaw::NamedSizes sizes;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(',', start), text.size()), equals = text.find('=', start);
    sizes.emplace_back(text.substr(start, equals - start), std::stoll(text.substr(equals + 1, end - equals - 1)));
    start = end + 1;
  }
  return sizes;
}

template <typename Report>
int told(const Report& report) {
  std::cout << to_json(report);
  return report.accepted() ? 0 : 1;
}

int check(const Words& w) { return told(thaw::check(thaw::Model::load(w[0]), {.sizes = w.size() > 1 ? w[1] : ""})); }

int inspect(const Words& w) {
  std::cout << thaw::inspect_json(thaw::Model::load(w[0]), {.tensors = true, .weights = true, .cost = true});
  return 0;
}

int diff(const Words& w) {
  const thaw::Model a = thaw::Model::load(w[0]), b = thaw::Model::load(w[1]);
  return told(thaw::diff(a, b));
}

int fix(const Words& w) {
  thaw::Model model = thaw::Model::load(w[0]);
  const thaw::FixReport report = thaw::fix(model, {}, {.path = w[1]});
  return told(report) == 0 && !report.has_remaining_errors() ? 0 : 1;
}

int batch(const Words& w) {
  thaw::Model model = thaw::Model::load(w[0]);
  return told(thaw::batch(model, {}, {.path = w[1]}));
}

int optimize(const Words& w) {
  thaw::Model model = thaw::Model::load(w[0]);
  const thaw::OptimizeReport report = thaw::optimize(model, {.target = thaw::OptimizeTarget::kOrt}, {.path = w[1]});
  return told(report) == 0 && report.fits_target() ? 0 : 1;
}

int convert(const Words& w) {
  thaw::Model model = thaw::Model::load(w[0]);
  thaw::ConvertOptions options;
  options.precision.to = w[2] == "f16" ? thaw::NumberFormat::kFloat16 : thaw::NumberFormat::kInt4;
  return told(thaw::convert(model, options, {.path = w[1]}));
}

int pin(const Words& w) {
  thaw::Model model = thaw::Model::load(w[0]);
  return told(thaw::pin(model, {.sizes = sizes_of(w[2])}, {.path = w[1]}));
}

int split(const Words& w) {
  const thaw::Split parts = thaw::split(thaw::Model::load(w[0]), {.parts = 2}, {.path = w[1]});
  return told(parts.report);
}

int lift(const Words& w) {
  std::vector<thaw::LiftTrace> traces;
  for (size_t i = 1; i < w.size(); ++i) traces.push_back({.model = w[i]});
  return told(thaw::lift(traces, {}, {.path = w[0]}).report);
}

int verify(const Words& w) { return told(thaw::verify({.model = w[0], .reference = w[1]})); }

int run(const Words& w) {
  std::cout << to_json(thaw::run_model({.model = w[0], .random = true, .output = w[1]}));
  return 0;
}

int build(const Words& w) { return told(thaw::build(w[0], w[1], {.kv_cache = true})); }

int inputs(const Words& w) {
  const std::vector<std::filesystem::path> files = {w[0]};
  std::cout << to_json(thaw::inputs(files, {.preset = w[2]}, w[1]));
  return 0;
}

int sensitivity(const Words& w) {
  thaw::SensitivityOptions options;
  options.data = w[2];
  return told(thaw::sensitivity(thaw::Model::load(w[0]), options, w[1]));
}

int plan(const Words& w) {
  const thaw::SensitivityReport report = thaw::read_report(w[0]);
  const thaw::PlanReport made = thaw::best_plan(report, {.within = {.min_sqnr = 10}, .report = w[0]}, w[1]);
  std::cout << to_json(made, report);
  return 0;
}

const std::map<std::string, std::function<int(const Words&)>> kVerbs = {
    {"batch", batch},   {"build", build},
    {"check", check},   {"convert", convert},
    {"diff", diff},     {"fix", fix},
    {"inputs", inputs}, {"inspect", inspect},
    {"lift", lift},     {"optimize", optimize},
    {"pin", pin},       {"plan", plan},
    {"run", run},       {"sensitivity", sensitivity},
    {"split", split},   {"verify", verify}};

}  // namespace

int main(int argc, char** argv) {
  try {
    thaw::set_limits({.timeout = 600});
    return kVerbs.at(argv[1])(Words(argv + 2, argv + argc));
  } catch (const thaw::Error& error) {
    std::cout << to_json(error);
    return 2;
  }
}
