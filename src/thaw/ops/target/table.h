// Tables of what targets take, as text: the files of tables/, a part of the program.
//
//   # ONNX Runtime's CUDA execution provider
//   title: CUDA
//   source: docs/OperatorKernels.md of …
//   rows: kernels                    a row serves the operator as it was; or «ranges»: any opset of its range; or «tests»: the
//                                    operator as it was ran in tests, and what no row has is not known
//   opsets: 7-26                     of ai.onnx
//   control-flow: none               else any
//   ranks: static                    else any
//   rank: 5                          at most, of any tensor
//   sizes: fixed                     or «profiles», «preferred»; else any
//   shapes: cpu                      or «wait»; else nothing is said
//   composed: expanded               else not
//   unlisted: com.microsoft          domains of which the source says nothing
//   note: …, otherwise: …            clauses for messages
//
//   [ai.onnx]                        a domain, and its opsets where they are others than 1
//   Clip<TAB>6-10 11 12-<TAB>T=floats int32<TAB>T=int64 | partly: with an option<TAB>constant 1 2
//
// A row has an operator, the opsets of its kernels, and fields. Fields with «=» are types: the operands of target.h's
// TypeConstraint, then words, each an element type or a group («any», «numbers», «integers», «signed», «unsigned», «floats»,
// «float8s», «int4s»), with «seq:», «optional:», «optional-seq:» or «quantized:» before it; «rest» stands for all others.
// Other fields are conditions (target.h): «constant 1 2», «absent 3», «zeros 2», «known 0:1», «rank 0 3-4», «rank output 0-5», «inputs 2-99»,
// «outputs 0-1», «attribute mode=nearest linear» («attribute!»: it has to be given), «partly: words», «unknown: words».
#pragma once

#include <span>
#include <string_view>

#include "thaw/ops/target/target.h"

namespace thaw::ops {

struct TargetTable {
  std::string_view name, text;  // of static storage
};

std::span<const TargetTable> target_tables();

// What a table says; its texts are parts of the table's. Throws thaw::Error (kInvalidFile) that names the line.
Target read_table(const TargetTable& table);

}  // namespace thaw::ops
