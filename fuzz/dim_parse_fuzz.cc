// Any text read as a size: no crash, no hang; and what is read prints as text that reads back with the same value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "thaw/dim/prove/prove.h"
#include "thaw/dim/text/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thaw::dim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Scope scope;
  const auto d = try_parse(text, scope);
  if (!d) return 0;
  if (!d->is_known()) std::abort();
  const auto back = try_parse(to_string(*d), scope);
  if (!back) return 0;  // the text of an expression at the edge of the budget may pass it when it is put together again
  Assignment values;
  constexpr int64_t kMost = 1'000'000'007;  // ranges are of sizes up to 2^40
  int64_t value = 2;
  for (int id : symbols_of(*d)) values[id] = value = (value * 3 + 1) % kMost;
  const auto before = evaluate(*d, values);
  const auto after = evaluate(*back, values);
  if (before && after && *before != *after) std::abort();
  const Interval range = range_of(*d);
  if (before && range.lower && *before < *range.lower) std::abort();
  if (before && range.upper && *before > *range.upper) std::abort();
  // Proving has a budget of its own: small expressions only, to keep the fuzzer fast.
  if (size < 64) {
    const Proof proof = prove_at_most(*d, 1000);
    if (before && proof.verdict == Verdict::kYes && *before > 1000) std::abort();
  }
  return 0;
}
