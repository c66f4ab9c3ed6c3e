// A set whose items are listed in the order in which they came. What is written follows such an order, where it would follow
// addresses in a set of pointers.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

namespace thaw {

template <typename T>
class ListedSet {
 public:
  // False where it is there.
  bool insert(const T& item) {
    if (!places_.emplace(item, items_.size()).second) return false;
    items_.push_back(item);
    return true;
  }

  // The last item takes its place.
  void erase(const T& item) {
    const auto at = places_.find(item);
    if (at == places_.end()) return;
    const size_t place = at->second;
    places_.erase(at);
    if (place + 1 < items_.size()) {
      items_[place] = items_.back();
      places_[items_[place]] = place;
    }
    items_.pop_back();
  }

  bool contains(T item) const { return places_.contains(item); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  std::vector<T> take() {
    places_.clear();
    return std::exchange(items_, {});
  }

 private:
  std::vector<T> items_;
  std::unordered_map<T, size_t> places_;
};

}  // namespace thaw
