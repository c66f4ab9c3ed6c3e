// Thaw makes static ONNX models dynamic, batchable and smaller, and checks results against the original. This header includes all
// others; docs/library.md has examples.
//
//   inspect   dims of every tensor, as expressions of the inputs
//   diff      differences between two models
//   check     errors, their causes and fixes; a proof over sizes
//   fix       rewrites that are safe, and those that a reference confirms
//   optimize  smaller and faster models, at every size
//   convert   fewer bits for weights and activations, and the accuracy loss
//   pin       a static model for chosen sizes
//   split     parts that run in sequence
//   batch     a batch axis for a model for one sample
//   lift      one dynamic model of several static traces
//   build     ONNX models from a checkpoint
//   inputs    model inputs from images, clips and recordings
//   generate  text, with models that `build` wrote
//   sensitivity, plan   error by node and precision; mixed-precision plans
//   verify    comparison with a reference, at several sizes
//   Session   runs a model
//   Size      dims as expressions: arithmetic, values, proofs
//   Limits    limits on memory and time
//
// Functions are thread-safe for different models. Errors are thrown as thaw::Error.
#pragma once

#include "thaw/array.h"
#include "thaw/batch.h"
#include "thaw/build.h"
#include "thaw/check.h"
#include "thaw/compare.h"
#include "thaw/convert.h"
#include "thaw/defaults.h"
#include "thaw/diff.h"
#include "thaw/dims.h"
#include "thaw/error.h"
#include "thaw/finding.h"
#include "thaw/fix.h"
#include "thaw/generate.h"
#include "thaw/in_memory.h"
#include "thaw/inputs.h"
#include "thaw/inspect.h"
#include "thaw/lift.h"
#include "thaw/limits.h"
#include "thaw/model.h"
#include "thaw/optimize.h"
#include "thaw/pin.h"
#include "thaw/report.h"
#include "thaw/run.h"
#include "thaw/sensitivity.h"
#include "thaw/split.h"
#include "thaw/targets.h"
#include "thaw/texts.h"
#include "thaw/verify.h"
#include "thaw/version.h"
