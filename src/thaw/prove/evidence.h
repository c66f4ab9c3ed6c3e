// What a proof consists of, step by step, so that it can be checked again without a search.
//
// A step says that a value of one model equals a value of the other. It follows from earlier steps alone: two nodes that do the
// same are given equal operands, or the nodes between the two values and earlier ones come to one term by the laws. Most steps
// need no law. The values of earlier steps are unknown to a step that uses laws, but for their types and shapes: each such
// step is a statement of its own, about the nodes that it names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/prove/constants.h"
#include "thaw/prove/laws.h"
#include "thaw/prove/quantized.h"
#include "thaw/prove/sides.h"

namespace thaw::proving {

struct Step {
  enum class By : uint8_t {
    kInput,     // of that name, of both models
    kConstant,  // of the same bytes
    kSizes,     // integers that are the same expressions of the sizes
    kNode,      // an output of nodes that do the same, with operands that are equal
    kLaws,
  };

  std::string model, reference;  // values of the main graphs
  By by = By::kInput;
  // kNode: the step of each operand, -1 of one that is left out. kLaws: the steps of what is given, ascending.
  std::vector<int64_t> given;
  // The rest is kLaws': the nodes that were read, by model, each with its law's operator; the term that both are (kSizes too);
  // whether weights were divided by a number; constants that were taken for others.
  std::vector<std::string> model_nodes, reference_nodes, term;
  bool has_scaled_weights = false;
  std::vector<Rounded> rounded;
  std::vector<std::string> assumed;  // texts of what is taken for granted; kSizes' too

  bool operator==(const Step&) const = default;
};

struct ShownOutput {
  std::string name;
  size_t step = 0;
};

struct Evidence {
  std::string model_hash, reference_hash;
  std::vector<AlignedSize> sizes;
  std::vector<Step> steps;
  std::vector<ShownOutput> outputs;
  std::vector<Algebra::Certainty> certainties = {};  // by step, of a search; not in files, as a check finds its own
};

// Evidence of the model with constants of the reference in the places of those that were quantized. Its steps name values of that model, and
// its hashes are not read.
struct ButForConstants {
  std::vector<QuantizedConstant> constants;  // all that stand for one, as with_constants_of() finds them
  Evidence evidence;
};

// Outputs that are proven, and others that are so but for constants. Both are of the hashes in `proven`.
struct EvidenceFile {
  Evidence proven;
  std::optional<ButForConstants> quantized = {};
};

bool is_shown(const Evidence& evidence, const std::string& output);

// Finds the steps of outputs that are one term.
class EvidenceSearch {
 public:
  using TermsOf = std::unordered_map<const ir::Value*, TermId>;

  // What readings of both models say, which all must outlive it: values that are one term are thought to be equal. `weights`: of
  // these readings. Steps that are there already are used.
  EvidenceSearch(const Sides& sides, const Terms& terms, const std::array<const TermsOf*, 2>& terms_of, Weights weights,
                 Evidence& evidence);
  EvidenceSearch(const EvidenceSearch&) = delete;
  EvidenceSearch& operator=(const EvidenceSearch&) = delete;
  ~EvidenceSearch();

  // False where it finds no steps within a bound by the size of the models: the evidence then is as it was.
  bool show(const std::string& output);

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

// Checks evidence: each step by itself, once. It takes nothing from it but what to look at. Throws thaw::Error (kInvalidFile) that
// names the first step that does not follow; `where` is for its message.
void replay(const ir::Model& model, const ir::Model& reference, const EvidenceFile& evidence, const std::string& where);

}  // namespace thaw::proving
