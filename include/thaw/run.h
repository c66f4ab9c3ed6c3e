// Runs models in ONNX Runtime, on the CPU or with other execution providers.
//
//   thaw::Session session("vision.onnx");
//   thaw::Arrays outputs = session.run({{"pixel_values", pixels}, {"grid_thw", grid}});
//
// ONNX Runtime runs in a separate process, lib/thaw/thaw-worker or the environment variable THAW_WORKER. The first session starts it, all
// sessions share it, and it ends with this process. Which ONNX Runtime: set_onnxruntime(). Its errors, and crashes, are thaw::Error
// (kRuntimeFailed) with its message. Exceeding thaw/limits.h is kOutOfBudget. Nothing is printed.
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

// Graph optimization level of ONNX Runtime.
enum class Optimization : uint8_t { kNone, kBasic, kExtended, kAll };

// An execution provider of ONNX Runtime. It runs the nodes that it supports, the CPU the others.
struct Provider {
  std::string name;  // "cuda", or "CUDAExecutionProvider"; case does not matter
  // Of the provider, as ONNX Runtime documents them: {"device_id", "1"}. Of Thaw, for providers in a library of their own: "library",
  // its path, and "hardware", "gpu", "npu" or "cpu".
  std::map<std::string, std::string> options = {};
};

// The providers of all sessions of this process that name none themselves, in the order in which they choose nodes; the CPU is the last
// of all, and alone where the list is empty. For sessions that are made later. Throws thaw::Error for what ONNX Runtime does not have
// (kRuntimeMissing), and for what cannot be used here (kRuntimeFailed). Thread-safe.
THAW_API void set_providers(std::vector<Provider> providers);
THAW_API std::vector<Provider> providers();

struct SessionOptions {
  int threads = 0;  // intra-op threads; 0: one for each core
  Optimization optimization = Optimization::kAll;
  bool memory_pattern = true;  // enable_mem_pattern
  bool memory_arena = true;    // enable_cpu_mem_arena
  // Weights are packed for kernels and folded, which makes copies of them. Without, a model loads in little time and memory, and its
  // external data is only mapped; it runs slower.
  bool copied_weights = true;
  // Threads spin between operators: faster on an idle machine, a waste of CPU time on a busy one.
  bool spinning = true;
  // Loads ONNX Runtime into this process. No limits apply, and a crash of it crashes this process. Only for trusted models.
  bool in_process = false;
  std::vector<Provider> providers = {};  // empty: those of set_providers(); {{"cpu"}}: the CPU alone
  bool profile = false;  // record where each node runs, and for how long (not in_process): Session::placement()
};

struct UsedProvider {
  std::string name;                                 // ONNX Runtime's: "OpenVINOExecutionProvider"
  std::string device;                               // "CPU Intel"; empty where ONNX Runtime does not tell
  std::map<std::string, std::string> options = {};  // that it was given
};

// Where a model ran.
struct Runtime {
  std::string version;                  // of ONNX Runtime: "1.31.1"
  std::vector<UsedProvider> providers;  // in their order, without the CPU; empty: on the CPU
};

// A node of the model, after the optimizations that ONNX Runtime makes for every provider.
struct PlacedNode {
  std::string name, op_type;
  std::string provider;
};

// What ONNX Runtime ran: a node, several that it fused, or a whole part of the model that a provider compiled.
struct TimedNode {
  std::string name, op_type;
  std::string provider;
  double seconds = 0;    // of all runs
  bool is_copy = false;  // from one device to another
};

struct Placement {
  std::vector<PlacedNode> nodes;  // empty where ONNX Runtime is older than 1.24, which does not tell
  std::vector<TimedNode> timed;   // in the order in which they first ran
  uint64_t runs = 0;
  double seconds = 0;  // of all runs
};

// Names ONNX Runtime: its library, or a folder that holds it, such as onnxruntime/ of a Python wheel. Without a call it is searched,
// near libthaw.so before all (docs/guide/run.md); an empty path searches again. The environment variable THAW_ONNXRUNTIME comes first.
// For sessions that are made later; those that exist keep theirs. Throws thaw::Error where there is no such file (kCannotRead), and
// where an in_process session has loaded another (kInvalidArgument). Thread-safe.
THAW_API void set_onnxruntime(const std::filesystem::path& path);

