// Against a file that holds inputs and what they should give.
#include <algorithm>
#include <set>

#include "thaw/core/error.h"
#include "thaw/run/verifier.h"

namespace thaw::run {

// Every .npz file of a folder, by name; one that cannot be compared is an error, not left out.
void Verifier::run_against_folder() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(options_.reference))
    if (entry.path().extension() == ".npz") files.push_back(entry.path());
  if (files.empty())
    throw Error(ErrorCode::kInvalidFile, {.what = "holds no .npz file",
                                          .where = options_.reference.string(),
                                          .expected = "files of inputs and what they should give"});
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    outputs_.clear();
    run_against_file(file, file.stem().string());
  }
}

void Verifier::run_against_file(const std::filesystem::path& path, const std::string& label) {
  if (options_.how.per_sample || !sweep_.empty()) {
    throw Error(ErrorCode::kInvalidArgument, {.what = "a reference file has its own sizes",
                                              .where = path.string(),
                                              .expected = "neither --sizes nor --per-sample"});
  }
  std::vector<std::string> outputs;
  std::vector<std::string> names;  // as they stand in the file
  for (const std::string& name : model_outputs()) names.push_back(name_in_file(name));
  for (const std::string& name : input_names_) names.push_back(name_in_file(name));
  CaseFile reference(path, names);
  std::set<std::string> present;
  CaseNames with_outputs;
  for (const auto& [case_name, arrays] : reference.grouped().cases) {
    for (const std::string& name : model_outputs()) {
      if (!arrays.contains(name_in_file(name))) continue;
      present.insert(name);
      with_outputs[case_name] = arrays;
    }
  }
  choose_outputs([&](const std::string& name) { return present.contains(name); }, reference_arrays(reference));
  if (!reference.grouped().unused.empty()) {
    add_once(report_.notes, "arrays of the reference that are no input or output of the model were not used: " +
                                quoted_list(reference.grouped().unused));
  }
  std::vector<CaseFile> files;
  std::vector<std::string> input_cases;
  open_inputs(files, input_cases);
  std::vector<std::string> cases = case_order(with_outputs);
  if (cases.empty()) cases.emplace_back();
  for (size_t i = 0; i < cases.size(); ++i) {
    show_progress(i, cases.size());
    PointResult& result = report_.points.emplace_back(run_file_case(cases[i], reference, files));
    if (!label.empty()) result.case_name = label + (result.case_name.empty() ? "" : "/" + result.case_name);
  }
  show_progress(cases.size(), cases.size());
}

const std::string& Verifier::name_in_file(const std::string& name) const {
  const auto mapped = options_.how.names.find(name);
  return mapped == options_.how.names.end() ? name : mapped->second;
}

CaseFile::ChecksByName Verifier::input_checks(const std::string& where) const {
  return [this, where](const std::string& name) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(), [&](const InputSpec& spec) {
      return spec.name == name || name_in_file(spec.name) == name;
    });
    return input == inputs_.end() ? NpyCheck() : shape_check(*input, where);
  };
}

std::vector<std::string> Verifier::reference_arrays(const CaseFile& reference) {
  std::vector<std::string> names;
  for (const auto& [case_name, arrays] : reference.grouped().cases) {
    for (const auto& [name, array] : arrays) names.push_back(array);
  }
  for (const std::string& name : reference.grouped().unused) names.push_back(name);
  return names;
}

PointResult Verifier::run_file_case(const std::string& case_name, CaseFile& reference, std::vector<CaseFile>& files) {
  FeedOptions feeds = options_.feeds;
  for (CaseFile& file : files) add_arrays(feeds, file.read(case_name, input_names_, input_checks(file.path())));
  std::vector<std::string> names;
  for (const std::string& name : input_names_) names.push_back(name_in_file(name));
  const Arrays given = reference.read(case_name, names, input_checks(reference.path()));
  for (const std::string& name : input_names_) {
    if (const auto found = given.find(name_in_file(name)); found != given.end()) {
      feeds.arrays.insert_or_assign(name, found->second);
    }
  }
  for (const InputSpec& input : inputs_) {
    const bool fed = feeds.arrays.contains(input.name) || feeds.values.contains(input.name) || input.has_default;
    if (fed) continue;
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = "has no array for the input '" + input.name + "'" + (case_name.empty() ? "" : " in case " + case_name),
         .where = reference.path(),
         .expected = "'" + input.name + "', '" + input.name + "_<i>' or '<case>/" + input.name + "'",
         .next = "give it with --input"});
  }
  const Feeder feeder(inputs_, scope_, std::move(feeds));
  const Arrays fed = make_feeds(feeder, {});
  PointResult result;
  result.case_name = case_name;
  Arrays actual;
  if (!run_model(fed, result, actual)) return result;
  std::vector<std::string> output_names;
  for (const std::string& name : outputs_) output_names.push_back(name_in_file(name));
  // One of another shape differs, and that is what is said.
  Arrays stored = reference.read(case_name, output_names, [](const std::string&) { return NpyCheck(); });
  Arrays expected;
  for (const std::string& name : outputs_) {
    if (auto found = stored.find(name_in_file(name)); found != stored.end())
      expected.emplace(name, std::move(found->second));
  }
  compare_outputs(actual, expected, /*all=*/false, result);
  return result;
}

}  // namespace thaw::run
