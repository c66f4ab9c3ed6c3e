// What is said of samples against runs: a sample alone gives what it gives beside others, whatever these are.
#include "thaw/prove/samples.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "thaw/prove/laws_testing.h"
#include "thaw/run/session.h"

namespace thaw::proving {
namespace {

constexpr int64_t kSamples = 3;
constexpr const char* kInputs = "float[n,4,6] x, float[n,4,6] z, float[n,6,4] w, float[4,6] k, float[6,6] m";

std::map<std::string, std::string> places_of(const Graph& graph) {
  std::map<std::string, std::string> places;
  for (const OutputOfSamples& one : samples_apart(*graph.model(), "n")) places[one.name] = one.place;
  return places;
}

// Numbers of so many samples; those of a later seed are others.
Arrays drawn(int64_t samples, uint32_t seed) {
  Arrays feeds;
  const auto add = [&](const std::string& name, std::vector<int64_t> dims, uint32_t own) {
    std::mt19937 random(own);
    std::vector<double> values(static_cast<size_t>(Array::zeros(DataType::kFloat, dims).num_elements()));
    for (double& value : values) value = std::uniform_real_distribution<double>(-2, 2)(random);
    feeds[name] = Array::from_doubles(DataType::kFloat, std::move(dims), values);
  };
  add("x", {samples, 4, 6}, seed);
  add("z", {samples, 4, 6}, seed + 1);
  add("w", {samples, 6, 4}, seed + 2);
  add("k", {4, 6}, 5);
  add("m", {6, 6}, 6);
  return feeds;
}

bool is_of_samples(const std::string& name) { return name == "x" || name == "z" || name == "w"; }

// Elements of one sample of what holds them in its first axis.
std::vector<double> sample_of(const Array& of, int64_t samples, int64_t sample) {
  const std::vector<double> all = to_doubles(of);
  const auto each = static_cast<int64_t>(all.size()) / samples;
  return {all.begin() + sample * each, all.begin() + (sample + 1) * each};
}

Arrays one_of(const Arrays& feeds, int64_t sample) {
  Arrays made = feeds;
  for (auto& [name, array] : made) {
    if (!is_of_samples(name)) continue;
    std::vector<int64_t> dims = array.dims;
    dims[0] = 1;
    array = Array::from_doubles(DataType::kFloat, dims, sample_of(feeds.at(name), kSamples, sample));
  }
  return made;
}

bool is_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i])) &&
        !(std::fabs(a[i] - b[i]) <= tolerance * (1 + std::fabs(b[i]))))
      return false;
  return true;
}

// By runs: whether each sample of an output is what it is alone, and stays to the last bit where the others change.
std::map<std::string, bool> apart_in_runs(const Graph& graph) {
  run::SessionOptions plain;
  plain.optimization = run::Optimization::kNone;
  run::Session session(*graph.model(), plain);
  const Arrays feeds = drawn(kSamples, 20);
  const Arrays together = session.run(feeds);
  std::map<std::string, bool> apart;
  for (const auto& [name, of] : together) apart[name] = true;
  for (int64_t sample = 0; sample < kSamples; ++sample) {
    Arrays others = drawn(kSamples, 90);
    for (auto& [name, array] : others) {
      if (!is_of_samples(name)) continue;
      std::vector<double> values = to_doubles(array);
      const std::vector<double> own = sample_of(feeds.at(name), kSamples, sample);
      std::ranges::copy(own, values.begin() + sample * static_cast<int64_t>(own.size()));
      array = Array::from_doubles(DataType::kFloat, array.dims, values);
    }
    const Arrays changed = session.run(others), alone = session.run(one_of(feeds, sample));
    for (const auto& [name, of] : together) {
      const Array &single = alone.at(name), &beside = changed.at(name);
      const bool is_same_for_all = of.dims == single.dims;
      bool is_apart = of.dims == beside.dims && of.dims.size() == single.dims.size();
      for (size_t k = is_same_for_all ? 0 : 1; k < of.dims.size() && is_apart; ++k)
        is_apart = of.dims[k] == single.dims[k];
      if (is_apart && is_same_for_all) {
        is_apart = is_near(to_doubles(of), to_doubles(beside), 0) && is_near(to_doubles(of), to_doubles(single), 1e-4);
      } else if (is_apart) {
        is_apart = of.dims[0] == kSamples && single.dims[0] == 1 &&
                   is_near(sample_of(of, kSamples, sample), sample_of(beside, kSamples, sample), 0) &&
                   is_near(sample_of(of, kSamples, sample), to_doubles(single), 1e-4);
      }
      if (!is_apart) apart[name] = false;
    }
  }
  return apart;
}

