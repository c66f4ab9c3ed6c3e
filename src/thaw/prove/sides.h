// Two models as they are compared: aligned, with what inference knows of each.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/prove/aligned.h"
#include "thaw/prove/model_facts.h"

namespace thaw::proving {

class Sides {
 public:
  // Throws thaw::Error as align() does.
  Sides(const ir::Model& model, const ir::Model& reference, std::span<const SizeBound> bounds);
  Sides(const Sides&) = delete;
  Sides& operator=(const Sides&) = delete;

  const Aligned& aligned() const { return aligned_; }
  dim::Scope& scope() const { return scope_; }
  const ModelFacts& facts(size_t side) const { return *facts_[side]; }
  // Outputs of one model by the names that it had.
  const std::vector<std::string>& output_names(size_t side) const { return output_names_[side]; }
  const ir::Value* output(size_t side, std::string_view name) const;  // null where there is none

  // Values of the main graph by the names that they had.
  std::string name_of(const ir::Value* value, size_t side) const;
  const ir::Value* find(const std::string& name, size_t side) const;  // null where there is none

 private:
  Aligned aligned_;
  mutable dim::Scope scope_;
  std::array<std::unique_ptr<ModelFacts>, 2> facts_;
  std::array<std::vector<std::string>, 2> output_names_;
};

}  // namespace thaw::proving
