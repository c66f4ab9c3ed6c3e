// Results of functions that make a model of another: the report, with that model.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "casters.h"

#include "thaw/model.h"

namespace thaw::python {

template <typename Report>
struct WithModel : Report {
  WithModel(Report&& report, Model&& made) : Report(std::move(report)), model(std::move(made)) {}
  Model model;
};

// Throws onnx_thaw.Refused of the result.
[[noreturn]] void refuse(nb::handle result);

// Files of a result that is accepted; else throws Refused.
std::vector<std::filesystem::path> save_result(nb::handle self, bool accepted, const Model& model,
                                               const std::filesystem::path& path, const SaveOptions& options);

template <typename Report>
void bind_result(nb::module_& m, const char* name) {
  using Result = WithModel<Report>;
  nb::class_<Result, Report>(m, name, "The report, with the model.")
      .def_prop_ro(
          "model", [](Result& self) -> Model& { return self.model; }, nb::rv_policy::reference_internal,
          "The result where it is accepted; else a copy of the original, unchanged.")
      .def(
          "save",
          [](nb::handle_t<Result> self, const std::filesystem::path& path, const SaveOptions& options) {
            const auto& result = nb::cast<const Result&>(self);
            return save_result(self, result.accepted(), result.model, path, options);
          },
          nb::arg("path"), nb::arg("options") = SaveOptions(),
          "Writes the model and returns the files. Raises Refused where the result is not accepted.");
}

}  // namespace thaw::python
