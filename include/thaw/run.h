// Running a model in ONNX Runtime, on the CPU.
//
//   thaw::Session session("vision.onnx");
//   thaw::Arrays outputs = session.run({{"pixel_values", pixels}, {"grid_thw", grid}});
//
// ONNX Runtime runs in a process of its own, lib/thaw/thaw-worker or what the environment's THAW_WORKER names, which the
// first session starts and which ends with this process; all sessions share it. The library is libonnxruntime.so.1 beside
// libthaw.so, or what THAW_ONNXRUNTIME names. Whatever it refuses, at loading or at running, is a thaw::Error
// (kRuntimeFailed) that carries its message, and so is a model that crashes it. What a model may spend is said by
// thaw/limits.h: one that takes longer or more is a thaw::Error (kOutOfBudget). Nothing is printed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "thaw/array.h"
#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/report.h"

namespace thaw {

// How far ONNX Runtime rewrites the graph.
enum class Optimization : uint8_t { kNone, kBasic, kExtended, kAll };

struct SessionOptions {
  int threads = 0;  // inside an operator; 0: one a core
  Optimization optimization = Optimization::kAll;
  bool memory_pattern = true;  // plan one block for all intermediate tensors from the first run's sizes
  bool memory_arena = true;    // keep freed memory for the next run
  // Threads stay awake between operators: a little faster where nothing else runs, and else a waste of the processor.
  bool spinning = true;
  // ONNX Runtime is loaded into this process, where no limit holds: a crash of it is a crash of this process, and what
  // never ends is never stopped. Only for models that are trusted.
  bool in_process = false;
};

namespace run {
class Session;
}

class THAW_API Session {
 public:
  explicit Session(const std::filesystem::path& path, const SessionOptions& options = {});
  // The model as it is in memory, with external data where it lies.
  explicit Session(const Model& model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  std::vector<Port> inputs() const;  // without dims: ONNX Runtime is not asked for them
  std::vector<Port> outputs() const;

  // Runs the model. Every input without default must be fed, with the type it has; `wanted` names outputs, all when
  // empty. A sequence of tensors comes back as NAME[0], NAME[1], …; an empty optional is left out; maps are refused.
  // May be called from several threads.
  Arrays run(const Arrays& feeds, const std::vector<std::string>& wanted = {});

  // What ONNX Runtime warned of since the last call, each text once.
  std::vector<std::string> take_warnings();

 private:
  std::unique_ptr<run::Session> session_;
};

struct ValueRange {
  double lowest = 0, highest = 0;  // inclusive for integers
};

// What a model is fed where Thaw runs it. Inputs that are given here are fed as given. The others are drawn: floats from
// a normal distribution, integers small and not negative (0 to 9, or within the table that they index), booleans at
// random; an integer or boolean input whose name says "mask" gets rows of ones that end in zeros. What is drawn depends
// on the seed, the input's name and its shape, on nothing else.
struct FeedOptions {
  Arrays arrays;  // by input name
  // All elements of an input, row-major, as text: {"1", "22", "30"}; one value fills any shape.
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, ValueRange> ranges;  // uniform over the range instead of the defaults above
  uint64_t seed = 0;
  // Arrays of files, read when the model's inputs are known: "NAME=FILE.npy", "NAME=FILE.npz" (its array NAME, or its only one),
  // "FILE.npz" (those that are called as inputs are).
  std::vector<std::string> files = {};
};

// One run of a new model beside what it was made of, on the same inputs: the evidence that it is right.
struct RunCheck {
  std::string name;                                         // the trace; the sizes
  std::vector<std::pair<std::string, std::string>> inputs;  // name and "float32[660,1536]", of the new model
  double max_abs = 0;     // largest difference of an element; infinite where the two cannot be compared
  double largest = 0;     // largest element of what was wanted, in the output that max_abs is of
  uint64_t elements = 0;  // that were compared; of none, nothing but shapes and types
  bool agrees = true;     // each output within 1e-3 of its largest element; 1e-2 for floats of 16 bits and fewer
  std::string message;    // why it does not
};

struct RunOptions {
  std::filesystem::path model;
  FeedOptions feeds = {};
  std::string sizes = {};                 // of inputs that are not given, which are drawn then: "batch=3,height=320"
  bool random = false;                    // inputs that are not given are drawn, at sizes that the model runs at
  bool cast = false;                      // inputs of another element type are converted
  std::vector<std::string> outputs = {};  // that are wanted; empty: all
  SessionOptions session = {};
  std::filesystem::path output = {};  // a file for what comes out: .npz, or .npy for one array; empty: none
};

struct RunReport {
  std::string model;  // path
  Arrays inputs, outputs;
  std::vector<std::string> order;     // of the outputs, as the model has them
  std::vector<std::string> warnings;  // of ONNX Runtime
  double seconds = 0;                 // of the run
  NamedSizes sizes;                   // that were chosen
  std::string output;                 // the file that was written
};

// Feeds a model once. Throws thaw::Error for inputs that are missing or do not fit, and where it does not run.
THAW_API RunReport run_model(const RunOptions& options);

THAW_API std::string to_json(const RunReport& report);
THAW_API std::string to_text(const RunReport& report, const TextOptions& how = {});

}  // namespace thaw
