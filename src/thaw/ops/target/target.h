// Target profiles: what a backend takes, as data.
//
// A target takes operators of some domains at some opsets, and, where it has a table of kernels, only operators with a
// kernel for the operator's version and for the types of its operands. `thaw check --target NAME` holds a model
// against one; docs/targets.md says where the facts come from.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "thaw/ops/target/type_set.h"

namespace thaw::ops {

// The types that a kernel takes for one of its operator's type parameters ("T"), as the operator's schema names them.
struct TypeConstraint {
  std::string_view parameter;
  TypeSet types;
};

// Kernels of an operator that take the same types: one an opset.
//
// A kernel of opset N is written for the operator as it was at opset N, and serves every opset at which the operator is
// still the same. Once a later opset changes the operator, it needs a kernel of its own (ONNX Runtime compares the
// version since which the operator is as it is, and takes no kernel of another).
struct Kernels {
  static constexpr size_t kMost = 6;
  std::string_view op;
  std::array<int8_t, kMost> opsets{};  // ascending, then zeros
  std::array<TypeConstraint, 4> constraints{};

  // The types for a parameter; null where any is taken.
  const TypeSet* types(std::string_view parameter) const;
};

// A domain of operators that a target takes ("" is ai.onnx).
struct TargetDomain {
  std::string_view name;
  int64_t oldest = 1, newest = 1;  // opsets
  // All that is taken, sorted by operator (one may stand in several entries); empty: whatever the domain has.
  std::span<const Kernels> kernels = {};
  // Without kernels: the operators of a domain that the official ONNX schemas do not know, or (ai.onnx) those that are
  // taken besides the official ones. Sorted.
  std::span<const std::string_view> operators = {};
};

struct Target {
  std::string_view name;   // as given to --target
  std::string_view title;  // for messages: "DirectML"
  std::span<const TargetDomain> domains;
  // If, Loop, Scan and SequenceMap are taken.
  bool control_flow = true;
  // Every rank has to follow from the graph, since it is compiled before it runs.
  bool static_ranks = false;
  // Shapes are computed by the host: what a Reshape's target is computed from makes the device wait.
  bool shapes_on_host = false;

  const TargetDomain* domain(std::string_view domain_name) const;  // null: not taken
};

std::span<const Target> targets();
const Target* find_target(std::string_view name);  // null: there is none

// A kernel for an operator as of an opset.
struct KernelMatch {
  const Kernels* kernels = nullptr;
  int opset = 0;  // of the kernel
};
std::optional<KernelMatch> find_kernel(const TargetDomain& domain, std::string_view op, int64_t opset);
// The opsets of an operator's kernels, ascending; empty: it has none.
std::vector<int> kernel_opsets(const TargetDomain& domain, std::string_view op);

// The tables of the DirectML execution provider (directml_kernels.cc, directml_contrib_kernels.cc).
std::span<const Kernels> directml_kernels();            // ai.onnx
std::span<const Kernels> directml_microsoft_kernels();  // com.microsoft
std::span<const Kernels> directml_fused_kernels();      // com.microsoft.dml
// The operators of com.microsoft in ONNX Runtime 1.31 (microsoft_operators.cc).
std::span<const std::string_view> microsoft_operators();

}  // namespace thaw::ops
