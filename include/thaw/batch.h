// A model for one sample becomes the same model over a batch.
//
//   thaw::BatchReport report = thaw::batch(model, {.name = "batch"});
//   if (report.accepted()) model.save("batched.onnx");
//
// Result i of the batched model equals the model on sample i. This is vmap as a program transformation (Frostig et al.,
// "Compiling machine learning programs via high-level tracing", 2018; JAX's batching rules): every operator that the
// sample reaches is replaced by itself, or by others, over all samples at once. What no sample reaches stays.
//
// A tensor of the batched model holds the samples in one of two forms:
//   merged    its first axis, which is 1 in a sample, is the batch: [1, 3, h, w] -> [batch, 3, h, w]
//   leading   a new first axis is the batch:                        [n, 4]       -> [batch, n, 4]
// An input is merged where its first axis is a fixed 1, or is free and is a batch already: it is called batch, belongs
// to an image or sequence (three axes or more), or every node treats the rows of it apart; any other is leading. Where
// a free first axis has a name, the other axes of that name are 1 in a sample too. An output is merged where its first
// axis is 1 in a sample, else leading. Convolutions, norms and all that is elementwise run merged as they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

struct BatchOptions {
  std::string name = "batch";       // of the new size: letters, digits, '_', '.' and ':', no digit first
  std::vector<std::string> inputs;  // those that differ from sample to sample; empty: all
  NamedSizes sample;        // sizes that are fixed in one sample, as `thaw inspect` names them: {"input_dim0", 1}
  bool new_axis = false;    // every input is leading
  bool allow_loop = false;  // operators without a batch rule run sample by sample, in a Scan
  // The model is run on three samples one by one, the batched model on all three at once, at two choices of sizes. What
  // cannot be run or compared is not proven: the model is then left as it was.
  bool check = true;
  FeedOptions feeds;  // for the check: what one sample's inputs are; the rest is drawn
};

// What became of the nodes of one operator.
struct BatchedNodes {
  int kept = 0, rewritten = 0, untouched = 0, loops = 0;
};

// An input or output of the model for one sample, and over a batch: "float32[1, 3, h, w]", "float32[batch, 3, h, w]".
struct BatchedPort {
  bool is_input = true;
  std::string name, before, after;
};

struct BatchReport {
  std::string model;   // the path that it was loaded from
  std::string output;  // and that it was to be written to
  Files files;         // that were written
  AsWritten as_written = {};
  std::vector<BatchedPort> ports;                 // but for inputs that an initializer gives
  std::vector<Note> inputs, outputs;              // what became of each: "[1, 3, h, w] -> [batch, 3, h, w]"
  int kept = 0;                                   // nodes that batch as they are
  int rewritten = 0;                              // nodes whose axes, shapes or operands changed
  int untouched = 0;                              // nodes that no sample reaches
  std::vector<Note> loops;                        // nodes that run sample by sample, and why
  std::map<std::string, BatchedNodes> operators;  // the same numbers by operator
  std::vector<Note> kept_batches;                 // inputs whose free first axis was found to be a batch already
  std::vector<Note> guarded;                      // Ifs of which one branch cannot run, and how the result sees to it
  std::vector<Note> deciding;                     // where it differs: inputs of a sample that decide an If
  bool is_checked = false;                        // as BatchOptions::check asks
  int64_t samples = 0;                            // that were drawn for a check
  std::vector<RunCheck> checks;                   // by sizes; empty where it was not checked
  std::string unchecked;                          // what was not compared, where that was asked for
  int default_weights = 0;                        // weights that are inputs too, which were taken as constants

  // Every run agrees, and where a check was asked for, every output was compared. Without one: always.
  THAW_API bool accepted() const;
};

// Changes the model in place, and writes it, where the result is accepted; else the model is as it was. Throws thaw::Error
// (kUnsupported), naming the node and the reason, where it cannot be batched.
THAW_API BatchReport batch(Model& model, const BatchOptions& options = {}, const Output& output = {});

THAW_API std::string to_json(const BatchReport& report);
THAW_API std::string to_text(const BatchReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const BatchReport& report);

}  // namespace thaw
