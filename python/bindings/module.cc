// onnx_thaw._thaw: the library as it is. What users call is in the Python files of the package.
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "casters.h"
#include "errors.h"
#include "interrupt.h"
#include "result.h"
#include "weights.h"

#include "thaw/thaw.h"

// A vector of what cannot be copied says that it can.
template <>
struct nanobind::detail::is_copy_constructible<thaw::Split> : std::false_type {};

namespace thaw::python {
namespace {

using Path = std::filesystem::path;
using Paths = std::vector<Path>;
// Bytes of a NumPy array, by the location that the model calls them.
using Weights =
    std::vector<std::pair<std::string, nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>>;

// What keeps a Python object alive, from any thread.
std::shared_ptr<const void> kept_alive(const nb::object& object) {
  return {object.inc_ref().ptr(), [](void* held) {
            if (!nb::is_alive()) return;  // the interpreter is gone, and its objects with it
            const nb::gil_scoped_acquire acquire;
            Py_DECREF(static_cast<PyObject*>(held));
          }};
}

Model parse_weights(const nb::bytes& bytes, const Path& folder, const Weights& weights) {
  std::vector<WeightBytes> views;
  for (const auto& [location, array] : weights)
    views.push_back({.name = location,
                     .bytes = {reinterpret_cast<const std::byte*>(array.data()), array.size()},
                     .owner = kept_alive(nb::cast(array))});
  const std::span given(static_cast<const std::byte*>(bytes.data()), bytes.size());
  return interruptible([&] { return parse_with_weights(given, folder, views); });
}

// What `diff` found, with the models: pages show their graphs.
struct DiffResult : ModelDiff {
  DiffResult(ModelDiff&& found, Model&& a, Model&& b)
      : ModelDiff(std::move(found)), left(std::move(a)), right(std::move(b)) {}
  std::string page() const { return thaw::to_html(*this, left, right); }
  Model left, right;
};

// A plan, with the report that it is of: texts name its nodes.
struct PlanResult : PlanReport {
  PlanResult(PlanReport&& plan, const SensitivityReport& report) : PlanReport(std::move(plan)), measurements(report) {}
  SensitivityReport measurements;
};

// Views of the model's memory, by their location; sub-byte elements unpacked.
nb::tuple serialize_weights_apart(const Model& model, uint64_t least) {
  const SerializedApart made = interruptible([&] { return serialize_apart(model, least); });
  nb::dict weights;
  for (const WeightBytes& weight : made.weights) weights[nb::cast(weight.name)] = to_numpy(weight);
  return nb::make_tuple(nb::bytes(made.bytes.data(), made.bytes.size()), weights);
}

void bind_model_class(nb::module_& m) {
  nb::class_<Model>(
      m, "Model",
      "An ONNX model in memory. Its weights stay in the file that it was loaded from until they are needed, "
      "so the file must not be changed meanwhile.")
      .def_static(
          "load", [](const Path& path) { return interruptible([&] { return Model::load(path); }); }, nb::arg("path"),
          "Reads a model file; its weights are not read.\n\nRaises:\n    Error: the file cannot be read, or is no "
          "valid model.")
      .def_static(
          "parse",
          [](nb::bytes bytes, const Path& folder) {
            const std::span given(static_cast<const std::byte*>(bytes.data()), bytes.size());
            return interruptible([&] { return Model::parse(given, folder); });
          },
          nb::arg("bytes"), nb::arg("folder") = Path(),
          "The same from the bytes of a file; `folder`: of external data.")
      .def_static("parse_with_weights", &parse_weights, nb::arg("bytes"), nb::arg("folder"), nb::arg("weights"),
                  "The same, with bytes of weights that stay where they are, by the location in external_data.")
      .def_prop_ro("inputs", &Model::inputs, "Inputs as they are declared, with those that have a default.")
      .def_prop_ro("outputs", &Model::outputs, "Outputs as they are declared.")
      .def_prop_ro("path", &Model::path, "The path that it was loaded from; Path('.') for one from memory.")
      .def_prop_ro("data_files", &Model::data_files, "Files of its external data.")
      .def("opset", &Model::opset, nb::arg("domain") = "",
           "The imported opset of a domain; None where it is not imported.")
      .def(
          "to_proto", [](nb::handle self) { return nb::module_::import_("onnx_thaw._models").attr("to_proto")(self); },
          nb::sig("def to_proto(self) -> typing.Any"), "An onnx.ModelProto. External data stays in its files.")
      .def(
          "to_ir", [](nb::handle self) { return nb::module_::import_("onnx_thaw._models").attr("to_ir")(self); },
          nb::sig("def to_ir(self) -> typing.Any"),
          "An onnx_ir.Model, whose external tensors are read when they are needed.")
      .def("__repr__",
           [](nb::handle self) {
             return nb::str(nb::module_::import_("onnx_thaw._notebook").attr("text_of_model")(self));
           })
      .def("_repr_html_",
           [](const Model& self) { return to_notebook(interruptible([&] { return inspect_html(self); })); })
      .def("clone", &Model::clone, "An independent copy. Bytes of weights are shared.")
      .def(
          "keep_alive", [](Model& self, const nb::object& owner) { keep_alive(self, kept_alive(owner)); },
          nb::arg("owner"),
          "`owner` lives as long as the model, its copies and what is made of them: a temporary folder with its "
          "weights.")
      .def("__copy__", &Model::clone)
      .def("__deepcopy__", [](const Model& self, const nb::handle /*memo*/) { return self.clone(); })
      .def(
          "serialize",
          [](const Model& self) {
            const std::string bytes = interruptible([&] { return self.serialize(); });
            return nb::bytes(bytes.data(), bytes.size());
          },
          "The bytes of the model file. External data stays in its files.")
      .def(
          "serialize_apart", &serialize_weights_apart, nb::arg("least"),
          nb::sig("def serialize_apart(self, least: int) -> tuple[bytes, dict[str, numpy.typing.NDArray[typing.Any]]]"),
          "The same without weights of `least` bytes or more that are in memory; these as arrays, by the location in "
          "external_data.")
      .def("rename_sizes", &Model::rename_sizes, nb::arg("names"),
           "Gives sizes of inputs other names, wherever they are declared.")
      .def(
          "save",
          [](const Model& self, const Path& path, const SaveOptions& options) {
            return interruptible([&] { return self.save(path, options); });
          },
          nb::arg("path"), nb::arg("options") = SaveOptions(),
          "Writes the model whole or not at all; returns the files.");
}

void bind_dim(nb::module_& m) {
  using Values = std::map<std::string, int64_t>;
  nb::class_<Size>(
      m, "Dim",
      "A size as an expression of symbols, in normal form: two that are equal for all values are `==`. Division rounds "
      "toward minus infinity.\n\n"
      "Examples:\n"
      "    >>> height, width = thaw.Dim('height'), thaw.Dim('width')\n"
      "    >>> patches = (height // 14) * (width // 14)\n"
      "    >>> print(patches)\n"
      "    floor(height/14)*floor(width/14)\n"
      "    >>> patches.evaluate({'height': 224, 'width': 448})\n"
      "    512\n"
      "    >>> print(patches.subs({'width': height}))\n"
      "    floor(height/14)*floor(height/14)\n"
      "    >>> (height + 14) // 14 == height // 14 + 1\n"
      "    True\n"
      "    >>> thaw.prove('height % 32 == 0 => height % 16 == 0').holds\n"
      "    True\n")
      .def(
          "__init__", [](Size* self, const std::string& text) { new (self) Size(Size::parse(text)); }, nb::arg("text"),
          "From text as the command prints it: \"2*floor(height/14)\".")
      .def(nb::init<int64_t>(), nb::arg("value"))
      .def("__str__", &Size::text)
      .def("__repr__", [](const Size& self) { return "Dim('" + self.text() + "')"; })
      .def("__hash__", [](const Size& self) { return static_cast<int64_t>(std::hash<std::string>()(self.text())); })
      .def(
          "__eq__",
          [](const Size& self, nb::handle other) {
            if (nb::isinstance<Size>(other)) return self == nb::cast<const Size&>(other);
            int64_t number = 0;
            return nb::try_cast(other, number, false) && self == Size(number);
          },
          nb::arg().none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def(
          "__add__", [](const Size& a, const Size& b) { return a + b; }, nb::is_operator())
      .def(
          "__radd__", [](const Size& a, int64_t b) { return Size(b) + a; }, nb::is_operator())
      .def(
          "__sub__", [](const Size& a, const Size& b) { return a - b; }, nb::is_operator())
      .def(
          "__rsub__", [](const Size& a, int64_t b) { return Size(b) - a; }, nb::is_operator())
      .def(
          "__mul__", [](const Size& a, const Size& b) { return a * b; }, nb::is_operator())
      .def(
          "__rmul__", [](const Size& a, int64_t b) { return Size(b) * a; }, nb::is_operator())
      .def(
          "__floordiv__", [](const Size& a, const Size& b) { return floor_div(a, b); }, nb::is_operator())
      .def(
          "__rfloordiv__", [](const Size& a, int64_t b) { return floor_div(Size(b), a); }, nb::is_operator())
      .def(
          "__mod__", [](const Size& a, const Size& b) { return remainder(a, b); }, nb::is_operator())
      .def("__neg__", [](const Size& a) { return Size(0) - a; })
      .def_prop_ro("symbols", &Size::symbols, "Names of the symbols.")
      .def_prop_ro("value", &Size::constant, "The number; None where it has symbols.")
      .def(
          "evaluate",
          [](const Size& self, const Values& values) { return self.evaluate({values.begin(), values.end()}); },
          nb::arg("values"),
          "The number at these values of the symbols; None where one is missing, or at a division by 0.")
      .def("subs", &Size::substitute, nb::arg("replacements"),
           "With symbols replaced by expressions; the others stay.");
  nb::implicitly_convertible<int64_t, Size>();
}

void bind_session(nb::module_& m) {
  nb::class_<Session>(m, "Session", "A model in ONNX Runtime, in a process of its own.")
      .def(
          "__init__",
          [](Session* self, const Model& model, const SessionOptions& options) {
            new (self) Session(interruptible([&] { return Session(model, options); }));
          },
          nb::arg("model"), nb::arg("options") = SessionOptions())
      .def(
          "__init__",
          [](Session* self, const Path& path, const SessionOptions& options) {
            new (self) Session(interruptible([&] { return Session(path, options); }));
          },
          nb::arg("path"), nb::arg("options") = SessionOptions())
      .def_prop_ro("inputs", &Session::inputs)
      .def_prop_ro("outputs", &Session::outputs)
      .def(
          "run",
          [](Session& self, const Arrays& feeds, const std::vector<std::string>& outputs) {
            return interruptible([&] { return self.run(feeds, outputs); });
          },
          nb::arg("feeds"), nb::arg("outputs") = std::vector<std::string>())
      .def_prop_ro("runtime", &Session::runtime)
      .def("placement", [](Session& self) { return interruptible([&] { return self.placement(); }); })
      .def("take_warnings", &Session::take_warnings);
}

// A function that changes a model works on a copy.
template <typename Work>
auto on_copy(const Model& model, Work work) {
  using Report = std::invoke_result_t<Work, Model&>;
  return interruptible([&] {
    Model copy = model.clone();
    Report report = work(copy);
    return WithModel<Report>(std::move(report), std::move(copy));
  });
}

template <typename Report, typename Options>
void def_on_copy(nb::module_& m, const char* name, Report (*function)(Model&, const Options&, const Output&)) {
  m.def(
      name,
      [function](const Model& model, const Options& options, const Output& output) {
        return on_copy(model, [&](Model& copy) { return function(copy, options, output); });
      },
      nb::arg("model"), nb::arg("options"), nb::arg("output"));
}

void bind_verbs(nb::module_& m) {
  m.def(
      "inspect",
      [](const Model& model, const InspectOptions& options) {
        return interruptible([&] { return inspect(model, options); });
      },
      nb::arg("model"), nb::arg("options"));
  m.def(
      "inspect_json",
      [](const Model& model, const InspectOptions& options) {
        return interruptible([&] { return inspect_json(model, options); });
      },
      nb::arg("model"), nb::arg("options"));
  m.def(
      "inspect_text",
      [](const Model& model, const InspectOptions& options, bool all) {
        return interruptible([&] { return inspect_text(model, options, {.all = all}); });
      },
      nb::arg("model"), nb::arg("options"), nb::arg("all"));
  m.def(
      "inspect_html",
      [](const Model& model, const InspectOptions& options) {
        return interruptible([&] { return inspect_html(model, options); });
      },
      nb::arg("model"), nb::arg("options"));
  m.def(
      "annotate",
      [](const Model& model, const Output& output) {
        return on_copy(model, [&](Model& copy) { return annotate(copy, output); });
      },
      nb::arg("model"), nb::arg("output"));
  m.def(
      "diff",
      [](const Model& a, const Model& b, const DiffOptions& options) {
        return interruptible([&] {
          Model left = a.clone(), right = b.clone();  // which the page is of, whatever becomes of these
          ModelDiff found = diff(left, right, options);
          return DiffResult{std::move(found), std::move(left), std::move(right)};
        });
      },
      nb::arg("a"), nb::arg("b"), nb::arg("options"));
  m.def(
      "check",
      [](const Model& model, const CheckOptions& options) {
        return interruptible([&] { return check(model, options); });
      },
      nb::arg("model"), nb::arg("options"));
  m.def("rules", &rules);
  m.def("targets", &target_names);
  m.def("set_target", nb::overload_cast<const std::string&, OptimizeOptions&>(&set_target));
  m.def("set_target", nb::overload_cast<const std::string&, ConvertOptions&>(&set_target));
  m.def("set_target", nb::overload_cast<const std::string&, BuildOptions&>(&set_target));
  m.def("set_target", nb::overload_cast<const std::string&, SensitivityOptions&>(&set_target));
  m.def("profiles_json", [](const std::vector<ShapeProfile>& profiles) { return to_json(std::span(profiles)); });
  def_on_copy(m, "fix", &fix);
  m.def(
      "fix_with_reference",
      [](const Model& model, const Path& reference, const FixReferenceOptions& options, const Output& output) {
        return on_copy(model, [&](Model& copy) { return fix_with_reference(copy, reference, options, output); });
      },
      nb::arg("model"), nb::arg("reference"), nb::arg("options"), nb::arg("output"));
  def_on_copy(m, "batch", &batch);
  def_on_copy(m, "optimize", &optimize);
  m.def("optimize_passes", &optimize_passes);
  def_on_copy(m, "convert", &convert);
  m.def("read_plan", &read_plan, nb::arg("path"), nb::arg("options"), nb::arg("model"));
  m.def("default_method", &default_method, nb::arg("to"), nb::arg("has_samples"), nb::arg("real_zeros"));
  m.def("default_precision", &default_precision, nb::arg("precision"), nb::arg("target"));
  def_on_copy(m, "pin", &pin);
  m.def(
      "pin_each",
      [](const Model& model, const std::vector<PinOptions>& options, const Output& output) {
        return interruptible([&] { return pin_each(model, options, output); });
      },
      nb::arg("model"), nb::arg("options"), nb::arg("output"));
  m.def(
      "lift",
      [](const std::vector<LiftTrace>& traces, const LiftOptions& options, const Output& output) {
        return interruptible([&] { return lift(traces, options, output); });
      },
      nb::arg("traces"), nb::arg("options"), nb::arg("output"));
  m.def(
      "build",
      [](const Path& checkpoint, const Path& folder, const BuildOptions& options) {
        return interruptible([&] { return build(checkpoint, folder, options); });
      },
      nb::arg("checkpoint"), nb::arg("folder"), nb::arg("options"));
  m.def(
      "split",
      [](const Model& model, const SplitOptions& options, const Output& output) {
        return interruptible([&] { return split(model, options, output); });
      },
      nb::arg("model"), nb::arg("options"), nb::arg("output"));
  m.def(
      "cut_points",
      [](const Model& model, const NamedSizes& sizes) {
        return interruptible([&] { return cut_points(model, sizes); });
      },
      nb::arg("model"), nb::arg("sizes"));
  m.def(
      "sensitivity",
      [](const Model& model, const SensitivityOptions& options, const Path& folder) {
        return interruptible([&] { return sensitivity(model, options, folder); });
      },
      nb::arg("model"), nb::arg("options"), nb::arg("folder"));
  m.def(
      "sensitivity_of_folder",
      [](const Path& models, const SensitivityOptions& options, const Path& folder) {
        return interruptible([&] { return sensitivity(models, options, folder); });
      },
      nb::arg("models"), nb::arg("options"), nb::arg("folder"));
  m.def("default_metric", &default_metric, nb::arg("is_folder"));
  m.def(
      "merge_reports",
      [](const Paths& folders, const Path& folder, const std::optional<std::string>& model,
         const std::optional<std::string>& data) {
        return interruptible([&] {
          SensitivityReport merged = merge_reports(folders, {});
          merged.model = model.value_or(merged.model);
          merged.data = data.value_or(merged.data);
          if (!folder.empty()) write_report(merged, folder);
          return merged;
        });
      },
      nb::arg("folders"), nb::arg("folder"), nb::arg("model") = nb::none(), nb::arg("data") = nb::none(),
      "Merges shards. `model` and `data`: paths to name, where the shards read copies.");
  m.def("read_report", &read_report, nb::arg("folder"));
  m.def(
      "write_report", [](const SensitivityReport& report, const Path& folder) { write_report(report, folder); },
      nb::arg("report"), nb::arg("folder"));
  m.def(
      "best_plan",
      [](const SensitivityReport& report, const BestPlanOptions& options, const Path& output) {
        return interruptible([&] { return PlanResult{best_plan(report, options, output), report}; });
      },
      nb::arg("report"), nb::arg("options"), nb::arg("output"));
  m.def(
      "inputs",
      [](const Paths& files, const InputsOptions& options, const Path& output) {
        return interruptible([&] { return inputs(files, options, output); });
      },
      nb::arg("files"), nb::arg("options"), nb::arg("output"));
  m.def(
      "generate",
      [](const Path& folder, const GenerateOptions& options) {
        return interruptible([&] { return generate(folder, options); });
      },
      nb::arg("folder"), nb::arg("options"));
  m.def(
      "run_model",
      [](const RunOptions& options, const Model* model) {
        return interruptible([&] { return model ? run_model(*model, options) : run_model(options); });
      },
      nb::arg("options"), nb::arg("model").none(), "`model`: instead of the path in the options, where it is given.");
  m.def(
      "verify",
      [](const VerifyOptions& options, const Model* model, const Model* reference) {
        return interruptible([&] { return verify(options, model, reference); });
      },
      nb::arg("options"), nb::arg("model").none(), nb::arg("reference").none(),
      "`model` and `reference`: instead of the paths in the options, where they are given.");
  m.def(
      "compare",
      [](const Array& actual, const Array& expected, const Tolerance& tolerance, bool cast) {
        return interruptible([&] { return compare(actual, expected, tolerance, cast); });
      },
      nb::arg("actual"), nb::arg("expected"), nb::arg("tolerance"), nb::arg("cast") = false);
  m.def("parse_sizes", &parse_sizes, nb::arg("text"));
  m.def("parse_points", &parse_points, nb::arg("text"));
  m.def("set_sizes", &set_sizes, nb::arg("text"), nb::arg("options"));
  m.def("parse_added_input", &parse_added_input, nb::arg("text"));
  m.def("parse_provider", &parse_provider, nb::arg("text"));
  m.def("prove", &prove, nb::arg("statement"));
  m.def("set_onnxruntime", &set_onnxruntime, nb::arg("path"));
  m.def("set_providers", &set_providers, nb::arg("providers"));
  m.def("providers", &providers);
  m.def("set_limits", &set_limits, nb::arg("limits"));
  m.def("limits", &limits);
}

// What its report has, of a result that holds one.
template <typename Result>
nb::class_<Result> bind_with_report(nb::module_& m, const char* name) {
  using Report = std::decay_t<decltype(Result::report)>;
  nb::class_<Result> bound(m, name, "The report, with what was made.");
  bound
      .def_prop_ro(
          "report", [](const Result& self) -> const Report& { return self.report; }, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "accepted", [](const Result& self) { return self.report.accepted(); }, "Whether it may be used.")
      .def(
          "to_json", [](const Result& self) { return to_json(self.report); },
          "What the command prints with --format json.")
      .def(
          "to_text", [](const Result& self, bool all) { return to_text(self.report, TextOptions{.all = all}); },
          nb::kw_only(), nb::arg("all") = false, "What the command prints; `all`: every item of long lists.")
      .def("__str__", [](const Result& self) { return to_text(self.report); })
      .def("__repr__", [](nb::handle self) { return to_repr(self.attr("report")); })
      .def(
          "to_html", [](const Result& self) { return to_html(self.report); },
          "The page that the command writes with --report, one file that needs no network.")
      .def("_repr_html_", [](const Result& self) { return to_notebook(to_html(self.report)); })
      .def(
          "to_pandas", [](nb::handle self) { return self.attr("report").attr("to_pandas")(); },
          nb::sig("def to_pandas(self) -> typing.Any"), "The list that the report is about, as a pandas.DataFrame.");
  return bound;
}

void bind_lift_and_split(nb::module_& m) {
  nb::class_<AddedInput>(m, "AddedInput", "An input that is not in the traces.")
      .def(nb::init<>())
      .def_rw("name", &AddedInput::name)
      .def_rw("type", &AddedInput::type)
      .def_rw("dims", &AddedInput::dims);
  bind_with_report<LiftResult>(m, "LiftResult")
      .def_prop_ro(
          "model", [](LiftResult& self) { return self.model ? &*self.model : nullptr; },
          nb::rv_policy::reference_internal, "The lifted model; None where it is not accepted.",
          nb::sig("def model(self) -> Model | None"))
      .def(
          "save",
          [](nb::handle_t<LiftResult> self, const Path& path, const SaveOptions& options) {
            const auto& result = nb::cast<const LiftResult&>(self);
            if (!result.model) refuse(self);
            return save_result(self, result.report.accepted(), *result.model, path, options);
          },
          nb::arg("path"), nb::arg("options") = SaveOptions(),
          "Writes the model and returns the files. Raises Refused where the result is not accepted.");
  bind_with_report<Split>(m, "SplitResult")
      .def_prop_ro(
          "parts",
          [](const Split& self) {
            nb::list parts;
            for (const Model& part : self.parts) parts.append(nb::cast(part.clone()));
            return parts;
          },
          "The parts, in the order in which they run.", nb::sig("def parts(self) -> list[Model]"));
}

void bind_diff_and_plan(nb::module_& m) {
  nb::class_<DiffResult, ModelDiff>(m, "DiffResult", "The differences, with the models.")
      .def(
          "to_html", [](const DiffResult& self) { return interruptible([&] { return self.page(); }); },
          "The page that the command writes with --report, one file that needs no network.")
      .def("_repr_html_",
           [](const DiffResult& self) { return to_notebook(interruptible([&] { return self.page(); })); });
  nb::class_<PlanResult, PlanReport>(m, "PlanResult", "The plan, with the report that it is of.")
      .def(
          "to_json", [](const PlanResult& self) { return to_json(self, self.measurements); },
          "What the command prints with --format json.")
      .def(
          "to_text", [](const PlanResult& self) { return to_text(self, self.measurements); },
          "What the command prints.")
      .def("__str__", [](const PlanResult& self) { return to_text(self, self.measurements); });
}

}  // namespace

NB_MODULE(_thaw, m) {
  m.def("version", [] { return std::string(kVersion); });
  bind_errors(m);
  bind_dim(m);
  bind_structs(m);
  bind_model_class(m);
  bind_lift_and_split(m);
  bind_diff_and_plan(m);
  bind_session(m);
  bind_verbs(m);
  bind_build_in_memory(m);
}

}  // namespace thaw::python
