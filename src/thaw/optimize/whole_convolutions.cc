// A convolution over patches that were cut before, each as large as its kernel: one product of matrices. ONNX Runtime's Conv
// reads the weight once for each patch, Gemm once for many.
#include <algorithm>
#include <numeric>

#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

bool touches_once(const ir::Node& conv) {
  const auto are = [&](std::string_view name, int64_t number) {
    return std::ranges::all_of(conv.attribute_ints(name), [&](int64_t n) { return n == number; });
  };
  const std::string_view automatic = conv.attribute_string("auto_pad", "NOTSET");
  return conv.attribute_int("group", 1) == 1 && (automatic == "NOTSET" || automatic == "VALID") && are("pads", 0) &&
         are("dilations", 1);
}

// Whether what is convolved is a Reshape to patches of these channels and sizes. An image that happens to be as large as the
// kernel may be of another size elsewhere.
bool is_cut_to(const Site& s, std::span<const int64_t> sizes) {
  const ir::Node* reshape = s.made_by(0, "Reshape");
  const auto target = reshape ? s.integers(*reshape, 1, "") : std::nullopt;
  return target && target->size() == sizes.size() + 1 && std::ranges::equal(std::span(*target).subspan(1), sizes);
}

ir::Value* as_product(const Site& s) {
  const ir::Tensor* weight = constant_of(s.input(1));
  if (!weight || weight->dims.size() < 3 || !s.is_only_reader_of(s.input(1)) || !touches_once(s.node()) ||
      !is_cut_to(s, std::span(weight->dims).subspan(1)))
    return nullptr;
  const int64_t channels = weight->dims[0];
  const int64_t size = std::accumulate(weight->dims.begin() + 1, weight->dims.end(), int64_t{1}, std::multiplies<>());
  if (channels <= 0 || size <= 0) return nullptr;
  const ops::Emit& at = s.at();
  ir::Tensor matrix = *weight;  // the same bytes, where they are
  matrix.dims = {channels, size};
  std::vector<ir::Value*> inputs = {at.reshape(s.input(0), at.list({-1, size})),
                                    at.writer().constant(std::move(matrix))};
  if (s.input(2)) inputs.push_back(s.input(2));
  std::vector<int64_t> shape(weight->dims.size(), 1);
  shape[0] = -1;
  shape[1] = channels;
  return at.reshape(at.emit("Gemm", std::move(inputs), {{"transB", int64_t{1}}}), at.list(shape));
}

const Simplification kWholeConvolutions[] = {
    {"convolve patches as a product", {"Conv"}, as_product},
};

}  // namespace

std::span<const Simplification> whole_convolutions() { return kWholeConvolutions; }

}  // namespace thaw::optimizing
