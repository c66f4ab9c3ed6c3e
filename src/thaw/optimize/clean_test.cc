// The passes of `clean` one by one: what each is for, and what looks alike and is left.
#include <gtest/gtest.h>

#include "thaw/optimize/passes_testing.h"

namespace thaw::optimizing {
namespace {

using ir::DataType;
using ir::Dims;
using ir::ModelBuilder;
using ir::Value;

const std::vector<int64_t> kTurn{0, 2, 1};

// A model of one input; `fill` returns its output.
template <typename Fill>
std::unique_ptr<ir::Model> model(const Dims& dims, Fill fill, DataType type = DataType::kFloat, int64_t opset = 21) {
  ModelBuilder m(opset);
  Value* x = m.add_input("x", type, dims);
  m.add_output(fill(m, x), "y");
  return m.build();
}

Value* relu(ModelBuilder& m, Value* x) { return m.add_node("Relu", {x}); }

TEST(Clean, Identities) {
  EXPECT_EQ(made_by(simplifying(identities()), model({"n", 4},
                                                     [](ModelBuilder& m, Value* x) {
                                                       Value* same = m.add_node("Identity", {relu(m, x)});
                                                       Value* sum = m.add_node("Add", {same, m.add_float("", 0)});
                                                       return relu(m, m.add_node("Mul", {sum, m.add_float("", 1)}));
                                                     })),
            "Relu Relu");
  // The sum has more axes than x.
  expect_left(simplifying(identities()), model({"n", 4}, [](ModelBuilder& m, Value* x) {
                return relu(m, m.add_node("Add", {x, m.add_zeros("", DataType::kFloat, {1, 1, 1})}));
              }));
}

TEST(Clean, MergedLayouts) {
  const auto twice = [](const std::vector<int64_t>& second) {
    return model({"n", "m", 4}, [&](ModelBuilder& m, Value* x) {
      Value* once = m.add_node("Transpose", {relu(m, x)}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
      return relu(m, m.add_node("Transpose", {once}, {{"perm", second}}));
    });
  };
  EXPECT_EQ(made_by(simplifying(merged_layouts()), twice({1, 0, 2})), "Relu Relu");
  EXPECT_EQ(made_by(simplifying(merged_layouts()), twice(kTurn)), "Relu Transpose Relu");
}

TEST(Clean, MergedNumbers) {
  const auto cast_twice = [](DataType between) {
    return model({"n"}, [&](ModelBuilder& m, Value* x) {
      Value* first = m.add_node("Cast", {relu(m, x)}, {{"to", static_cast<int64_t>(between)}});
      return m.add_node("Cast", {first}, {{"to", static_cast<int64_t>(DataType::kFloat16)}});
    });
  };
  EXPECT_EQ(made_by(simplifying(merged_numbers()), cast_twice(DataType::kDouble)), "Relu Cast");
  expect_left(simplifying(merged_numbers()), cast_twice(DataType::kInt32));  // loses what lies between integers
}

TEST(Clean, MergedReductions) {
  EXPECT_EQ(made_by(simplifying(merged_reductions()), model({"n", "m"},
                                                            [](ModelBuilder& m, Value* x) {
                                                              Value* axis = m.add_ints("", {1});
                                                              Value* largest = m.add_node("ReduceMax", {x, axis},
                                                                                          {{"keepdims", int64_t{0}}});
                                                              return relu(m, m.add_node("Unsqueeze", {largest, axis}));
                                                            })),
            "ReduceMax Relu");
}

TEST(Clean, ListConstants) {
  EXPECT_EQ(made_by(list_constants, model({"n", 4},
                                          [](ModelBuilder& m, Value* x) {
                                            Value* two = m.add_node("Constant", {}, {{"value_float", 2.0F}});
                                            return m.add_node("Mul", {x, two});
                                          })),
            "Mul");
}

TEST(Clean, PushTransposes) {
  const auto between = [](std::string_view op) {
    return model({"n", "m", 4}, [&](ModelBuilder& m, Value* x) {
      Value* transposed = m.add_node("Transpose", {x}, {{"perm", kTurn}});
      return relu(m, m.add_node("Transpose", {m.add_node(op, {transposed})}, {{"perm", kTurn}}));
    });
  };
  EXPECT_EQ(made_by(push_transposes, between("Exp")), "Exp Relu");
  EXPECT_EQ(made_by(push_transposes, between("Softmax")), "Softmax Relu");  // along the other axis
}

TEST(Clean, SequencesOfKnownItems) {
  EXPECT_EQ(made_by(simplifying(plain_sequences()),
                    model({"n", 4},
                          [](ModelBuilder& m, Value* x) {
                            Value* all = m.add_node("SequenceConstruct", {relu(m, x), m.add_node("Neg", {x})});
                            return m.add_node("SequenceAt", {all, m.add_int("", 1)});
                          })),
            "Neg");
  EXPECT_EQ(made_by(split_sequences,
                    model({"n", 4},
                          [](ModelBuilder& m, Value* x) {
                            Value* all = m.add_node("SplitToSequence", {x, m.add_int("", 2)}, {{"axis", int64_t{1}}});
                            return m.add_node("Add", {m.add_node("SequenceAt", {all, m.add_int("", 0)}),
                                                      m.add_node("SequenceAt", {all, m.add_int("", 1)})});
                          })),
            "Split Add");
}

// An If by whether axis 1 of x, of so many elements, has more than one.
std::unique_ptr<ir::Model> with_if(const ir::DimSpec& size) {
  return model({"n", size}, [](ModelBuilder& m, Value* x) {
    Value* width = m.add_node("Gather", {m.add_node("Shape", {x}), m.add_int("", 1)});
    Value* condition = m.add_node("Greater", {width, m.add_int("", 1)});
    const auto branch = [&](const char* name, std::string_view op) {
      return m.make_subgraph(name, [&](ir::GraphBuilder& g) {
        g.add_output(g.add_node(op, {x}), ir::tensor_type(DataType::kFloat, {"n", ir::kUnknownDim}));
      });
    };
    return m.add_node("If", {condition}, {{"then_branch", branch("a", "Exp")}, {"else_branch", branch("b", "Neg")}});
  });
}

TEST(Clean, TakeBranches) {
  EXPECT_EQ(made_by(take_branches, with_if(4)), "Exp Identity");
  expect_left(take_branches, with_if("m"));
}

// A Loop of so many rounds, each of which adds x.
std::unique_ptr<ir::Model> with_loop(int64_t rounds) {
  return model({"n", 4}, [&](ModelBuilder& m, Value* x) {
    const auto body = m.make_subgraph("body", [&](ir::GraphBuilder& g) {
      g.add_input("i", DataType::kInt64, Dims{});
      Value* on = g.add_input("on", DataType::kBool, Dims{});
      Value* sum = g.add_input("sum", DataType::kFloat, {"n", 4});
      g.add_output(g.add_node("Identity", {on}), ir::tensor_type(DataType::kBool, Dims{}));
      g.add_output(g.add_node("Add", {sum, x}), ir::tensor_type(DataType::kFloat, {"n", 4}));
    });
    return m.add_node("Loop", {m.add_int("rounds", rounds), nullptr, x}, {{"body", body}});
  });
}

TEST(Clean, UnrollLoops) {
  const auto unroll = [](Context& context) {
    context.limit_growth(0);
    return unroll_loops(context);
  };
  EXPECT_EQ(made_by(unroll, with_loop(3)), "Add Add Add Identity");
  expect_left(unroll, with_loop(100));
}

TEST(Clean, PlainEinsums) {
  const auto einsum = [](const std::string& equation) {
    return model({"b", "i", 4}, [&](ModelBuilder& m, Value* x) {
      return m.add_node("Einsum", {x, m.add_node("Exp", {x})}, {{"equation", equation}});
    });
  };
  EXPECT_EQ(made_by(simplifying(plain_einsums()), einsum("bij,bkj->bik")), "Exp Transpose MatMul");
  expect_left(simplifying(plain_einsums()), einsum("bij,bij->bi"));
}

TEST(Clean, DropZeroStates) {
  const auto gru = [](float state) {
    return model({"s", 1, 2}, [&](ModelBuilder& m, Value* x) {
      const std::vector<float> weights(18, 0.5F), states(3, state);
      Value* w = m.add_floats("w", {1, 9, 2}, weights);
      Value* r = m.add_floats("r", {1, 9, 3}, std::vector<float>(27, 0.25F));
      Value* h = m.add_floats("h", {1, 1, 3}, states);
      return m.add_node("GRU", {x, w, r, nullptr, nullptr, h}, {{"hidden_size", int64_t{3}}});
    });
  };
  const auto with_zeros = gru(0);
  Context context(*with_zeros);
  EXPECT_EQ(drop_zero_states(context), 1);
  EXPECT_EQ((*with_zeros->graph->nodes().begin())->input(5), nullptr);
  expect_left(drop_zero_states, gru(1));
}

TEST(Clean, EqualQuantization) {
  const auto requantized = [](float second) {
    return model(
        {"n"},
        [&](ModelBuilder& m, Value* x) {
          Value* zero = m.add_zeros("zero", DataType::kUint8, {});
          Value* number = m.add_node("DequantizeLinear", {x, m.add_float("scale", 0.5F), zero});
          return m.add_node("Identity", {m.add_node("QuantizeLinear", {number, m.add_float("other", second), zero})});
        },
        DataType::kUint8);
  };
  EXPECT_EQ(made_by(simplifying(equal_quantization()), requantized(0.5F)), "Identity");
  expect_left(simplifying(equal_quantization()), requantized(0.25F));
}

TEST(Clean, ShareConstants) {
  const auto two = [](float second) {
    return model({"n", 2}, [&](ModelBuilder& m, Value* x) {
      const std::vector<float> a{1, 2}, b{1, second};
      return m.add_node("Mul", {m.add_node("Add", {x, m.add_floats("a", {2}, a)}), m.add_floats("b", {2}, b)});
    });
  };
  const auto equal = two(2);
  Context context(*equal);
  EXPECT_EQ(share_constants(context), 1);
  EXPECT_EQ(equal->graph->initializers().size(), 1u);
  expect_left(share_constants, two(3));
}

TEST(Clean, ShareNodes) {
  EXPECT_EQ(made_by(share_nodes, model({"n"},
                                       [](ModelBuilder& m, Value* x) {
                                         return m.add_node("Add", {m.add_node("Exp", {x}), m.add_node("Exp", {x})});
                                       })),
            "Exp Add");
  expect_left(share_nodes, model({"n"}, [](ModelBuilder& m, Value* x) {
                const auto draw = [&] { return m.add_node("RandomNormalLike", {x}); };
                return m.add_node("Add", {draw(), draw()});
              }));
}

TEST(Clean, ShareSizes) {
  EXPECT_EQ(made_by(share_sizes, model({"n", 4},
                                       [](ModelBuilder& m, Value* x) {
                                         const auto size = [&](Value* of) {
                                           return m.add_node("Gather",
                                                             {m.add_node("Shape", {of}), m.add_ints("", {0})});
                                         };
                                         return m.add_node("Add", {size(x), size(relu(m, x))});
                                       })),
            "Shape Gather Add");
}

TEST(Clean, WriteReshapeTargets) {
  EXPECT_EQ(made_by(write_reshape_targets,
                    model({"n", 3, 4},
                          [](ModelBuilder& m, Value* x) {
                            Value* n = m.add_node("Gather", {m.add_node("Shape", {x}), m.add_ints("", {0})});
                            Value* to = m.add_node("Concat", {n, m.add_ints("", {12})}, {{"axis", int64_t{0}}});
                            return m.add_node("Reshape", {x, to});
                          })),
            "Reshape");
}

TEST(Clean, InlineFunctions) {
  ModelBuilder m(21);
  m.import_opset("here", 1);
  Value* x = m.add_input("x", DataType::kFloat, {"n"});
  m.add_output(m.add_node("twice", {x}, {}, {.domain = "here"}), "y");
  auto called = m.build();
  // Nothing is known of the call: there is no function of its name.
  Context context(*called);
  EXPECT_EQ(inline_functions(context), 0);
  EXPECT_FALSE(context.has_facts());
}

// --- For DirectML ---

TEST(Clean, MergeBranches) {
  const auto branches = [](std::string_view op) {
    return model({"n", 4}, [&](ModelBuilder& m, Value* x) {
      Value* sum = m.add_node("ReduceSum", {x}, {{"keepdims", int64_t{0}}});
      const auto branch = [&](const char* name, std::string_view of) {
        return m.make_subgraph(name, [&](ir::GraphBuilder& g) {
          g.add_output(g.add_node(of, {x}), ir::tensor_type(DataType::kFloat, {"n", ir::kUnknownDim}));
        });
      };
      Value* condition = m.add_node("Greater", {sum, m.add_float("", 0)});
      return m.add_node("If", {condition}, {{"then_branch", branch("a", "Exp")}, {"else_branch", branch("b", op)}});
    });
  };
  EXPECT_EQ(made_by(merge_branches, branches("Neg"), OptimizeTarget::kDirectml),
            "ReduceSum Greater Exp Neg Where Identity");
  const auto sized = branches("NonZero");
  Context context(*sized, OptimizeTarget::kDirectml);
  EXPECT_EQ(merge_branches(context), 0);
  EXPECT_EQ(context.changes.left.size(), 1u);
}

// A Scan over the rows of x; `fill` writes its body.
template <typename Fill>
std::unique_ptr<ir::Model> with_scan(Fill fill, bool carries) {
  return model({"n", 4}, [&](ModelBuilder& m, Value* x) {
    const auto body = m.make_subgraph("body", fill);
    std::vector<Value*> inputs{x};
    if (carries) inputs.insert(inputs.begin(), m.add_zeros("zeros", DataType::kFloat, {4}));
    return m.add_node(carries ? 2 : 1, "Scan", inputs, {{"body", body}, {"num_scan_inputs", int64_t{1}}}).back();
  });
}

TEST(Clean, MapRowsAtOnce) {
  const auto scan = [](std::string_view op) {
    return with_scan(
        [&](ir::GraphBuilder& g) {
          Value* row = g.add_input("row", DataType::kFloat, {4});
          g.add_output(g.add_node(op, {row}), ir::tensor_type(DataType::kFloat, {4}));
        },
        false);
  };
  EXPECT_EQ(made_by(map_rows_at_once, scan("Exp"), OptimizeTarget::kDirectml), "Exp Identity Identity");
  const auto sorted = scan("Softmax");  // along the row's own axis
  Context context(*sorted, OptimizeTarget::kDirectml);
  EXPECT_EQ(map_rows_at_once(context), 0);
  EXPECT_EQ(context.changes.left.size(), 1u);
}

TEST(Clean, AddScansAtOnce) {
  const auto scan = [](std::string_view op) {
    return with_scan(
        [&](ir::GraphBuilder& g) {
          Value* sum = g.add_input("sum", DataType::kFloat, {4});
          Value* now = g.add_node(op, {sum, g.add_input("row", DataType::kFloat, {4})});
          g.add_output(now, ir::tensor_type(DataType::kFloat, {4}));
          g.add_output(g.add_node("Identity", {now}), ir::tensor_type(DataType::kFloat, {4}));
        },
        true);
  };
  EXPECT_EQ(made_by(add_scans_at_once, scan("Add"), OptimizeTarget::kDirectml), "Unsqueeze CumSum Add Identity");
  expect_left(add_scans_at_once, scan("Mul"), OptimizeTarget::kDirectml);
}

TEST(Clean, DirectmlForms) {
  EXPECT_EQ(made_by(simplifying(backend_forms()),
                    model({"n", 4},
                          [](ModelBuilder& m, Value* x) {
                            Value* size = m.add_node("Gather", {m.add_node("Shape", {x}), m.add_int("", 0)});
                            return m.add_node("Range", {m.add_int("", 0), size, m.add_int("", 1)});
                          }),
                    OptimizeTarget::kDirectml),
            "Slice Greater Cast ReduceSum Add CumSum");
}

}  // namespace
}  // namespace thaw::optimizing
