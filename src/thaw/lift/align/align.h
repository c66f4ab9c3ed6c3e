// Aligning traces: which node of one stands for which of another, and which constants differ.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "thaw/dim/expr/expr.h"
#include "thaw/lift/align/find_window_loops.h"
#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// A constant that differs: the node of the first trace that reads it, and the constant in every trace.
struct Difference {
  ir::Node* node = nullptr;  // of the first trace
  int input = 0;
  std::vector<const ir::Tensor*> tensors;  // by trace
  const ir::Value* value = nullptr;        // in the first trace: a constant read at several places is one
  // Of a Pad's amounts: whether those before, or after, an axis differ, here or where others cut alike (steady_pads.h).
  bool fills_before = false, fills_after = false;
  // Elements that are taken for these sizes here: those that are the same in every trace (unknowns/steady_integers.h), and what is tried.
  std::map<size_t, dim::Dim> taken = {};
};

// Whether it has another shape in some trace.
bool grows(const Difference& difference);

// "Reshape 'x' reads 'shape'": as reports name it.
std::string place_of(const Difference& difference);

// A loop over windows that every trace has unrolled, each as often as its size asks for.
struct Loop {
  std::vector<Unrolled> traces;
  std::vector<int64_t> lengths;  // of all branches of all traces
  // In the branches; their tensors are by branch, as the lengths. Steady ones differ between the traces only: they may
  // be explained by the length of the window, or as any other constant.
  std::vector<Difference> constants, steady;
};

struct Alignment {
  std::vector<std::vector<ir::Node*>> nodes;  // by trace: those at one position stand for each other
  std::vector<Difference> differences;        // in the order of the nodes
  std::vector<Loop> loops;
  std::vector<std::string> unaligned;  // what differs and is no constant, a clause each
};

// Its differences in the order of the nodes.
void sort_by_nodes(Alignment& alignment);

// Traces of the same operators in the same order align node by node, Constant nodes and the repeated branches of
// unrolled loops apart. Throws thaw::Error where they do not. plain: names of what joins branches that are aligned one by
// one too, as those of a few levels are.
Alignment align(const std::vector<Trace>& traces, const std::set<std::string>& plain = {});

// Whether nothing but constants differs, windows apart.
bool aligned(const std::vector<Trace>& traces);

// What a loop is known by: the name of the value that joins its branches, in the first trace.
std::string name_of(const Loop& loop);

}  // namespace thaw::lifting
