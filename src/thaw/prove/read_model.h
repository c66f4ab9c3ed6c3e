// A model as terms: its nodes in order, each by its law.
#pragma once

#include <unordered_map>
#include <vector>

#include "thaw/infer/inference.h"
#include "thaw/ir/graph/model.h"
#include "thaw/prove/laws.h"

namespace thaw::proving {

class ModelReader {
 public:
  // number: 0 of the first model, 1 of the second one. Sizes that only a run tells become those that are known of the same
  // tensor.
  ModelReader(Algebra& algebra, const ir::Model& model, int number);
  ~ModelReader();

  // A term for each output of the model.
  std::vector<TermId> read();

 private:
  using Results = std::vector<TermId>;

  void read_graph(const ir::Graph& graph);
  void read_node(const ir::Node& node);
  void set(const ir::Value* value, TermId term);
  TermId term_of(const ir::Value* value);
  TermId read_value(const ir::Value& value);
  ops::Fact fact_of(const ir::Value* value);
  dim::Dim renamed(dim::Dim d) const;
  bool note_sizes(const ops::Fact& fact);  // whether one was not met before
  void learn_sizes(TermId term, const ops::Fact& fact);
  bool fits(const NodeToRead& read, const Results& results) const;
  TermId as_it_is(const NodeToRead& read, int output, const std::optional<std::string>& settings);
  std::optional<TermId> sizes_of(const ops::Fact& fact);
  bool read_control(const NodeToRead& read);
  bool read_branches(const NodeToRead& read);
  void read_body(const NodeToRead& read);

  Algebra& algebra_;
  Terms& terms_;
  const ir::Model& model_;
  const int number_;
  infer::Inference facts_;
  std::unordered_map<const ir::Value*, TermId> term_of_;
  std::vector<bool> is_met_;                   // symbols by number
  std::unordered_map<int, dim::Dim> learned_;  // symbols of tensors that were met before
};

}  // namespace thaw::proving
