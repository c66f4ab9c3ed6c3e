// What the targets of the verbs share: a model from bytes, small budgets, and what must hold of a result.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <string>

#include "thaw/core/error.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"
#include "thaw/limits.h"
#include "thaw/quant/samples/samples.h"

namespace thaw_fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// Two results of the same verb are the same. With THAW_FUZZ_KEEP=DIR those that are not lie there, to be compared.
inline void require_same(const std::string& once, const std::string& twice, const char* what) {
  if (once == twice) return;
  if (const char* folder = std::getenv("THAW_FUZZ_KEEP")) {
    std::ofstream(std::string(folder) + "/once.onnx", std::ios::binary) << once;
    std::ofstream(std::string(folder) + "/twice.onnx", std::ios::binary) << twice;
  }
  require(false, what);
}

// Null for bytes that are no model. A run may cost what a fuzzer has time for.
inline std::unique_ptr<thaw::ir::Model> read_model(std::span<const uint8_t> bytes) {
  thaw::set_limits({.max_memory = 64U << 20, .max_visits = 100'000});
  try {
    return thaw::ir::parse(std::as_bytes(bytes), nullptr, {});
  } catch (const thaw::Error&) {
    return nullptr;
  }
}

// The inputs that have no default stay. Of an IR version before 4, weights are inputs too, and come and go.
inline void require_inputs(const thaw::ir::Model& before, const thaw::ir::Model& after) {
  using thaw::quantizing::inputs_to_feed;
  const bool has_as_many = before.graph->inputs().size() == after.graph->inputs().size();
  require((before.ir_version < 4 || has_as_many) && inputs_to_feed(before) == inputs_to_feed(after), "inputs stay");
}

// How many nodes cannot run, as far as inference can tell; -1 where the budget is out.
inline int count_problems(const thaw::ir::Model& model) {
  thaw::dim::Scope scope;
  thaw::ir::begin_run(model);
  const thaw::infer::Result facts = thaw::infer::infer(model, scope);
  return facts.out_of_budget() ? -1 : static_cast<int>(facts.problems().size());
}

// Whether what a run beside the original would show is looked for by inference.
inline bool asks_for_problems() {
  static const bool asks = std::getenv("THAW_FUZZ_PROBLEMS") != nullptr;
  return asks;
}

// A result can be written and read. With THAW_FUZZ_PROBLEMS set, no node of it is broken that was not before: that finds
// what inference does not hold against the original as well, which is seldom a fault of the verb.
inline void require_sound(const thaw::ir::Model& made, int problems_before) {
  const std::string written = thaw::ir::serialize(made);
  std::unique_ptr<thaw::ir::Model> again;
  try {
    again = thaw::ir::parse(std::as_bytes(std::span(written)), nullptr, {});
  } catch (const thaw::Error& error) {
    require(false, error.what());
  }
  require(thaw::ir::serialize(*again) == written, "what was written reads as it was");
  const int problems = asks_for_problems() ? count_problems(*again) : 0;
  if (problems_before == 0 && problems > 0) {
    thaw::dim::Scope scope;
    thaw::ir::begin_run(*again);
    const thaw::infer::Result facts = thaw::infer::infer(*again, scope);
    for (const thaw::infer::Problem& problem : facts.problems())
      std::fprintf(stderr, "%s: %s\n", problem.node->describe().c_str(), problem.message.c_str());
    require(false, "a node cannot run that could before");
  }
}

}  // namespace thaw_fuzz
