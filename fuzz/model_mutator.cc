#include "model_mutator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace thaw_fuzz {
namespace {

using Random = std::minstd_rand;

// Operators that take what others give: any of them may stand where another stood.
constexpr std::array kOperators = {"Abs",
                                   "Add",
                                   "And",
                                   "ArgMax",
                                   "AveragePool",
                                   "Cast",
                                   "Ceil",
                                   "Clip",
                                   "Concat",
                                   "ConcatFromSequence",
                                   "Constant",
                                   "ConstantOfShape",
                                   "Conv",
                                   "ConvTranspose",
                                   "CumSum",
                                   "DepthToSpace",
                                   "Div",
                                   "Dropout",
                                   "Einsum",
                                   "Equal",
                                   "Expand",
                                   "EyeLike",
                                   "Flatten",
                                   "Floor",
                                   "Gather",
                                   "GatherElements",
                                   "GatherND",
                                   "Gemm",
                                   "GlobalAveragePool",
                                   "Greater",
                                   "GridSample",
                                   "GRU",
                                   "Identity",
                                   "If",
                                   "InstanceNormalization",
                                   "LayerNormalization",
                                   "Less",
                                   "Loop",
                                   "LRN",
                                   "LSTM",
                                   "MatMul",
                                   "MatMulInteger",
                                   "Max",
                                   "MaxPool",
                                   "Mean",
                                   "Min",
                                   "Mod",
                                   "Mul",
                                   "Neg",
                                   "NonZero",
                                   "Not",
                                   "OneHot",
                                   "Optional",
                                   "OptionalGetElement",
                                   "Or",
                                   "Pad",
                                   "Pow",
                                   "QuantizeLinear",
                                   "DequantizeLinear",
                                   "Range",
                                   "ReduceL2",
                                   "ReduceMax",
                                   "ReduceMean",
                                   "ReduceSum",
                                   "Relu",
                                   "Reshape",
                                   "Resize",
                                   "ReverseSequence",
                                   "RoiAlign",
                                   "Scan",
                                   "Scatter",
                                   "ScatterElements",
                                   "ScatterND",
                                   "SequenceAt",
                                   "SequenceConstruct",
                                   "SequenceEmpty",
                                   "SequenceErase",
                                   "SequenceInsert",
                                   "SequenceLength",
                                   "SequenceMap",
                                   "Shape",
                                   "Size",
                                   "Slice",
                                   "Softmax",
                                   "SpaceToDepth",
                                   "Split",
                                   "SplitToSequence",
                                   "Sqrt",
                                   "Squeeze",
                                   "Sub",
                                   "Sum",
                                   "Tile",
                                   "TopK",
                                   "Transpose",
                                   "Trilu",
                                   "Unique",
                                   "Unsqueeze",
                                   "Upsample",
                                   "Where",
                                   "Xor",
                                   "Attention",
                                   "BiasGelu",
                                   "FastGelu",
                                   "FusedMatMul",
                                   "GroupQueryAttention",
                                   "LayerNormalization",
                                   "MultiHeadAttention",
                                   "QuickGelu",
                                   "RotaryEmbedding",
                                   "SkipLayerNormalization"};
constexpr std::array kAttributes = {"axis",
                                    "axes",
                                    "perm",
                                    "keepdims",
                                    "to",
                                    "kernel_shape",
                                    "strides",
                                    "pads",
                                    "dilations",
                                    "group",
                                    "num_scan_inputs",
                                    "scan_input_axes",
                                    "scan_output_axes",
                                    "split",
                                    "num_outputs",
                                    "mode",
                                    "allowzero",
                                    "start",
                                    "end",
                                    "new_axis",
                                    "batch_dims",
                                    "blocksize",
                                    "ceil_mode",
                                    "auto_pad",
                                    "equation",
                                    "transA",
                                    "transB",
                                    "num_heads",
                                    "noop_with_empty_axes",
                                    "direction",
                                    "hidden_size"};
constexpr std::array<int64_t, 24> kNumbers = {0,
                                              1,
                                              2,
                                              3,
                                              4,
                                              5,
                                              7,
                                              8,
                                              13,
                                              16,
                                              32,
                                              64,
                                              65,
                                              127,
                                              128,
                                              1024,
                                              1025,
                                              -1,
                                              -2,
                                              -3,
                                              INT64_MAX,
                                              INT64_MIN,
                                              int64_t{1} << 31,
                                              int64_t{1} << 40};

size_t below(Random& random, size_t count) { return count == 0 ? 0 : random() % count; }
bool one_in(Random& random, size_t count) { return below(random, count) == 0; }
int64_t number(Random& random, int64_t near) {
  if (one_in(random, 2)) return kNumbers[below(random, kNumbers.size())];
  return static_cast<int64_t>(static_cast<uint64_t>(near) + below(random, 5) - 2);
}

// One change to a model. The same seed makes the same choices in models of one structure.
class Change {
 public:
  Change(onnx::ModelProto& model, unsigned seed) : model_(model), random_(seed) {
    add(*model.mutable_graph());
    for (auto& function : *model.mutable_functions())
      for (auto& node : *function.mutable_node()) add(node);
  }