// An operator that is drawn, over values that are there.
std::string call_of(std::mt19937& random, Graph& g, const std::vector<std::string>& floats,
                    const std::vector<std::string>& ints) {
  const auto any = [&](const std::vector<std::string>& of) {
    return of[std::uniform_int_distribution<size_t>(0, of.size() - 1)(random)];
  };
  const auto number = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const std::string a = any(floats), b = any(floats), i = any(ints);
  const int64_t axis = number(-1, 3);
  const auto order = permutations(number(2, 4));
  const std::vector<std::vector<int64_t>> shapes = {{0, -1},      {-1, 6},    {-1, 24},      {0, 4, 6},
                                                    {0, 2, 2, 6}, {-1, 2, 6}, {1, -1, 4, 6}, {-1},
                                                    {0, 0, 2, 3}, {4, -1, 6}, {-1, 3}};
  const std::vector<std::string> calls = {
      fmt::format("Relu({})", a),
      fmt::format("Add({}, {})", a, b),
      fmt::format("Mul({}, {})", a, b),
      fmt::format("MatMul({}, {})", a, b),
      fmt::format("Gemm <transA = {}, transB = {}> ({}, {})", number(0, 1), number(0, 1), a, b),
      transposed(a, order[static_cast<size_t>(number(0, static_cast<int64_t>(order.size()) - 1))]),
      fmt::format("Reshape({}, {})", a,
                  g.ints(shapes[static_cast<size_t>(number(0, static_cast<int64_t>(shapes.size()) - 1))])),
      fmt::format("Reshape({}, {})", a, i),
      fmt::format("Softmax <axis = {}> ({})", axis, a),
      fmt::format("ReduceMean <axes = [{}], keepdims = {}> ({})", axis, number(0, 1), a),
      fmt::format("ReduceMax <axes = [{}], keepdims = {}> ({})", axis, number(0, 1), a),
      fmt::format("Concat <axis = {}> ({}, {})", axis, a, b),
      fmt::format("Slice({}, {}, {}, {}, {})", a, g.ints({number(-2, 1)}), g.ints({number(1, 9)}), g.ints({axis}),
                  g.ints({number(1, 2)})),
      fmt::format("Slice({}, {}, {}, {})", a, g.ints({0}), i, g.ints({axis})),
      fmt::format("Unsqueeze({}, {})", a, g.ints({axis})),
      fmt::format("Squeeze({}, {})", a, g.ints({axis})),
      fmt::format("Flatten <axis = {}> ({})", axis, a),
      fmt::format("Gather <axis = {}> ({}, {})", axis, a, g.ints({number(0, 2), 0, number(0, 1)})),
      fmt::format("Gather <axis = {}> ({}, {})", axis, a, i),
      fmt::format("GatherElements <axis = {}> ({}, {})", axis, a, i),
      fmt::format("GatherND <batch_dims = {}> ({}, {})", number(0, 1), a, i),
      fmt::format("CumSum({}, {})", a, g.ints({axis})),
      fmt::format("Expand({}, {})", a, i),
      fmt::format("Tile({}, {})", a, g.ints({number(1, 2), number(1, 2), 1})),
      fmt::format("Pad({}, {})", a, g.ints({number(0, 1), number(0, 1), 0, number(0, 1), 1, 0})),
      fmt::format("LayerNormalization <axis = {}> ({}, {})", axis, a, g.floats("6", {1, 2, 1, 2, 1, 2})),
      fmt::format("Einsum <equation = \"{}\"> ({}, {})",
                  std::vector<std::string>{"bij,bkj->bik", "bij,cij->bc", "bij,jk->bik", "bij,bij->b",
                                           "bij,bij->ij"}[static_cast<size_t>(number(0, 4))],
                  a, b),
      fmt::format("Trilu({})", a),
      fmt::format("Conv({}, {})", a, g.floats("2,4,1", {1, 2, 3, 4, 5, 6, 7, 8})),
      fmt::format("InstanceNormalization({}, {}, {})", a, g.floats("4", {1, 2, 3, 4}), g.floats("4", {0, 1, 0, 1})),
      fmt::format("Where({}, {}, {})", g.add(fmt::format("Greater({}, {})", a, b)), a, b),
      fmt::format("Cast <to = 1> ({})", i),
  };
  return calls[static_cast<size_t>(number(0, static_cast<int64_t>(calls.size()) - 1))];
}

