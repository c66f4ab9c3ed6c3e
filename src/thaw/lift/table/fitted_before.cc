#include "thaw/lift/table/fitted_before.h"

#include <bit>

namespace thaw::lifting {
namespace {

class Hash {
 public:
  void add(uint64_t number) { hash_ = (std::rotl(hash_, 29) ^ number) * 0x9e3779b97f4a7c15; }
  void add(double number) { add(std::bit_cast<uint64_t>(number)); }
  uint64_t value() const { return hash_ ^ (hash_ >> 32); }

 private:
  uint64_t hash_ = 0x243f6a8885a308d3;
};

}  // namespace

uint64_t FittedBefore::key_of(const View& view, Ways ways, uint64_t more) {
  Hash hash;
  hash.add(static_cast<uint64_t>(ways));
  hash.add(more);
  hash.add(static_cast<uint64_t>(view.kind) * 2 + (view.is_rounded ? 1 : 0));
  hash.add(static_cast<uint64_t>(view.width));
  for (const std::vector<Size>* sizes : {&view.growing, &view.sides}) {
    hash.add(static_cast<uint64_t>(sizes->size()));
    for (const Size& size : *sizes)
      for (const int64_t at : size.at) hash.add(static_cast<uint64_t>(at));
  }
  for (const auto& list : view.entries) {
    hash.add(static_cast<uint64_t>(list.size()));
    for (const double entry : list) hash.add(entry);
  }
  return hash.value();
}

}  // namespace thaw::lifting