  void make() {
    switch (below(random_, 16)) {
      case 0:
        return change_opset();
      case 1:
      case 2:
        return change_port();
      case 3:
      case 4:
        return change_tensor();
      case 5:
        return insert_node();
      case 6:
        return remove_node();
      case 7:
        return copy_node();
      case 8:
      case 9:
        return change_operands();
      case 10:
        return change_results();
      case 11:
        return change_outputs();
      case 12:
        return change_operator();
      default:
        return change_attribute();
    }
  }

 private:
  void add(onnx::GraphProto& graph) {
    graphs_.push_back(&graph);
    for (auto& node : *graph.mutable_node()) add(node);
  }
  void add(onnx::NodeProto& node) {
    nodes_.push_back(&node);
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) add(*attribute.mutable_g());
      for (auto& graph : *attribute.mutable_graphs()) add(graph);
    }
  }

  onnx::GraphProto& graph() { return *graphs_[below(random_, graphs_.size())]; }
  onnx::NodeProto* node() { return nodes_.empty() ? nullptr : nodes_[below(random_, nodes_.size())]; }

  // A name that means something in the model: of an input, a constant or a result.
  std::string name() {
    const onnx::GraphProto& at = one_in(random_, 2) ? *graphs_.front() : graph();
    const size_t inputs = static_cast<size_t>(at.input_size()), constants = static_cast<size_t>(at.initializer_size());
    const size_t nodes = static_cast<size_t>(at.node_size());
    const size_t chosen = below(random_, inputs + constants + nodes + 1);
    if (chosen < inputs) return at.input(static_cast<int>(chosen)).name();
    if (chosen < inputs + constants) return at.initializer(static_cast<int>(chosen - inputs)).name();
    if (chosen == inputs + constants + nodes) return {};
    const onnx::NodeProto& maker = at.node(static_cast<int>(chosen - inputs - constants));
    return maker.output_size() == 0 ? std::string()
                                    : maker.output(static_cast<int>(below(random_, maker.output_size())));
  }

  void change_opset() {
    if (model_.opset_import_size() == 0) model_.add_opset_import();
    auto& import = *model_.mutable_opset_import(static_cast<int>(below(random_, model_.opset_import_size())));
    import.set_version(static_cast<int64_t>(7 + below(random_, 17)));
    if (one_in(random_, 8)) model_.set_ir_version(static_cast<int64_t>(3 + below(random_, 9)));
    if (one_in(random_, 8)) model_.add_opset_import()->set_domain("com.microsoft");
  }

  void change_port() {
    onnx::GraphProto& at = graph();
    auto& ports = one_in(random_, 3) ? *at.mutable_output() : *at.mutable_input();
    if (ports.empty()) return;
    auto& type = *ports.Mutable(static_cast<int>(below(random_, ports.size())))->mutable_type();
    auto& tensor = *type.mutable_tensor_type();
    if (one_in(random_, 8)) return tensor.set_elem_type(static_cast<int>(below(random_, 17)));
    if (one_in(random_, 16)) return tensor.clear_shape();
    auto& dims = *tensor.mutable_shape()->mutable_dim();
    if (dims.empty() || one_in(random_, 6)) {
      auto& dim = *dims.Add();
      dim.set_dim_value(static_cast<int64_t>(1 + below(random_, 4)));
      dims.SwapElements(static_cast<int>(below(random_, dims.size())), dims.size() - 1);
      return;
    }
    const int axis = static_cast<int>(below(random_, dims.size()));
    if (one_in(random_, 8)) return void(dims.erase(dims.begin() + axis));
    auto& dim = dims[axis];
    constexpr std::array kNames = {"n", "h", "w", "batch", "n + 1", "2*h", "?", "h*w", "floor(n/2)"};
    if (one_in(random_, 3)) return dim.set_dim_param(kNames[below(random_, kNames.size())]);
    if (one_in(random_, 8)) return dim.Clear();
    dim.set_dim_value(number(random_, dim.dim_value()));
  }

  void change_tensor() {
    onnx::GraphProto& at = graph();
    onnx::TensorProto* tensor = nullptr;
    if (at.initializer_size() > 0)
      tensor = at.mutable_initializer(static_cast<int>(below(random_, at.initializer_size())));
    if (tensor == nullptr || one_in(random_, 3)) {
      if (onnx::NodeProto* some = node())
        for (auto& attribute : *some->mutable_attribute())
          if (attribute.has_t()) tensor = attribute.mutable_t();
    }
    if (tensor == nullptr) return;
    if (one_in(random_, 8)) return tensor->set_data_type(static_cast<int>(below(random_, 20)));
    if (one_in(random_, 4)) {
      if (tensor->dims_size() == 0 || one_in(random_, 4)) return tensor->add_dims(1);
      auto& dims = *tensor->mutable_dims();
      if (dims.size() > 1 && one_in(random_, 2))
        return dims.SwapElements(0, static_cast<int>(below(random_, dims.size())));
      auto& dim = dims[static_cast<int>(below(random_, dims.size()))];
      dim = number(random_, dim);
      return;
    }
    if (tensor->int64_data_size() > 0) {
      auto& value = (*tensor->mutable_int64_data())[static_cast<int>(below(random_, tensor->int64_data_size()))];
      value = number(random_, value);
      return;
    }
    std::string& raw = *tensor->mutable_raw_data();
    if (tensor->data_type() == onnx::TensorProto::INT64 && raw.size() >= 8) {
      int64_t value = 0;
      char* location = raw.data() + 8 * below(random_, raw.size() / 8);
      std::memcpy(&value, location, 8);
      value = number(random_, value);
      std::memcpy(location, &value, 8);
      if (one_in(random_, 8) && tensor->dims_size() == 1 && tensor->dims(0) < INT64_MAX) {
        raw.append(raw.substr(raw.size() - 8));
        tensor->set_dims(0, tensor->dims(0) + 1);
      }
    } else if (!raw.empty()) {
      raw[below(random_, raw.size())] = static_cast<char>(random_());
    }
  }

  void insert_node() {
    onnx::GraphProto& at = graph();
    onnx::NodeProto* reader =
        at.node_size() > 0 ? at.mutable_node(static_cast<int>(below(random_, at.node_size()))) : nullptr;
    if (reader == nullptr || reader->input_size() == 0) return;
    const int operand = static_cast<int>(below(random_, reader->input_size()));
    const std::string made = "made_" + std::to_string(below(random_, 1 << 20));
    onnx::NodeProto added;
    added.set_op_type(kOperators[below(random_, kOperators.size())]);
    added.add_input(reader->input(operand));
    for (size_t more = below(random_, 3); more > 0; --more) added.add_input(name());
    added.add_output(made);
    if (one_in(random_, 2)) set_attribute(*added.add_attribute());
    reader->set_input(operand, made);
    const auto location = std::find_if(at.node().begin(), at.node().end(), [&](const auto& n) { return &n == reader; });
    const int index = static_cast<int>(location - at.node().begin());
    *at.add_node() = std::move(added);
    for (int i = at.node_size() - 1; i > index; --i) at.mutable_node()->SwapElements(i, i - 1);
  }

  void remove_node() {
    onnx::GraphProto& at = graph();
    if (at.node_size() == 0) return;
    const int index = static_cast<int>(below(random_, at.node_size()));
    const onnx::NodeProto gone = at.node(index);
    at.mutable_node()->DeleteSubrange(index, 1);
    if (gone.input_size() == 0 || gone.output_size() == 0) return;
    for (auto& other : *at.mutable_node())
      for (auto& input : *other.mutable_input())
        if (input == gone.output(0)) input = gone.input(0);
  }

  void copy_node() {
    onnx::GraphProto& at = graph();
    if (at.node_size() == 0) return;
    onnx::NodeProto copy = at.node(static_cast<int>(below(random_, at.node_size())));
    for (auto& output : *copy.mutable_output()) output += "_" + std::to_string(below(random_, 1000));
    if (copy.output_size() > 0 && at.output_size() > 0 && one_in(random_, 2)) {
      onnx::ValueInfoProto& output = *at.add_output();
      output.set_name(copy.output(0));
    }
    *at.add_node() = std::move(copy);
  }

  void change_operands() {
    onnx::NodeProto* some = node();
    if (some == nullptr) return;
    if (some->input_size() == 0 || one_in(random_, 6)) return some->add_input(name());
    if (one_in(random_, 8)) return void(some->mutable_input()->RemoveLast());
    const int operand = static_cast<int>(below(random_, some->input_size()));
    if (one_in(random_, 4)) return some->mutable_input()->SwapElements(0, operand);
    some->set_input(operand, name());
  }

  void change_results() {
    onnx::NodeProto* some = node();
    if (some == nullptr) return;
    if (some->output_size() == 0 || one_in(random_, 2))
      return some->add_output("out_" + std::to_string(below(random_, 1000)));
    if (one_in(random_, 2)) return void(some->mutable_output()->RemoveLast());
    some->set_output(static_cast<int>(below(random_, some->output_size())), "");
  }

  void change_outputs() {
    onnx::GraphProto& at = graph();
    if (at.output_size() == 0 || one_in(random_, 3)) {
      at.add_output()->set_name(name());
      return;
    }
    const int index = static_cast<int>(below(random_, at.output_size()));
    if (one_in(random_, 4)) return at.mutable_output()->DeleteSubrange(index, 1);
    onnx::ValueInfoProto& output = *at.mutable_output(index);
    output.set_name(name());
    if (one_in(random_, 2)) output.clear_type();
  }

  void change_operator() {
    onnx::NodeProto* some = node();
    if (some == nullptr) return;
    if (model_.functions_size() > 0 && one_in(random_, 4)) {
      const auto& function = model_.functions(static_cast<int>(below(random_, model_.functions_size())));
      some->set_op_type(function.name());
      some->set_domain(function.domain());
      return;
    }
    some->set_op_type(kOperators[below(random_, kOperators.size())]);
    if (one_in(random_, 8)) some->set_domain(one_in(random_, 2) ? "" : "com.microsoft");
  }

  void set_attribute(onnx::AttributeProto& attribute) {
    attribute.Clear();
    attribute.set_name(kAttributes[below(random_, kAttributes.size())]);
    if (one_in(random_, 2)) {
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(number(random_, 0));
      return;
    }
    attribute.set_type(onnx::AttributeProto::INTS);
    for (size_t count = below(random_, 5); count > 0; --count) attribute.add_ints(number(random_, 1));
  }

  void change_attribute() {
    onnx::NodeProto* some = node();
    if (some == nullptr) return;
    if (some->attribute_size() == 0 || one_in(random_, 6)) return set_attribute(*some->add_attribute());
    const int index = static_cast<int>(below(random_, some->attribute_size()));
    if (one_in(random_, 10)) return some->mutable_attribute()->DeleteSubrange(index, 1);
    onnx::AttributeProto& attribute = *some->mutable_attribute(index);
    if (attribute.type() == onnx::AttributeProto::INT) return attribute.set_i(number(random_, attribute.i()));
    if (attribute.type() == onnx::AttributeProto::INTS) {
      if (attribute.ints_size() == 0 || one_in(random_, 4)) return attribute.add_ints(number(random_, 1));
      const int at = static_cast<int>(below(random_, attribute.ints_size()));
      if (one_in(random_, 6)) return void(attribute.mutable_ints()->RemoveLast());
      return attribute.set_ints(at, number(random_, attribute.ints(at)));
    }
    if (attribute.has_g()) {
      // A graph takes or returns one value more or less.
      auto& ports =
          one_in(random_, 2) ? *attribute.mutable_g()->mutable_output() : *attribute.mutable_g()->mutable_input();
      if (!ports.empty() && one_in(random_, 2)) return ports.RemoveLast();
      return ports.Add()->set_name(name());
    }
    if (one_in(random_, 2)) set_attribute(attribute);
  }

  onnx::ModelProto& model_;
  Random random_;
  std::vector<onnx::GraphProto*> graphs_;
  std::vector<onnx::NodeProto*> nodes_;
};

