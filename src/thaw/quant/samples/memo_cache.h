// Weights of a model that is converted again and again, a few nodes at a time: what becomes of each is made once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/data/tensor.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing {

// What tells one conversion of a weight from another: the weight, and all that its codes depend on.
class MemoKey {
 public:
  // Of a weight by its name and where its bytes lie: they are read only where a file has them as text or as varints.
  MemoKey(std::string_view what, const ir::Tensor& weight);

  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  MemoKey& add(T number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
    return *this;
  }
  // By a digest of them (XXH3, 128 bits).
  MemoKey& add(std::span<const std::byte> bytes);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// What make() returns, or returned for this key before: tensors whose bytes are there, as far as a gigabyte holds them, and beyond it tensors that
// are made when they are asked for. Where nothing is remembered (null), it is make() itself.
std::vector<ir::Tensor> memoized(Remembered* known, const MemoKey& key,
                                 const std::function<std::vector<ir::Tensor>()>& make);

}  // namespace thaw::quantizing
