// Adds a batch axis to a model for one sample.
//
//   thaw::BatchReport report = thaw::batch(model, {.name = "batch"});
//   if (report.accepted()) model.save("batched.onnx");
//
// Element i of the batched model's outputs equals the original's output on sample i. This is vmap as a program transformation
// (Frostig et al., "Compiling machine learning programs via high-level tracing", 2018; JAX's batching rules). Each operator
// that depends on a sample is replaced by operators over all samples. Nodes that are independent of the batch stay unchanged.
//
// A tensor has the batch in one of two places:
//   merged    its first axis, which is 1 in a sample: [1, 3, h, w] -> [batch, 3, h, w]
//   leading   a new first axis:                       [n, 4]       -> [batch, n, 4]
// An input is merged where its first axis is 1. It is merged too where its first axis is dynamic and is a batch already: it is
// named batch, it has three axes or more, or each node computes its rows independently. Any other input is leading. Axes that
// have the name of such a first axis are 1 in a sample too. An output is merged where its first axis is 1 in a sample, else
// leading. Convolutions, normalizations and element-wise operators run merged, unchanged.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/proof.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

struct BatchOptions {
  std::string name = "batch";       // of the batch size: letters, digits, '_', '.' and ':'; a letter or '_' first
  std::vector<std::string> inputs;  // inputs that differ from sample to sample; empty: all
  NamedSizes sample;                // sizes of one sample, as `thaw inspect` names them: {"input_dim0", 1}
  bool new_axis = false;            // all inputs are leading
  bool allow_loop = false;          // operators without a batch rule run sample by sample, in a Scan
  // Compares the batched model on three samples with the original on each of them, at two choices of sizes. Where nothing can
  // be compared the result is not accepted.
  bool check = true;
  FeedOptions feeds;  // inputs of one sample for the check; the rest is random
};

// Numbers of nodes of one operator; the members of BatchReport say what each counts.
struct BatchedNodes {
  int unchanged = 0, rewritten = 0, independent = 0, per_sample = 0;
};

// An input or output before and after, as text: "float32[1, 3, h, w]", "float32[batch, 3, h, w]".
struct BatchedPort {
  bool is_input = true;
  std::string name, before, after;
};

struct BatchReport {
  std::string model;   // path of the original
  std::string output;  // path of the result
  Files files;         // files that were written
  LoadCheck load_check = {};
  std::vector<BatchedPort> ports;                 // all but inputs with initializers
  std::vector<Note> inputs, outputs;              // those that are batched: "[1, 3, h, w] -> [batch, 3, h, w]"
  int unchanged = 0;                              // nodes that batch unchanged
  int rewritten = 0;                              // nodes whose axes, shapes or operands changed
  int independent = 0;                            // nodes that are independent of the batch
  std::vector<Note> per_sample_nodes;             // nodes that run once for each sample, in a Scan, and why
  std::map<std::string, BatchedNodes> operators;  // the same counts by operator
  std::vector<Note> existing_batches;             // inputs whose dynamic first axis is a batch already
  std::vector<Note> guarded_branches;  // Ifs of which one branch cannot run at the sizes, and what the result does
  std::vector<Note> data_dependent_branches;  // not accepted: Ifs whose condition depends on a sample
  bool is_checked = false;                    // BatchOptions::check
  int64_t samples = 0;                        // number of samples in the check
  std::vector<RunCheck> checks;               // one for each choice of sizes
  std::vector<std::string> not_compared;      // what could not be compared, and why
  Proof proof = {};                           // of a result whose checks agree: of each sample of any number
  int overridable_initializers = 0;           // initializers that are inputs too, taken as constants

  // All checks agree, and where a check was asked for, all outputs were compared. Always true without a check.
  THAW_API bool accepted() const;
};

// Changes the model in place and writes it where the result is accepted; else the model stays unchanged. Throws thaw::Error
// (kUnsupported), which names the node and the reason, for a model that cannot be batched.
THAW_API BatchReport batch(Model& model, const BatchOptions& options = {}, const Output& output = {});

THAW_API std::string to_json(const BatchReport& report);
THAW_API std::string to_text(const BatchReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const BatchReport& report);

}  // namespace thaw
