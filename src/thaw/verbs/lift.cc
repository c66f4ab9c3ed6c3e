#include "thaw/lift/lift.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/confirm/traces.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/lift/align/values.h"
#include "thaw/prove/stated_proof.h"
#include "thaw/rewrite/submodel.h"
#include "thaw/run/feeds.h"
#include "thaw/run/npz.h"
#include "thaw/run/session.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/output.h"
#include "thaw/verbs/proven.h"

namespace thaw {
namespace {

constexpr size_t kMostValues = 16;  // of an input, in a report

std::string type_text(const ir::Type& type) {
  return fmt::format("{}{}", ir::name_of(type.elem_type), ir::dims_text(type));
}

std::vector<PortText> port_texts(const std::vector<ir::Value*>& values) {
  std::vector<PortText> ports;
  for (const ir::Value* value : values)
    if (value->initializer() == nullptr) ports.push_back({value->name(), type_text(value->type)});
  return ports;
}

std::string values_text(const std::vector<int64_t>& values) {
  const bool whole = values.size() <= kMostValues;
  return fmt::format("{}{}", fmt::join(std::span(values).first(whole ? values.size() : kMostValues), ", "),
                     whole ? "" : ", …");
}

// Of a trace, before it is changed: types as declared, values as they were given.
struct TraceInput {
  std::string name;
  ir::Type type;  // undefined for an input that the exporter took out
  std::string values;
};

std::vector<TraceInput> inputs_of(const lifting::Trace& trace) {
  std::vector<TraceInput> inputs;
  for (const ir::Value* value : trace.model->graph->inputs())
    if (value->initializer() == nullptr) inputs.push_back({value->name(), value->type, {}});
  for (const auto& [name, given] : trace.values) {
    if (given.values.empty()) continue;
    auto input = std::ranges::find(inputs, name, &TraceInput::name);
    if (input == inputs.end()) input = inputs.insert(input, {name, {}, {}});
    input->values = values_text(given.values);
  }
  return inputs;
}

// "float32[660, 1536]", "int64[1, 3] = 1, 22, 30". A name among the sizes is shown as its value in the trace.
std::string input_text(const TraceInput& input, const std::vector<Note>& sizes, size_t trace) {
  std::string text = "added";
  if (input.type.kind != ir::Type::Kind::kNone) {
    ir::Type type = input.type;
    if (type.shape) {
      for (ir::DeclaredDim& dim : *type.shape)
        for (const Note& size : sizes)
          if (!dim.value && dim.param == size.where && trace < size.at.size()) dim.param = size.at[trace];
    }
    text = type_text(type);
  }
  return input.values.empty() ? text : text + " = " + input.values;
}

// An .npz file with the inputs of the trace that is called like it. Of integers the values are read, of other arrays the shape.
void read_archive(const std::filesystem::path& path, std::vector<lifting::Trace>& traces) {
  const auto trace = std::ranges::find_if(
      traces, [&](const lifting::Trace& t) { return std::filesystem::path(t.name).stem() == path.stem(); });
  if (trace == traces.end()) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("'{}' is the name of no trace", path.stem().string()),
                 .where = path.string(),
                 .expected = "an archive that is called as its trace: trace_22x30.npz for trace_22x30.onnx",
                 .next = "rename it, or give all values in a JSON file"});
  }
  run::NpzReader reader(path);
  for (const std::string& name : reader.names()) {
    const run::NpyShape shape = reader.shape(name);
    InputValues& values = trace->values[name];
    values.dims = shape.dims;
    if (!ir::is_integer(shape.dtype) && shape.dtype != ir::DataType::kBool) continue;
    const ir::Value* input = trace->model->graph->find(name);
    values.values =
        run::to_int64s(reader.read(name, input && input->is_input() ? run::shape_check(name, input->type, reader.path())
                                                                    : run::few_elements(name, reader.path())));
  }
}

// What a node of the lifted model reads; empty where there is no such node any more.
std::string name_of_operand(const ir::Model& lifted, const lifting::TableReader& reader) {
  const ir::Value* output = lifted.graph->find(reader.node);
  const ir::Node* node = output ? output->producer() : nullptr;
  const ir::Value* operand = node ? node->input(reader.input) : nullptr;
  return operand ? operand->name() : "";
}

