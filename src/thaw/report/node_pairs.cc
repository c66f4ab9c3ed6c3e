#include "thaw/report/node_pairs.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace thaw::report {
namespace {

bool same_operator(const ir::Node& a, const ir::Node& b) {
  return a.op_type() == b.op_type() && a.domain() == b.domain();
}

// Names for equal operators, so that sequences compare numbers.
class Tokens {
 public:
  size_t of(const ir::Node& node) {
    const auto [it, fresh] = known_.emplace(node.domain() + "." + node.op_type(), known_.size());
    return it->second;
  }

 private:
  std::unordered_map<std::string, size_t> known_;
};

class Pairing {
 public:
  explicit Pairing(NodePairs& pairs) : pairs_(pairs) {}

  void by_outputs() {
    std::unordered_map<std::string_view, size_t> makers;
    for (size_t j = 0; j < pairs_.b.size(); ++j) {
      for (const ir::Value* output : pairs_.b[j]->outputs()) {
        if (output != nullptr) makers.emplace(output->name(), j);
      }
    }
    for (size_t i = 0; i < pairs_.a.size(); ++i) {
      for (const ir::Value* output : pairs_.a[i]->outputs()) {
        const auto maker = output == nullptr ? makers.end() : makers.find(output->name());
        if (maker != makers.end() && pair(i, maker->second)) break;
      }
    }
  }

  void by_name() {
    constexpr size_t kAmbiguous = static_cast<size_t>(-1);
    std::unordered_map<std::string_view, size_t> named;
    for (size_t j = 0; j < pairs_.b.size(); ++j) {
      if (pairs_.a_of_b[j] || pairs_.b[j]->name.empty()) continue;
      const auto [it, fresh] = named.emplace(pairs_.b[j]->name, j);
      if (!fresh) it->second = kAmbiguous;
    }
    for (size_t i = 0; i < pairs_.a.size(); ++i) {
      const auto it = pairs_.b_of_a[i] ? named.end() : named.find(pairs_.a[i]->name);
      if (it != named.end() && it->second != kAmbiguous) pair(i, it->second);
    }
  }

  void by_order() {
    Tokens tokens;
    std::vector<size_t> left_a;
    std::vector<size_t> left_b;
    std::vector<size_t> tokens_a;
    std::vector<size_t> tokens_b;
    for (size_t i = 0; i < pairs_.a.size(); ++i) {
      if (pairs_.b_of_a[i]) continue;
      left_a.push_back(i);
      tokens_a.push_back(tokens.of(*pairs_.a[i]));
    }
    for (size_t j = 0; j < pairs_.b.size(); ++j) {
      if (pairs_.a_of_b[j]) continue;
      left_b.push_back(j);
      tokens_b.push_back(tokens.of(*pairs_.b[j]));
    }
    const auto common = common_subsequence(tokens_a, tokens_b, kMostEdits);
    if (!common) return;
    for (const auto& [i, j] : *common) pair(left_a[i], left_b[j]);
  }

 private:
  bool pair(size_t i, size_t j) {
    if (pairs_.b_of_a[i] || pairs_.a_of_b[j] || !same_operator(*pairs_.a[i], *pairs_.b[j])) return false;
    pairs_.b_of_a[i] = j;
    pairs_.a_of_b[j] = i;
    return true;
  }

  NodePairs& pairs_;
};

}  // namespace

std::optional<std::vector<std::pair<size_t, size_t>>> common_subsequence(const std::vector<size_t>& a,
                                                                         const std::vector<size_t>& b,
                                                                         size_t most_edits) {
  std::vector<std::pair<size_t, size_t>> common;
  size_t start = 0;
  while (start < a.size() && start < b.size() && a[start] == b[start]) {
    common.emplace_back(start, start);
    ++start;
  }
  // On diagonal k = x - y, far[k] is the furthest x that d edits reach. trace[d] keeps them for the way back.
  const auto n = static_cast<int64_t>(a.size() - start);
  const auto m = static_cast<int64_t>(b.size() - start);
  const auto most = std::min(static_cast<int64_t>(most_edits), n + m);
  const auto same = [&](int64_t x, int64_t y) {
    return a[start + static_cast<size_t>(x)] == b[start + static_cast<size_t>(y)];
  };
  std::vector<std::vector<int64_t>> trace;
  const auto furthest = [&](int64_t d, int64_t k) { return trace[static_cast<size_t>(d)][static_cast<size_t>(k + d)]; };
  const auto comes_from_above = [&](int64_t d, int64_t k) {  // by leaving out a token of b
    return k == -d || (k != d && furthest(d - 1, k - 1) < furthest(d - 1, k + 1));
  };
  int64_t edits = -1;
  for (int64_t d = 0; d <= most && edits < 0; ++d) {
    trace.emplace_back(static_cast<size_t>(2 * d + 1), 0);
    for (int64_t k = -d; k <= d; k += 2) {
      int64_t x = d == 0 ? 0 : comes_from_above(d, k) ? furthest(d - 1, k + 1) : furthest(d - 1, k - 1) + 1;
      int64_t y = x - k;
      while (x < n && y >= 0 && y < m && same(x, y)) ++x, ++y;
      trace.back()[static_cast<size_t>(k + d)] = x;
      if (x >= n && y >= m) {
        edits = d;
        break;
      }
    }
  }
  if (edits < 0) return std::nullopt;
  int64_t x = n;
  int64_t y = m;
  for (int64_t d = edits; d >= 0; --d) {
    const int64_t k = x - y;
    int64_t before_x = 0;
    int64_t before_y = 0;
    if (d > 0) {
      const int64_t before_k = comes_from_above(d, k) ? k + 1 : k - 1;
      before_x = furthest(d - 1, before_k);
      before_y = before_x - before_k;
    }
    while (x > before_x && y > before_y) {
      --x, --y;
      common.emplace_back(start + static_cast<size_t>(x), start + static_cast<size_t>(y));
    }
    x = before_x;
    y = before_y;
  }
  std::ranges::sort(common);
  return common;
}

NodePairs pair_nodes(const ir::Graph& a, const ir::Graph& b) {
  NodePairs pairs;
  pairs.a.assign(a.nodes().begin(), a.nodes().end());
  pairs.b.assign(b.nodes().begin(), b.nodes().end());
  pairs.b_of_a.resize(pairs.a.size());
  pairs.a_of_b.resize(pairs.b.size());
  Pairing pairing(pairs);
  pairing.by_outputs();
  pairing.by_name();
  pairing.by_order();
  return pairs;
}

}  // namespace thaw::report
