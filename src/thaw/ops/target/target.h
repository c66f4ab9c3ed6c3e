// Target profiles: what a backend takes, as data.
//
// A target takes operators of some domains at some opsets, and, where it has a table of kernels, only operators with a
// kernel for the operator's version, for the types of its operands and for what else the kernel asks of a node. The
// tables are the files of tables/, in the form that table.h says; `thaw check --target NAME` compares a model with one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ops/target/type_set.h"
#include "thaw/targets.h"

namespace thaw::ops {

// The types that a kernel takes for some operands.
struct TypeConstraint {
  // A type parameter of the operator's schema ("T"); "input 0", one operand; "*", the operands of the parameter T, or of that of
  // the first operand where there is no T.
  std::string_view operands;
  TypeSet types;
  bool others = false;  // all types that no other constraint of these operands names
  Support support = Support::kSupported;
  std::string_view why = {};  // for kPartial and kUnknown, a clause
};

// What a kernel asks of a node beside the types of its operands.
struct KernelCondition {
  enum class Kind : uint8_t {
    kConstant,   // the inputs of `numbers` are constants
    kAbsent,     // the inputs of `numbers` are left out
    kZeros,      // the inputs of `numbers` are left out, or constants of zeros
    kKnown,      // of input numbers[0] the size of axis numbers[1], or all sizes, are numbers
    kRank,       // of input numbers[0], or of output 0 where it is -1: from least to most
    kInputs,     // as many inputs, from least to most
    kOutputs,    // as many outputs that are read
    kAttribute,  // each number or text of the attribute `name` is among `values`
    kSaid,       // in words alone: `why`
  };
  Kind kind = Kind::kSaid;
  std::vector<int> numbers = {};
  int least = 0, most = 0;
  std::string_view name = {};
  std::vector<std::string_view> values = {};
  bool is_required = false;  // kAttribute: it may not be left out, since its default is not among the values
  Support support = Support::kUnsupported;  // kSaid: kPartial or kUnknown
  std::string_view why = {};
};

// Opsets of one kernel.
struct OpsetRange {
  int first = 1;
  int last = 0;  // 0: no end is stated
};

// Kernels of an operator that take the same.
struct Kernels {
  std::string_view op;
  std::vector<OpsetRange> opsets;  // ascending
  std::vector<TypeConstraint> types = {};
  std::vector<KernelCondition> conditions = {};

  // The types that are taken without a condition for a parameter; null where nothing is said of it.
  const TypeSet* types_of(std::string_view parameter) const;
};

// A domain of operators that a target takes ("" is ai.onnx).
struct TargetDomain {
  std::string_view name;
  int64_t oldest = 1, newest = 1;  // opsets
  // All that is taken, sorted by operator (one may stand in several entries); empty: whatever the domain has.
  std::vector<Kernels> kernels = {};
  // Without kernels: the operators of a domain that the official ONNX schemas do not know, or (ai.onnx) those that are
  // taken besides the official ones. Sorted.
  std::span<const std::string_view> operators = {};
  // A kernel serves every opset of its range, also where the operator changed within it (find_kernel).
  bool by_range = false;
};

// What a target asks of sizes that the graph leaves free.
enum class FreeSizes : uint8_t {
  kTaken,
  kSlower,    // taken, though fixed ones are advised
  kProfiled,  // with the range of each input that has one
  kRefused,
};

struct Target {
  std::string_view name;   // as given to --target
  std::string_view title;  // for messages: "DirectML"
  std::vector<TargetDomain> domains;
  std::string_view source = {};                 // of the table
  std::string_view note = {};                   // on all of the table, a clause
  std::string_view otherwise = {};              // what becomes of a node that it does not take, a clause
  std::vector<std::string_view> unlisted = {};  // domains of which the source says nothing
  // The table has what ran in tests: of what it does not have nothing is known.
  bool is_tested = false;
  // If, Loop, Scan and SequenceMap are taken.
  bool control_flow = true;
  // Every rank has to follow from the graph, since it is compiled before it runs.
  bool static_ranks = false;
  int max_rank = 0;  // of any tensor; 0: none is stated
  FreeSizes free_sizes = FreeSizes::kTaken;
  // Shapes are computed by the host: what a Reshape's target is computed from makes the device wait.
  bool shapes_on_host = false;
  // ONNX Runtime has the CPU run what computes shapes alone, whether there is a kernel or not.
  bool shapes_on_cpu = false;
  // What has no kernel is run as the operators that ONNX defines it by, where it does.
  bool expands_composed = false;

  const TargetDomain* domain(std::string_view domain_name) const;  // null: not taken
  bool is_listed(std::string_view domain_name) const;              // false: the source says nothing of the domain
};

// What `check` says of a model for a target, a sentence each: its errors and its warnings.
struct TargetVerdict {
  std::vector<std::string> unsupported, warnings;
};

// All names, in the order in which help lists them.
std::span<const std::string_view> target_names();
const Target* find_target(std::string_view name);  // null: there is none

// A kernel for an operator as of an opset.
//
// A kernel of opset N is written for the operator as it was at opset N, and serves every opset of its range at which the
// operator is still the same or, where the range has an end, up to that. Once a later opset changes the operator, an open range
// ends (ONNX Runtime compares the version since which the operator is as it is, and takes no kernel of another). Of tables that
// are by range (TargetDomain::by_range) the range alone counts.
struct KernelMatch {
  const Kernels* kernels = nullptr;
  int opset = 0;  // of the kernel
};
std::optional<KernelMatch> find_kernel(const TargetDomain& domain, std::string_view op, int64_t opset);
// The first opsets of an operator's kernels, ascending; empty: it has none.
std::vector<int> kernel_opsets(const TargetDomain& domain, std::string_view op);

// The operators of com.microsoft in ONNX Runtime 1.31 (microsoft_operators.cc).
std::span<const std::string_view> microsoft_operators();

}  // namespace thaw::ops
