// What one run of a verb may spend on a model, shared by all that works on it: every inference, walk and proof.
//
// Visits count work: a node that inference looks at is one, and so is as much arithmetic on sizes, or as many elements of
// small tensors, as takes about as long. Bytes count what facts and expressions hold at a time. Both scale with the
// model, so that a large one has enough and a small one cannot ask for much:
//
//   visits   1'000'000 + 500 a node      unless Limits::max_visits says otherwise
//   bytes    128 MiB + 4 KiB a node        unless Limits::max_memory says otherwise
//
// Once either is out it stays so until the next run: what is not known by then stays unknown, and a verb that needs to
// know it stops.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "thaw/core/cancel.h"

namespace thaw {

class Budget {
 public:
  Budget() { begin(0); }
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // A new run, of a model of that many nodes, those of functions and subgraphs included. Asks thaw::limits().
  void begin(size_t nodes);

  // Spends visits; false where the budget is out, by this or by something before it. May be called from any thread. Throws where
  // calls are cancelled.
  bool spend(uint64_t visits) {
    throw_if_cancelled();
    if (visits_.fetch_add(visits, std::memory_order_relaxed) + visits > max_visits_) is_out_ = true;
    return !is_out_;
  }
  // Takes bytes until they are released; false as above.
  bool hold(uint64_t bytes) {
    if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes > max_bytes_) is_out_ = true;
    return !is_out_;
  }
  void release(uint64_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  bool is_out() const { return is_out_; }
  // Whether half of the visits were spent: what can be done without is left then.
  bool is_half_spent() const { return visits_ > max_visits_ / 2; }

  // What was spent, and the option that allows more: "2,300,000 visits were spent; --max-visits allows more".
  std::string text() const;
  // Throws thaw::Error (kOutOfBudget) where the budget is out. `where`: the file, node or verb that needed more.
  void require(const std::string& where) const;

 private:
  std::atomic<uint64_t> visits_ = 0, bytes_ = 0, max_visits_ = 0, max_bytes_ = 0;
  std::atomic<bool> is_out_ = false;
};

// Bytes of a budget, held while this lives.
class HeldBytes {
 public:
  HeldBytes() = default;
  explicit HeldBytes(std::shared_ptr<Budget> budget) : budget_(std::move(budget)) {}
  HeldBytes(HeldBytes&& other) noexcept : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HeldBytes() { release(bytes_); }

  void hold(uint64_t bytes) {
    bytes_ += bytes;
    if (budget_) budget_->hold(bytes);
  }
  // Holds other bytes in the place of some.
  void exchange(uint64_t before, uint64_t now) {
    if (now > before)
      hold(now - before);
    else
      release(before - now);
  }
  void release(uint64_t bytes) {
    bytes = std::min(bytes, bytes_);
    bytes_ -= bytes;
    if (budget_) budget_->release(bytes);
  }
  uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Budget> budget_;
  uint64_t bytes_ = 0;
};

}  // namespace thaw