std::vector<confirm::TraceToRun> traces_to_run(const std::vector<lifting::Trace>& traces) {
  std::vector<std::string> made;
  for (const lifting::TableReader& reader : traces.front().corrected)
    made.push_back(name_of_operand(*traces.front().model, reader));
  std::vector<confirm::TraceToRun> runs;
  for (const lifting::Trace& trace : traces) {
    confirm::TraceToRun& run = runs.emplace_back(confirm::TraceToRun{
        .name = trace.name, .path = trace.model->path, .values = trace.values, .sizes = trace.sizes});
    for (size_t i = 0; i < trace.corrected.size(); ++i)
      if (const auto& [node, input, table] = trace.corrected[i]; !made[i].empty())
        run.misread.push_back({node, input, table, made[i]});
  }
  return runs;
}

// What makes the tables that are read otherwise; nullptr where none is.
std::unique_ptr<ir::Model> tables_of(const ir::Model& lifted, const std::vector<confirm::MisreadTable>& misread) {
  std::set<std::string> names;
  for (const confirm::MisreadTable& table : misread) names.insert(table.made);
  return names.empty() ? nullptr : rewrite::submodel_of(lifted, {}, {names.begin(), names.end()});
}

// Integer inputs as the trace was exported with them.
Arrays given_in(const lifting::Trace& trace, const ir::Model& lifted) {
  Arrays given;
  for (const auto& [name, known] : trace.values) {
    const ir::Value* input = lifted.graph->find(name);
    if (known.values.empty() || !input || !input->is_input() || !ir::is_integer(input->type.elem_type)) continue;
    given.emplace(name, Array::from_doubles(input->type.elem_type, known.dims,
                                            std::vector<double>(known.values.begin(), known.values.end())));
  }
  return given;
}

Proof prove_lifted(const ir::Model& lifted, const std::vector<lifting::Trace>& traces,
                   const std::vector<RunCheck>& checks) {
  if (checks.empty()) return {};
  const Phase phase("proving");
  std::vector<std::unique_ptr<ir::Model>> models;  // as they were: the lifted one was made of the first
  std::vector<verbs::Origin> origins;
  for (const lifting::Trace& trace : traces) {
    models.push_back(ir::load(trace.model->path));
    origins.push_back({.model = models.back().get(), .given = given_in(trace, lifted)});
  }
  return verbs::prove_each(lifted, origins, checks);
}

}  // namespace

bool LiftReport::accepted() const {
  return unexplained.empty() && confirm::all_agree(checks) && !load_check.has_failed();
}

LiftResult lift(const std::vector<LiftTrace>& given, const LiftOptions& options, const Output& output) {
  const CallClock clock;
  std::vector<lifting::Trace> traces;
  for (const LiftTrace& trace : given)
    traces.push_back({.name = trace.model.filename().string(), .model = ir::load(trace.model), .values = trace.values});
  for (const lifting::Trace& trace : traces) verbs::require_output(*trace.model, output);
  for (const std::filesystem::path& path : options.values)
    path.extension() == ".npz" ? read_archive(path, traces) : lifting::read_values(path, traces);
  if (options.check) run::prepare_sessions();
  std::vector<std::vector<TraceInput>> inputs;
  for (const lifting::Trace& trace : traces) inputs.push_back(inputs_of(trace));
  LiftResult result;
  LiftReport& report = result.report;
  {
    const Phase phase("lifting");
    report = lifting::lift(traces, options);
  }
  report.output = output.path.string();
  for (size_t k = 0; k < traces.size(); ++k) {
    TraceInputs& trace_inputs = report.traces.emplace_back(TraceInputs{traces[k].name, {}});
    for (const TraceInput& input : inputs[k])
      trace_inputs.inputs.push_back({input.name, input_text(input, report.symbols, k)});
  }
  if (!report.unexplained.empty()) return result;
  std::unique_ptr<ir::Model>& model = traces.front().model;
  verbs::require_renames(*model, output);
  report.inputs = port_texts(model->graph->inputs());
  report.outputs = port_texts(model->graph->outputs());
  const std::vector<confirm::TraceToRun> runs = traces_to_run(traces);
  if (options.check)
    report.checks = confirm::compare_with_traces(*model, runs, tables_of(*model, runs.front().misread).get());
  if (!report.accepted()) return result;
  report.proof = prove_lifted(*model, traces, report.checks);
  proving::forget_proof(*model);
  verbs::publish(*model, output, {.is_checked = options.check}).tell(report);
  if (!report.accepted()) return result;
  result.model = ModelAccess::make(std::move(model));
  return result;
}

}  // namespace thaw
