// A model as terms: its nodes in order, each by its law.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/prove/evaluated.h"
#include "thaw/prove/laws.h"
#include "thaw/prove/model_facts.h"

namespace thaw::proving {

class ModelReader {
 public:
  // number: 0 of the first model, 1 of the second one. Sizes that only a run tells become those that are known of the same
  // tensor.
  ModelReader(Algebra& algebra, const ModelFacts& facts, int number)
      : algebra_(algebra), terms_(algebra.terms), facts_(facts), model_(facts.model()), number_(number) {}

  // A term for each output of the model.
  std::vector<TermId> read();
  // A term of one value, from values of the main graph whose terms are given: the nodes between are read, and no others.
  TermId read_from(std::span<const std::pair<const ir::Value*, TermId>> given, const ir::Value* value);

  // Those that read_from() read last, in order.
  const std::vector<const ir::Node*>& nodes_read() const { return nodes_read_; }
  // Whether it needed a value that was given.
  bool has_reached(const ir::Value* given) const { return reached_.contains(given); }
  // Of values that were read.
  const std::unordered_map<const ir::Value*, TermId>& terms() const { return term_of_; }
  // Integers that inference knows at all sizes; nullopt of all else.
  std::optional<TermId> sizes_of(const ir::Value* value);

 private:
  using Results = std::vector<TermId>;

  void read_graph(const ir::Graph& graph);
  void read_next(const ir::Node& node);
  void read_node(const ir::Node& node);
  void set(const ir::Value* value, TermId term);
  TermId term_of(const ir::Value* value);
  TermId read_value(const ir::Value& value);
  ops::Fact fact_of(const ir::Value* value);
  dim::Dim renamed(dim::Dim d) const;
  void learn_sizes(TermId term, const ops::Fact& fact);
  bool fits(const NodeToRead& read, const Results& results) const;
  TermId as_it_is(const NodeToRead& read, int output, const std::optional<std::string>& settings);
  void as_its_own(const NodeToRead& read);  // each result another than all else
  bool is_uncertain(const NodeToRead& read) const;
  std::optional<TermId> sizes_of(const ops::Fact& fact);
  bool read_control(const NodeToRead& read);
  bool read_branches(const NodeToRead& read);
  void read_body(const NodeToRead& read);
  Results evaluate(const NodeToRead& read);
  const KnownTensor* known(const ir::Value* value);

  Algebra& algebra_;
  Terms& terms_;
  const ModelFacts& facts_;
  const ir::Model& model_;
  const int number_;
  std::unordered_map<const ir::Value*, TermId> term_of_;
  std::vector<const ir::Node*> nodes_read_;
  std::unordered_set<const ir::Value*> reached_;
  std::unordered_map<const ir::Value*, std::optional<KnownTensor>> known_;  // constants, and what is computed of them
  int64_t left_to_evaluate_ = kMostEvaluatedOfAll;
  std::unordered_map<int, dim::Dim> learned_;  // symbols of tensors that were met before
};

// The values of the graph a node stands in that it reads, those that its own graphs read too.
std::vector<const ir::Value*> read_by(const ir::Node& node);

}  // namespace thaw::proving
