// The model that another is compared with, run on the other's feeds.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "thaw/run/feeds.h"
#include "thaw/run/model_source.h"
#include "thaw/run/session.h"
#include "thaw/verify.h"

namespace thaw::run {

using thaw::ReferenceOptions;

using OpenSession = std::function<Session(const ModelSource&, const SessionOptions&)>;

class Reference {
 public:
  // Loads the reference and matches its inputs with the model's. Throws thaw::Error for an input of the reference that
  // the model has not, or has with another element type (unless `cast`).
  Reference(ModelSource source, std::span<const InputSpec> model_inputs, ReferenceOptions options,
            const OpenSession& open = {});

  // The reference's name of one of the model's.
  const std::string& name_of(const std::string& model_name) const;
  bool has_output(const std::string& model_name) const;
  std::vector<std::string> output_names() const;

  // Rounds feeds to what both sides can hold, so that they see the same numbers.
  void equalize(Arrays& feeds) const;

  // Runs on feeds by the model's names; outputs by the model's names. With `per_sample` each output has the form of
  // `model_outputs`' one: samples along axis 0, put one after the other or stacked, whichever gives its shape.
  // A memory plan that ONNX Runtime refuses for the sizes that the file declares is answered by running without those.
  Arrays run(const Arrays& feeds, std::span<const std::string> outputs, const Arrays& model_outputs);

  const Runtime& runtime() const { return session_->runtime(); }

  // What had to be done to run it; each text once.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Arrays run_once(const Arrays& feeds, std::span<const std::string> outputs);
  Arrays run_rows(const Arrays& feeds, std::span<const std::string> outputs, const Arrays& model_outputs);
  void relax(const std::string& reason);
  void find_batch(std::span<const InputSpec> model_inputs);

  ModelSource source_;
  ReferenceOptions options_;
  std::map<std::string, ir::DataType> wanted_types_;  // by the model's name, of inputs that the reference takes
  std::set<std::string> batched_;                     // inputs that are cut into rows
  std::set<std::string> unbatched_rank_;              // of those, the ones whose reference lacks axis 0
  std::optional<Session> session_;
  bool relaxed_ = false;
  std::vector<std::string> notes_;
};

// Results of single rows in the form of `like`: stacked along a new axis 0 where that gives its shape, else one after
// the other where the rows have an axis.
Array assemble_rows(std::span<const Array> rows, const Array* like);

}  // namespace thaw::run
