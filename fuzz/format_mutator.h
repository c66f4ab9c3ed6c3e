// Mutations of files whose formats hold lengths and checksums: an extreme number is written somewhere, a piece is repeated many
// times, or a few bytes change; then the checksums of PNG chunks and of zip members are made to agree again, most of the time, lest
// everything ends at them.
//
// A target that takes such files says THAW_MUTATES_FILES behind its LLVMFuzzerTestOneInput; one that takes texts, as JSON,
// THAW_MUTATES_TEXTS: brackets in brackets, repeated members, long numbers and names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thaw_fuzz {

// As LLVMFuzzerCustomMutator: the new size, at most `most`.
size_t mutate_file(uint8_t* data, size_t size, size_t most, unsigned seed);
size_t mutate_text(uint8_t* data, size_t size, size_t most, unsigned seed);

}  // namespace thaw_fuzz

// libFuzzer finds it by its name.
#define THAW_MUTATES_FILES                                                                            \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) { \
    return thaw_fuzz::mutate_file(data, size, most, seed);                                            \
  }
#define THAW_MUTATES_TEXTS                                                                            \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) { \
    return thaw_fuzz::mutate_text(data, size, most, seed);                                            \
  }
