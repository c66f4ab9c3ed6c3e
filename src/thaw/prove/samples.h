// Whether samples of a batch reach each other: element by element, from the inputs to the outputs of one model.
//
// A value holds samples in one axis, in this order: (some * batch + sample) * inner + others. What is made of it does so too where its
// operator treats these parts of the axis alike and apart. Where that is not known, samples may reach each other.
//
// Each operator does the same for all samples, however many there are. So sample i of a batch is what a batch of one makes of sample i.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/prove/model_facts.h"

namespace thaw::proving {

struct Samples {
  enum class Kind : uint8_t {
    kNone,   // the same whatever the samples are, and however many
    kCount,  // integers that are made of how many there are
    kRows,   // in an axis
    kMixed,  // not known to be apart
  };

  Kind kind = Kind::kNone;
  size_t axis = 0;
  dim::Dim inner = 1;            // positions along the axis that follow each other and belong to one sample
  const ir::Node* at = nullptr;  // of kMixed: the first node that makes it so

  bool is_none() const { return kind == Kind::kNone; }
  bool is_rows() const { return kind == Kind::kRows; }
};

// A node over samples.
struct NodeOfSamples {
  const ir::Node& node;
  int64_t opset = 0;  // of its domain
  const ModelFacts& facts;
  dim::Dim batch;                 // how many samples there are
  std::vector<Samples> operands;  // those that are left out are kNone

  bool has(size_t i) const { return i < operands.size() && node.inputs()[i]; }
  const ops::Shape* shape(size_t i) const;         // null: not known
  const ops::Shape* result_shape(size_t i) const;  // the same of an output
  std::vector<dim::Dim> elements(size_t i) const;  // of an operand of integers; empty where they are not known
};

bool mentions(dim::Dim d, dim::Dim symbol);

// How the outputs hold samples where some operands do; kMixed where that is not known. Of operators without graphs, in samples_rules.cc.
Samples after(const NodeOfSamples& of, size_t output);

struct OutputOfSamples {
  std::string name;
  std::string place;  // where samples may reach each other; empty where they do not
};

// Of the outputs of a batched model whose inputs have a first axis of that name. Throws thaw::Error where the budget of the model is out.
std::vector<OutputOfSamples> samples_apart(const ir::Model& batched, std::string_view batch);

}  // namespace thaw::proving
