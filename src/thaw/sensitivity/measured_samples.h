// The samples that a run measures on: those that were chosen, what the model makes of each, and what of that is compared.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thaw/quant/samples/samples.h"
#include "thaw/sensitivity/baseline.h"

namespace thaw::measuring {

class MeasuredSamples {
 public:
  // `model`, the float one, and `samples` outlive it. data: where these come from, for errors.
  MeasuredSamples(const ir::Model& model, const quantizing::Samples& samples, std::string data,
                  CachedArrays::Memory& memory)
      : model_(model), samples_(samples), data_(std::move(data)), memory_(memory) {}

  // Cuts the model into about so many sections and keeps `count` samples, spread over all. `outputs`: those that are compared; none:
  // all of floats. Throws thaw::Error where there is no such output, or nothing to compare.
  std::unique_ptr<Baseline> keep(size_t sections, size_t count, const std::vector<std::string>& outputs);
  void keep_others(Baseline& base);

  // In a model of the same inputs, from the first of those that were chosen on; then(i) once the i-th is kept. One is read at a time.
  void keep_in(Baseline& model, size_t first, const std::function<void(size_t)>& then) const;
  // Of the i-th that was chosen: what the model is fed.
  Arrays feeds(size_t i) const;

  const Wanted& wanted() const { return wanted_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  std::vector<std::string> names() const;  // of those that were chosen
  CachedArrays::Memory& memory() const { return memory_; }

 private:
  void choose_outputs(const Baseline& base, const std::vector<std::string>& asked);
  void keep_chosen(Baseline& base, const std::vector<size_t>& chosen);
  Arrays outputs_of(const Baseline& base, size_t i) const;

  const ir::Model& model_;
  const quantizing::Samples& samples_;
  std::string data_;
  CachedArrays::Memory& memory_;
  std::vector<size_t> chosen_;
  std::vector<std::string> outputs_;
  Wanted wanted_;
};

}  // namespace thaw::measuring
