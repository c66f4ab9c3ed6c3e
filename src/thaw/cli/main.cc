// The command.
#include <cstdio>

#include "thaw/core/version.h"

int main() {
  std::printf("thaw %s\n", thaw::kVersion);
  return 0;
}
