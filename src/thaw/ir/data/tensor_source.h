// Data that is made when it is asked for: a weight that is transposed, concatenated or converted on its way into a model.
//
// Writing a model asks for the bytes once, in order and in chunks, so that a tensor of any size passes through little
// memory.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace thaw::ir {

class TensorSource {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;

  virtual ~TensorSource() = default;
  // Passes on all bytes of the tensor, from first to last. May be called several times, and from several threads.
  virtual void write(const Sink& sink) const = 0;
  // Will be written soon: may ask the system to read what that takes, and does not wait.
  virtual void expect() const {}
};

}  // namespace thaw::ir