namespace run {
class Session;
}

class THAW_API Session {
 public:
  explicit Session(const std::filesystem::path& path, const SessionOptions& options = {});
  // The model in memory, with external data from its files.
  explicit Session(const Model& model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  std::vector<Port> inputs() const;  // without dims
  std::vector<Port> outputs() const;
  Runtime runtime() const;

  // Runs the model. Inputs without a default are required, with their dtype. `wanted`: names of outputs; empty: all. A sequence of
  // tensors is returned as NAME[0], NAME[1], …; an empty optional is left out; maps are not supported. Thread-safe.
  Arrays run(const Arrays& feeds, const std::vector<std::string>& wanted = {});

  // Warnings of ONNX Runtime since the last call, without duplicates.
  std::vector<std::string> take_warnings();

  // Of a session with SessionOptions::profile, once: what was run so far. Runs after it are not recorded.
  Placement placement();

 private:
  std::unique_ptr<run::Session> session_;
};

struct ValueRange {
  double lowest = 0, highest = 0;  // inclusive for integers
};

// Inputs of a run. What is not given is random: floats from a normal distribution, integers from 0 to 9 or within the table
// that they index, booleans are random. An integer or boolean input with "mask" in its name gets rows of ones followed by zeros. Random
// values depend only on the seed and on the input's name and shape.
struct FeedOptions {
  Arrays arrays;  // by input name
  // Elements of an input, row-major, as text: {"1", "22", "30"}; a single value fills any shape.
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, ValueRange> ranges;  // uniform random values in the range
  uint64_t seed = 0;
  // Arrays from files: "NAME=FILE.npy", "NAME=FILE.npz" (its array NAME, or its only one), "FILE.npz" (arrays by input name).
  std::vector<std::string> files = {};
};

// A comparison of all outputs y of a result with the outputs x of the original, on the same inputs.
struct RunCheck {
  std::string name;                                         // the sizes, or the trace
  std::vector<std::pair<std::string, std::string>> inputs;  // name and type of the result's inputs: "float32[660,1536]"
  double max_abs_diff = 0;                                  // max |y - x|; infinite where they cannot be compared
  double max_abs_expected = 0;                              // max |x| of the output with max_abs_diff
  uint64_t elements = 0;                                    // that were compared; 0: only shapes and types were
  // |y - x| <= 1e-3 max |x| in each output; 1e-2 for types of 16 bits or fewer; of lift() 2e-5 (docs/cli.md, Reports).
  bool agrees = true;
  std::string message;  // why it does not agree
  Runtime runtime = {};
};

struct RunOptions {
  std::filesystem::path model;
  FeedOptions feeds = {};
  std::string sizes = {};                 // of inputs that are not given, which are random then: "batch=3,height=320"
  bool random = false;                    // inputs that are not given are random, at sizes that the model runs at
  bool cast = false;                      // convert inputs of another dtype
  std::vector<std::string> outputs = {};  // names; empty: all
  SessionOptions session = {};
  std::filesystem::path output = {};  // file for the outputs: .npz, or .npy for one array; empty: none
  bool placement = false;             // say where each node ran
};

struct RunReport {
  std::string model;  // path
  Arrays inputs, outputs;
  std::vector<std::string> order;     // names of the outputs, in the model's order
  std::vector<std::string> warnings;  // of ONNX Runtime
  double seconds = 0;                 // of the run
  NamedSizes sizes;                   // of the random inputs
  std::string output;                 // path of the file that was written
  Runtime runtime;
  std::optional<Placement> placement = {};
};

// Runs a model once. Throws thaw::Error for inputs that are missing or do not match, and where it does not run.
THAW_API RunReport run_model(const RunOptions& options);

THAW_API std::string to_json(const RunReport& report);
THAW_API std::string to_text(const RunReport& report, const TextOptions& how = {});

}  // namespace thaw