std::string integers_of(std::mt19937& random, Graph& g, const std::vector<std::string>& floats,
                        const std::vector<std::string>& ints) {
  const auto any = [&](const std::vector<std::string>& of) {
    return of[std::uniform_int_distribution<size_t>(0, of.size() - 1)(random)];
  };
  const std::string a = any(floats), i = any(ints), other = any(ints);
  const std::vector<std::string> calls = {
      fmt::format("Shape({})", a),
      fmt::format("ArgMax <axis = {}> ({})", std::uniform_int_distribution<int>(-1, 2)(random), a),
      fmt::format("Add({}, {})", i, other),
      fmt::format("Gather({}, {})", i, g.ints({0})),
      fmt::format("Concat <axis = 0> ({}, {})", i, g.ints({-1})),
      fmt::format("Reshape({}, {})", i, g.ints({-1, 1})),
  };
  return calls[std::uniform_int_distribution<size_t>(0, calls.size() - 1)(random)];
}

TEST(Samples, OfRandomGraphsAreApartInRunsWhereTheyAreSaidToBe) {
  std::mt19937 random(11);
  size_t said = 0, in_runs = 0, mixed = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Graph g(kInputs);
    std::vector<std::string> floats = {"x", "z", "w", "k", "m", "x"}, ints = {g.add("Shape(x)")};
    for (int tries = 0; tries < 14; ++tries) {
      Graph next = g;
      const bool is_integer = std::uniform_int_distribution<int>(0, 3)(random) == 0;
      const std::string name =
          next.add(is_integer ? integers_of(random, next, floats, ints) : call_of(random, next, floats, ints));
      try {
        run::SessionOptions plain;
        plain.optimization = run::Optimization::kNone;
        run::Session session(*next.model(), plain);
        session.run(drawn(1, 3));
        session.run(drawn(kSamples, 3));
      } catch (const std::exception&) {
        continue;  // it does not run
      }
      g = std::move(next);
      (is_integer ? ints : floats).push_back(name);
    }
    const auto places = places_of(g);
    for (const auto& [name, is_apart] : apart_in_runs(g)) {
      const bool is_said = places.at(name).empty();
      EXPECT_FALSE(is_said && !is_apart) << name << " of\n" << g.nodes();
      said += is_said;
      in_runs += is_apart;
      mixed += !is_apart;
    }
  }
  EXPECT_GE(10 * said, 7 * in_runs) << said << " of " << in_runs;
  EXPECT_GE(mixed, 50U);
}

struct Case {
  const char* call;
  bool is_apart;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.call; }

class SamplesOf : public testing::TestWithParam<Case> {};

TEST_P(SamplesOf, AreApartOrNot) {
  Graph g(kInputs);
  g.ints({0});  // that the calls read
  g.add(GetParam().call);
  const std::string name = g.add("Identity(y0)");
  EXPECT_EQ(places_of(g).at(name).empty(), GetParam().is_apart) << places_of(g).at(name);
  EXPECT_EQ(apart_in_runs(g).at(name), GetParam().is_apart);
}

INSTANTIATE_TEST_SUITE_P(
    Each, SamplesOf,
    testing::Values(Case{"Relu(x)", true}, Case{"Softmax <axis = 1> (x)", true}, Case{"Softmax <axis = 0> (x)", false},
                    Case{"MatMul(x, w)", true}, Case{"MatMul(x, m)", true}, Case{"MatMul(m, w)", true},
                    Case{"ReduceMean <axes = [1]> (x)", true}, Case{"ReduceMean <axes = [0]> (x)", false},
                    Case{"ReduceMean(x)", false}, Case{"CumSum(x, c0)", false}, Case{"Sub(x, k)", true},
                    Case{"Concat <axis = 1> (x, z)", true}, Case{"Concat <axis = 0> (x, z)", false},
                    Case{"ArgMax <axis = 2> (x)", true}, Case{"ArgMax <axis = 0> (x)", false}, Case{"Shape(x)", false},
                    Case{"Gather <axis = 0> (x, c0)", false}, Case{"Transpose <perm = [1, 0, 2]> (x)", false},
                    Case{"Einsum <equation = \"bij,cij->bc\"> (x, z)", false}, Case{"Mul(k, k)", true},
                    Case{"LpNormalization <axis = 0> (x)", false}));

}  // namespace
}  // namespace thaw::proving
