// Thaw: ONNX models that work at every size. One header for all that it does; docs/library.md has an example of each.
//
//   inspect   every tensor's dims as expressions of the inputs
//   diff      what differs between two models
//   check     what is wrong, where it comes from and what mends it; a proof over sizes
//   fix       the rewrites that are safe, and those that a reference confirms
//   optimize  a smaller and faster model, at every size
//   pin       a model for chosen sizes, frozen on purpose
//   split     a model cut into parts that run one after the other
//   batch     a model for one sample becomes the same model over a batch
//   lift      several static traces in, one model for every size out
//   build     from a checkpoint to ONNX
//   inputs    what a model is fed, of images, clips and recordings
//   generate  text from a built folder, of a prompt, images and recordings
//   sensitivity, plan   which nodes may lose precision, and the plan for convert
//   verify    numbers against a reference, at several sizes
//   Session   running a model
//   Limits    what a call may spend
//
// Functions may be called from several threads at a time, each with models of its own. What goes wrong is a thaw::Error.
#pragma once

#include "thaw/array.h"
#include "thaw/batch.h"
#include "thaw/build.h"
#include "thaw/check.h"
#include "thaw/convert.h"
#include "thaw/diff.h"
#include "thaw/error.h"
#include "thaw/finding.h"
#include "thaw/fix.h"
#include "thaw/generate.h"
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
#include "thaw/verify.h"
#include "thaw/version.h"
