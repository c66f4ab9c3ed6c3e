// Mutations that keep a model a model: bytes are read as a ModelProto, one thing in it is changed, and it is written
// again. Bytes that are none become the smallest model there is.
//
// A target that takes models includes this once and says
//
//   THAW_MUTATES_MODELS
//
// behind its LLVMFuzzerTestOneInput; one that takes two, THAW_MUTATES_PAIRS: the length of the first in four bytes,
// little-endian, and both models. A change is then mostly made in both, so that they stay traces of one model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace thaw_fuzz {

// As LLVMFuzzerCustomMutator and LLVMFuzzerCustomCrossOver: the new size, at most `most`.
size_t mutate_model(uint8_t* data, size_t size, size_t most, unsigned seed);
size_t mutate_pair(uint8_t* data, size_t size, size_t most, unsigned seed);
size_t cross_models(std::span<const uint8_t> a, std::span<const uint8_t> b, uint8_t* out, size_t most, unsigned seed);

// The two models of a pair; the second is empty where there is but one.
std::pair<std::span<const uint8_t>, std::span<const uint8_t>> split_pair(const uint8_t* data, size_t size);

}  // namespace thaw_fuzz

// libFuzzer finds these by their names.
#define THAW_MUTATES_MODELS                                                                                     \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {           \
    return thaw_fuzz::mutate_model(data, size, most, seed);                                                     \
  }                                                                                                             \
  extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size, \
                                              uint8_t* out, size_t most, unsigned seed) {                       \
    return thaw_fuzz::cross_models({a, a_size}, {b, b_size}, out, most, seed);                                  \
  }
#define THAW_MUTATES_PAIRS                                                                            \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) { \
    return thaw_fuzz::mutate_pair(data, size, most, seed);                                            \
  }
