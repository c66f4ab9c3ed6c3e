// Two models as they are compared: aligned, with what inference knows of each.
//
// What is proven holds wherever both run. So a size that a node of one of them needs to be a number is that number: a Reshape to
// [2, 3, 8] runs for a batch of 2 alone.
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

  const Aligned& aligned() const { return state_->aligned; }
  dim::Scope& scope() const { return state_->scope; }
  const ModelFacts& facts(size_t side) const { return *state_->facts[side]; }
  // Outputs of one model by the names that it had.
  const std::vector<std::string>& output_names(size_t side) const { return output_names_[side]; }
  const ir::Value* output(size_t side, std::string_view name) const;  // null where there is none

  // Values of the main graph by the names that they had.
  std::string name_of(const ir::Value* value, size_t side) const;
  const ir::Value* find(const std::string& name, size_t side) const;  // null where there is none

 private:
  struct State {
    Aligned aligned;
    dim::Scope scope;
    std::array<std::unique_ptr<ModelFacts>, 2> facts;
  };
  static std::unique_ptr<State> made(const ir::Model& model, const ir::Model& reference,
                                     std::span<const SizeBound> bounds);

  std::unique_ptr<State> state_;
  std::array<std::vector<std::string>, 2> output_names_;
};

}  // namespace thaw::proving
