// The groups of types that tables of kernels are written with.
#pragma once

#include "thaw/ops/target/type_set.h"

namespace thaw::ops::kernel_types {

inline constexpr TypeSet kBool = TypeSet::of({ir::DataType::kBool});
inline constexpr TypeSet kFloat = TypeSet::of({ir::DataType::kFloat});
inline constexpr TypeSet kDouble = TypeSet::of({ir::DataType::kDouble});
inline constexpr TypeSet kInt8 = TypeSet::of({ir::DataType::kInt8});
inline constexpr TypeSet kInt16 = TypeSet::of({ir::DataType::kInt16});
inline constexpr TypeSet kInt32 = TypeSet::of({ir::DataType::kInt32});
inline constexpr TypeSet kInt64 = TypeSet::of({ir::DataType::kInt64});
inline constexpr TypeSet kUint8 = TypeSet::of({ir::DataType::kUint8});
inline constexpr TypeSet kUint16 = TypeSet::of({ir::DataType::kUint16});
inline constexpr TypeSet kUint32 = TypeSet::of({ir::DataType::kUint32});
inline constexpr TypeSet kUint64 = TypeSet::of({ir::DataType::kUint64});
inline constexpr TypeSet kInt4s = TypeSet::of({ir::DataType::kInt4, ir::DataType::kUint4});
inline constexpr TypeSet kFloat8s = TypeSet::of({ir::DataType::kFloat8E4M3FN, ir::DataType::kFloat8E4M3FNUZ,
                                                 ir::DataType::kFloat8E5M2, ir::DataType::kFloat8E5M2FNUZ});

inline constexpr TypeSet kFloats = kFloat | TypeSet::of({ir::DataType::kFloat16});
inline constexpr TypeSet kBytes = kInt8 | kUint8;
inline constexpr TypeSet kIndices = kInt32 | kInt64;
inline constexpr TypeSet kUnsigned = kUint8 | kUint16 | kUint32 | kUint64;
inline constexpr TypeSet kIntegers = kInt8 | kInt16 | kInt32 | kInt64 | kUnsigned;
inline constexpr TypeSet kUpTo32 = kFloats | kInt8 | kInt16 | kInt32 | kUint8 | kUint16 | kUint32;  // bits
inline constexpr TypeSet kSigned = kFloats | kInt8 | kInt16 | kInt32 | kInt64;
inline constexpr TypeSet kWide = kIndices | kUint32 | kUint64;  // integers of 32 and 64 bits
inline constexpr TypeSet kSums = kFloats | kWide;               // what is added up
inline constexpr TypeSet kNumbers = kFloats | kIntegers;
inline constexpr TypeSet kAll = kNumbers | kBool | kDouble;

inline constexpr TypeSet kAllAndBfloat16 = kAll | TypeSet::of({ir::DataType::kBfloat16});
inline constexpr TypeSet kStored = kAllAndBfloat16 | TypeSet::of({ir::DataType::kString});

// `tensors`, and sequences of them; optionals of either.
constexpr TypeSet with_sequences(TypeSet tensors) { return tensors | TypeSet::sequences_of(tensors); }
constexpr TypeSet optionals_of(TypeSet tensors) {
  return TypeSet::in(Container::kOptional, tensors) | TypeSet::in(Container::kOptionalSequence, tensors);
}
inline constexpr TypeSet kSequences = TypeSet::sequences_of(kAllAndBfloat16);
inline constexpr TypeSet kShaped = kAll | kInt4s | TypeSet::sequences_of(kAll);  // what has a shape to read

}  // namespace thaw::ops::kernel_types
