// What a run converts, again and again: one unit, all of them, all but one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/half/missing_kernels.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

// A copy that all of the precisions are converted from: optimized where asked for, in the opset that they need, with no node converted.
std::unique_ptr<ir::Model> made_ready(const ir::Model& model, const std::vector<PrecisionOptions>& precisions,
                                      OptimizeTarget target, const std::string& backend, bool optimize,
                                      const quantizing::Samples& samples);

struct Converted {
  std::unique_ptr<ir::Model> model;
  int64_t bytes = 0;  // by which constants shrank
  std::string why;    // nothing was converted; else empty
};

class Conversions {
 public:
  // Of the model made ready; nothing is converted yet.
  Conversions(const ir::Model& model, const SensitivityOptions& options, const quantizing::Samples& samples);

  const ir::Model& base() const { return *base_; }
  // Nodes that have one of the precisions, by name.
  std::vector<std::string> candidates() const;

  // Nodes that are to be kept as they are, by name.
  std::vector<std::string> kept() const;

  // Nodes that a precision in 16 bits computes in float32, whose results are rounded, for want of kernels: by name, "*" all.
  std::vector<std::string> imitated(size_t precision) const;

  Converted only(const SensitivityUnit& unit, size_t precision) const;
  Converted all(size_t precision) const;
  Converted planned(ConvertOptions options) const;
  Converted all_but(const SensitivityUnit& unit, size_t precision) const;

 private:
  Converted convert(const ConvertOptions& options, const std::vector<std::string>& nodes) const;
  Converted convert_as_written(const ConvertOptions& options, const std::vector<std::string>& nodes) const;
  ConvertOptions all_options(size_t precision) const;

  const SensitivityOptions& options_;
  const quantizing::Samples& samples_;
  std::unique_ptr<ir::Model> base_;
  std::map<NumberFormat, quantizing::MissingKernels> missing_;  // of precisions in 16 bits, with all nodes converted
};

}  // namespace thaw::measuring
