#include "thaw/run/processor.h"

namespace thaw::run {

bool overflows_in_8_bits() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return !__builtin_cpu_supports("avx512vnni") && !__builtin_cpu_supports("avxvnni");
#else
  return false;
#endif
}

}  // namespace thaw::run