onnx::ModelProto smallest() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto& graph = *model.mutable_graph();
  auto& node = *graph.add_node();
  node.set_op_type("Relu");
  node.add_input("x");
  node.add_output("y");
  auto& input = *graph.add_input();
  input.set_name("x");
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : {1, 3, 4}) type.mutable_shape()->add_dim()->set_dim_value(dim);
  graph.add_output()->set_name("y");
  return model;
}

onnx::ModelProto read(std::span<const uint8_t> bytes) {
  onnx::ModelProto model;
  if (!bytes.empty() && model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) && model.has_graph())
    return model;
  return smallest();
}

std::string changed(std::span<const uint8_t> bytes, unsigned seed) {
  onnx::ModelProto model = read(bytes);
  Random random(seed);
  for (size_t changes = 1 + below(random, 4); changes > 0; --changes) Change(model, random()).make();
  return model.SerializeAsString();
}

}  // namespace

size_t mutate_model(uint8_t* data, size_t size, size_t most, unsigned seed) {
  // The wire format itself is onnx_fuzz's.
  if (seed % 64 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string made = changed({data, size}, seed);
  if (made.size() > most) return size;
  std::memcpy(data, made.data(), made.size());
  return made.size();
}

std::pair<std::span<const uint8_t>, std::span<const uint8_t>> split_pair(const uint8_t* data, size_t size) {
  uint32_t first = 0;
  if (size < sizeof first) return {};
  std::memcpy(&first, data, sizeof first);
  const std::span<const uint8_t> rest(data + sizeof first, size - sizeof first);
  if (first > rest.size()) return {rest, {}};
  return {rest.first(first), rest.subspan(first)};
}

size_t mutate_pair(uint8_t* data, size_t size, size_t most, unsigned seed) {
  const auto [a, b] = split_pair(data, size);
  const bool both = seed % 4 != 0;
  const bool first = both || seed % 8 == 0;
  const std::string x = first ? changed(a, seed) : std::string(a.begin(), a.end());
  const std::string y = both || !first ? changed(b, seed) : std::string(b.begin(), b.end());
  const auto length = static_cast<uint32_t>(x.size());
  if (sizeof length + x.size() + y.size() > most) return size;
  std::memcpy(data, &length, sizeof length);
  std::memcpy(data + sizeof length, x.data(), x.size());
  std::memcpy(data + sizeof length + x.size(), y.data(), y.size());
  return sizeof length + x.size() + y.size();
}

size_t cross_models(std::span<const uint8_t> a, std::span<const uint8_t> b, uint8_t* out, size_t most, unsigned seed) {
  // Nodes of one go behind those of the other, reading its values where names meet.
  onnx::ModelProto model = read(a);
  const onnx::ModelProto other = read(b);
  Random random(seed);
  auto& graph = *model.mutable_graph();
  const auto& from = other.graph();
  if (from.node_size() > 0) {
    const size_t first = below(random, from.node_size());
    const size_t count = std::min<size_t>(1 + below(random, 8), static_cast<size_t>(from.node_size()) - first);
    for (size_t i = first; i < first + count; ++i) {
      onnx::NodeProto node = from.node(static_cast<int>(i));
      for (auto& output : *node.mutable_output()) output += "_x";
      for (auto& input : *node.mutable_input())
        if (graph.node_size() > 0 && one_in(random, 2) && graph.node(0).output_size() > 0)
          input = graph.node(0).output(0);
      if (node.output_size() > 0) graph.add_output()->set_name(node.output(0));
      *graph.add_node() = std::move(node);
    }
    for (const auto& tensor : from.initializer())
      if (tensor.ByteSizeLong() < 256) *graph.add_initializer() = tensor;
  }
  const std::string made = model.SerializeAsString();
  if (made.size() > most) {
    std::memcpy(out, a.data(), std::min(a.size(), most));
    return std::min(a.size(), most);
  }
  std::memcpy(out, made.data(), made.size());
  return made.size();
}

}  // namespace thaw_fuzz
