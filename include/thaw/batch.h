// A model for one sample becomes the same model over a batch.
//
//   thaw::BatchReport report = thaw::batch(model, {.name = "batch"});
//   if (report.agrees()) model.save("batched.onnx");
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

#include <map>
#include <string>
#include <vector>

#include "thaw/export.h"
#include "thaw/finding.h"
#include "thaw/model.h"
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

struct BatchReport {
  std::vector<Note> inputs, outputs;              // what became of each: "[1, 3, h, w] -> [batch, 3, h, w]"
  int kept = 0;                                   // nodes that batch as they are
  int rewritten = 0;                              // nodes whose axes, shapes or operands changed
  int untouched = 0;                              // nodes that no sample reaches
  std::vector<Note> loops;                        // nodes that run sample by sample, and why
  std::map<std::string, BatchedNodes> operators;  // the same numbers by operator
  std::vector<Note> kept_batches;                 // inputs whose free first axis was found to be a batch already
  std::vector<RunCheck> checks;                   // by sizes; empty where it was not checked
  std::string unchecked;                          // what was not compared, where that was asked for

  // Whether every run agrees and nothing that was asked for stayed unchecked. A caller who wants proof asks for checks.
  THAW_API bool agrees() const;
};

// Changes the model in place. Throws thaw::Error (kUnsupported), naming the node and the reason, where it cannot be
// batched. The model is then as it was, and so it is where the check does not agree.
THAW_API BatchReport batch(Model& model, const BatchOptions& options = {});

}  // namespace thaw
