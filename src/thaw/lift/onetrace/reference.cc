#include "thaw/lift/onetrace/reference.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/run/cases.h"
#include "thaw/run/feeds.h"

namespace thaw::lifting::onetrace {
namespace {

// What an input or output must be: its element type, and its rank where that is declared.
struct Wanted {
  std::string name;
  ir::DataType type;
  std::optional<size_t> rank;
};

Wanted as_declared(const ir::Value& value) {
  Wanted wanted{value.name(), value.type.elem_type, {}};
  if (value.type.shape) wanted.rank = value.type.shape->size();
  return wanted;
}

std::vector<Wanted> inputs_of(const ir::Model& model, std::span<const AddedInput> added) {
  std::vector<Wanted> inputs;
  for (const ir::Value* input : model.graph->inputs())
    if (!input->initializer() && !input->sparse_initializer()) inputs.push_back(as_declared(*input));
  for (const AddedInput& input : added) inputs.push_back({input.name, input.type, input.dims.size()});
  return inputs;
}

std::string in_case(const std::string& name) { return name.empty() ? "" : fmt::format(" in case '{}'", name); }

void require_feed(const Wanted& input, const Case& which, const std::filesystem::path& path) {
  if (which.feeds.contains(input.name)) return;
  throw Error(ErrorCode::kInvalidFile,
              {.what = fmt::format("has no array for the input '{}'{}", input.name, in_case(which.name)),
               .where = path.string(),
               .expected = fmt::format("'{0}', '{0}_<i>' or '<case>/{0}'", input.name),
               .next = "store what the true model was fed with beside what it gave"});
}

// Before an array is read.
run::CaseFile::ChecksByName checks_of(std::span<const Wanted> wanted, std::string_view kind,
                                      const std::string& case_name, const std::filesystem::path& path) {
  return [=](const std::string& name) -> run::NpyCheck {
    const auto found = std::ranges::find(wanted, name, &Wanted::name);
    if (found == wanted.end()) return {};
    return [=, one = *found](const run::NpyShape& shape) {
      const bool is_type = one.type == ir::DataType::kUndefined || shape.dtype == one.type;
      if (is_type && (!one.rank || shape.dims.size() == *one.rank)) return;
      throw Error(ErrorCode::kInvalidFile,
                  {.what = fmt::format("the {} '{}'{} is {}", kind, name, in_case(case_name),
                                       run::describe(shape.dtype, shape.dims)),
                   .where = path.string(),
                   .expected = one.rank ? fmt::format("{} of rank {}", ir::name_of(one.type), *one.rank)
                                        : std::string(ir::name_of(one.type)),
                   .next = "store it as the model takes it"});
    };
  };
}

}  // namespace

std::vector<AddedInput> inputs_to_add(const std::filesystem::path& path, const ir::Model& model,
                                      std::span<const AddedInput> added,
                                      const std::map<std::string, std::vector<int64_t>>& at) {
  std::vector<AddedInput> missing;
  std::vector<std::string> known;
  for (const Wanted& input : inputs_of(model, added)) known.push_back(input.name);
  for (const auto& [name, values] : at) {
    const std::string input = name.substr(0, name.find('['));
    if (std::find(known.begin(), known.end(), input) != known.end() || model.graph->find(input)) continue;
    run::CaseFile file(path, {{input}});
    for (const auto& [case_name, arrays] : file.grouped().cases) {
      const Array array =
          file.read(case_name, {{input}}, [&](const std::string&) { return run::few_elements(input, path.string()); })
              .begin()
              ->second;
      const bool fits = input != name || array.num_elements() == static_cast<int64_t>(values.size());
      if (!ir::is_integer(array.dtype) || !fits) continue;
      missing.push_back({.name = input, .type = array.dtype, .dims = array.dims});
      known.push_back(input);
      break;
    }
  }
  return missing;
}

Reference read_reference(const std::filesystem::path& path, const ir::Model& model, std::span<const AddedInput> added,
                         std::span<const std::string> wanted) {
  const std::vector<Wanted> inputs = inputs_of(model, added);
  std::vector<std::string> input_names, output_names;
  for (const Wanted& input : inputs) input_names.push_back(input.name);
  std::vector<Wanted> outputs;
  for (const ir::Value* output : model.graph->outputs()) {
    output_names.push_back(output->name());
    outputs.push_back(as_declared(*output));
  }
  std::vector<std::string> names = output_names;
  names.insert(names.end(), input_names.begin(), input_names.end());
  run::CaseFile file(path, names);

  Reference reference;
  reference.unused = file.grouped().unused;
  std::set<std::string> seen;
  run::CaseNames with_outputs;
  for (const auto& [name, arrays] : file.grouped().cases) {
    for (const std::string& output : output_names) {
      if (!arrays.contains(output)) continue;
      seen.insert(output);
      with_outputs[name] = arrays;
    }
  }
  if (with_outputs.empty()) {
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = "has none of the model's outputs",
         .where = path.string(),
         .expected = fmt::format("'{}', as '<name>', '<name>_<i>' or '<case>/<name>'", fmt::join(output_names, "', '")),
         .next = "store the true model's outputs under the names that they have in this model"});
  }
  for (const std::string& output : output_names)
    if (!seen.contains(output)) reference.missing.push_back(output);
  std::vector<std::string> order = run::case_order(with_outputs);
  if (order.empty()) order.emplace_back();
  for (const std::string& name : wanted) {
    if (std::find(order.begin(), order.end(), name) != order.end()) continue;
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("has no case '{}'", name),
                                              .where = path.string(),
                                              .expected = fmt::format("one of '{}'", fmt::join(order, "', '"))});
  }
  for (const std::string& name : order) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    Case one{name, file.read(name, input_names, checks_of(inputs, "input", name, path)),
             file.read(name, output_names, checks_of(outputs, "output", name, path))};
    for (const Wanted& input : inputs) require_feed(input, one, path);
    reference.cases.push_back(std::move(one));
  }
  return reference;
}

}  // namespace thaw::lifting::onetrace
