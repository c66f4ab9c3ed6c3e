// The walk over a graph and its branches, node by node: the state behind the batch rules. Internal to batch/.
#pragma once

#include <string>
#include <unordered_map>

#include "thaw/batch/batch.h"
#include "thaw/batch/dependence.h"
#include "thaw/infer/infer.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::batching {

class Walk final : public ops::BatchState {
 public:
  // sample: what is known of the model before batching. dependence: of the same, what may differ from sample to sample.
  Walk(ir::Model& model, const BatchOptions& options, const infer::Result& sample, Dependence dependence);

  // Where the samples come in.
  void set_input(ir::Value* input, ops::Form form) { batched_[input] = {input, form}; }
  void set_batch_size(ir::Value* size) { size_ = size; }
  // Batches every node of a graph from `first` on that a sample reaches, in order. Throws thaw::Error, naming the node,
  // where one cannot.
  void walk_from(ir::Node* first);
  BatchReport& report() { return report_; }
  rewrite::Emitter& emitter() { return emitter_; }

  ops::NodeWriter& writer() override { return emitter_; }
  const ops::Fact& fact(const ir::Value* value) const override;
  const ops::Batched* batched(const ir::Value* value) const override;
  void set_batched(const ir::Value* value, ops::Batched batched) override { batched_[value] = batched; }
  bool differs(const ir::Value* value) const override { return dependence_.contains(value); }
  ir::Value* batch_size() override { return size_; }
  void set_stand_in(const ir::Value* made, const ir::Value* original) override { stands_for_[made] = original; }
  ir::Value*& converted(const ir::Value* value, ops::Form to) override {
    return (to == ops::Form::kLeading ? as_leading_ : as_merged_)[value];
  }
  void walk(ir::Graph& graph) override;
  bool can_splice(const ir::Graph& inner) const override;
  void splice(ir::Graph& inner, ir::Node& node, std::string_view prefix) override;

 private:
  bool reads_samples(const ir::Node& node) const;
  bool reads_samples(const ir::Graph& graph) const;
  void batch_node(ir::Node& node);

  ir::Model& model_;
  const BatchOptions& options_;
  const infer::Result& sample_;
  Dependence dependence_;
  std::unordered_map<const ir::Node*, std::string> problems_;  // what inference says against nodes of the sample
  rewrite::Emitter emitter_;
  std::unordered_map<const ir::Value*, ops::Batched> batched_;  // by value of the original model
  std::unordered_map<const ir::Value*, ir::Value*> as_leading_, as_merged_;
  std::unordered_map<const ir::Value*, const ir::Value*> stands_for_;  // new values, by what they replace
  ir::Value* size_ = nullptr;
  BatchReport report_;
};

// Runs the node once for each sample, in a Scan over the batch axis. Results must have the same shape for all samples.
void run_per_sample(ops::BatchContext& n);

}  // namespace thaw::batching
