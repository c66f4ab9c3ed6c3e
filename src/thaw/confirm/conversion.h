// A conversion beside its original, before it is written: what each output loses.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/confirm/original.h"
#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/run/session.h"

namespace thaw::confirm {

// A run of both models.
struct FirstRun {
  Dataset from = Dataset::kRandom;
  std::string name;  // of the case
  Arrays feeds;      // as the original takes them
  Arrays fed;        // as the result takes them
};

// Adds to a report what it finds: errors of outputs, failures, warnings, what could not be compared.
class ConversionCheck {
 public:
  // `converted` and `original` as they are run: with the same numbers where they draw some.
  ConversionCheck(std::unique_ptr<ir::Model> converted, std::unique_ptr<ir::Model> original, ConvertReport& report);

  // Loads the result; false, with the reason among the failures, where ONNX Runtime refuses it. What is wrong with a weight,
  // which is converted now, is thrown.
  bool load();
  // The first few of the samples. All that is held out comes before what was calibrated on, and that before what is drawn.
  void run_samples(const quantizing::Samples& samples, Dataset from);
  // At sizes that are drawn, the model's own first. Returns what was fed.
  std::vector<Arrays> run_drawn(const FeedOptions& feeds);
  // Of each output, by the first of these that it was run on: what was drawn may be nothing that the model is fed in use, and
  // what it was calibrated on is what it is best at.
  void judge();
  // The first that both ran on; nullopt where there was none.
  std::optional<FirstRun> take_first_run() { return std::move(first_run_); }
  // The result as it was run; no run comes after.
  std::unique_ptr<ir::Model> take_converted() { return std::move(converted_); }

 private:
  // What an output comes to over several runs: sums of squares, and the run of most noise.
  struct Runs {
    Dataset from = Dataset::kRandom;
    double signal = 0, noise = 0, worst = 0;
    std::string worst_at;
    int count = 0;
    double from_nothing = 0;  // the largest element where the model's are all 0
    std::string from_nothing_at;
  };

  void add(Dataset from, const std::string& name, const Arrays& feeds, const Arrays& wanted);
  void count(const OutputComparison& error, double signal, double noise);
  void judge(const std::string& output, const Runs& runs);
  DataType type_of(const std::string& input, DataType otherwise) const;

  std::unique_ptr<ir::Model> converted_, given_, own_;
  Original before_;
  std::optional<run::Session> after_;
  ConvertReport& report_;
  std::optional<FirstRun> first_run_;
  std::map<std::string, Runs> runs_;                 // by output
  std::map<std::string, std::string> incomparable_;  // outputs without a number to compare, and where
};

// "held-out samples".
std::string_view name_of(Dataset from);

// Whether weights or Casts of the model have the type.
bool has_type(const ir::Model& model, DataType type);

}  // namespace thaw::confirm
