#include "thaw/report/fingerprints.h"

#include <fmt/format.h>

namespace thaw::report {

uint64_t hash_text(std::string_view text, uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

uint64_t hash_place(const Finding& finding) {
  uint64_t hash = hash_text(finding.code);
  for (const std::string* part :
       {&finding.where.graph, &finding.where.node, &finding.where.op, &finding.where.tensor}) {
    hash = hash_text(*part, hash_text("/", hash));
  }
  return hash;
}

std::string Fingerprints::next(uint64_t hash) { return fmt::format("{:016x}:{}", hash, ++seen_[hash]); }

}  // namespace thaw::report
