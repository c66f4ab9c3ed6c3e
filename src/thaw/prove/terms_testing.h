// What terms compute, in float64: for tests that hold laws against ONNX Runtime.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/array.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/prove/term.h"

namespace thaw::proving {

// Row-major.
struct Evaluated {
  std::vector<int64_t> dims;
  std::vector<double> values;
};

class Evaluator {
 public:
  // `feeds` are the inputs of the model that the terms are of; sizes are theirs.
  Evaluator(const Terms& terms, const Arrays& feeds);

  // Throws std::logic_error, whose message names the operator, where a term is of none that laws write.
  const Evaluated& operator()(TermId id);

 private:
  Evaluated evaluate(const Term& term);
  Evaluated evaluate_operator(const Term& term);
  int64_t size(dim::Dim d) const;
  std::vector<int64_t> sizes(const std::vector<dim::Dim>& dims) const;

  const Terms& terms_;
  const Arrays& feeds_;
  dim::Assignment assignment_;
  std::unordered_map<TermId, Evaluated> known_;
};

}  // namespace thaw::proving
