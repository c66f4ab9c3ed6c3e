// One trace and a reference: which of the trace's integers are sizes, found by proposing and confirmed by running.
//
//   1. For each integer that a shape is made of (constants.h), every simple expression of the input's dims and values
//      that gives it at the export's sizes is proposed (lift/propose.h).
//   2. Inference at the sizes of the reference's cases rules out what cannot run (equations.h).
//      A constant with an axis that grows is a table: a generator that gives its entries takes its place (tables.h).
//      Where the table's length may be one size or another, each is tried.
//   3. What is left is run, the simplest first, until the reference's numbers come out in every case (search.h).
//   4. An expression that the cases do not tell from the number itself is taken back: it is not confirmed.
//   5. The expressions are written as nodes, and the model that results is run once more in every case.
//
// Nothing is confirmed unless all cases agree: a model that is half right is not one.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/lift/align/traces.h"
#include "thaw/lift/onetrace/attempt.h"

namespace thaw::lifting::onetrace {

struct Options {
  std::map<std::string, std::vector<int64_t>> at;  // sizes.h, parse_at
  std::filesystem::path reference;
  std::vector<std::string> cases;  // of the reference; empty: all
  std::vector<lifting::AddedInput> added;
  run::Tolerance tolerance;
  int most_tries = 200;
  fixing::FixOptions fix;  // what is done besides, without a reference
};

struct Report {
  bool confirmed = false;  // all cases agree: the model may be written
  std::vector<Note> sizes, changed, left;
  std::vector<CaseReport> cases;   // of the result; where nothing is confirmed, of the most likely choice
  std::vector<std::string> notes;  // cases left out, arrays not used, limits reached
  int tries = 0;                   // choices that were run
  bool modified() const { return !changed.empty(); }
};

// Where it is confirmed, `model` becomes the thawed one; else it stays as it is.
Report thaw_trace(std::unique_ptr<ir::Model>& model, const Options& options);

}  // namespace thaw::lifting::onetrace
