#include "thaw/core/budget.h"

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/limits.h"

namespace thaw {
namespace {

constexpr uint64_t kVisits = 1'000'000, kVisitsOfNode = 500;
constexpr uint64_t kBytes = 128ULL << 20, kBytesOfNode = 4ULL << 10;

}  // namespace

void Budget::begin(size_t nodes) {
  const Limits given = limits();
  max_visits_ = given.max_visits > 0 ? given.max_visits : kVisits + kVisitsOfNode * nodes;
  max_bytes_ = given.max_memory > 0 ? given.max_memory : kBytes + kBytesOfNode * nodes;
  visits_ = 0;
  is_out_ = false;
}

std::string Budget::text() const {
  if (visits_ > max_visits_)
    return fmt::format("the {} visits that it may cost are spent; --max-visits allows more", max_visits_.load());
  return fmt::format("what is known of it takes more than {} MiB; --max-memory allows more", max_bytes_.load() >> 20);
}

void Budget::require(const std::string& where) const {
  if (!is_out_) return;
  const bool visits = visits_ > max_visits_;
  throw Error(ErrorCode::kOutOfBudget,
              {.what = visits ? "over budget: it asks for more work than a model of its size may"
                              : "over budget: it asks for more memory than a model of its size may",
               .where = where,
               .expected = visits ? fmt::format("at most {} visits of nodes", max_visits_.load())
                                  : fmt::format("at most {} MiB", max_bytes_.load() >> 20),
               .next = visits ? "give --max-visits if you trust the file" : "give --max-memory if you trust the file"});
}

}  // namespace thaw
