#include "thaw/cli/int8_options.h"

#include "thaw/cli/options.h"

namespace thaw::cli {

void add_int8(CLI::App& app, Int8Options& int8) {
  app.add_flag("--dynamic", int8.dynamic, "int8 that measures activations at each run; else --data is needed");
  add_choice<RangeMethod>(app, "--range", int8.range,
                          {{"minmax", RangeMethod::kMinMax},
                           {"percentile", RangeMethod::kPercentile},
                           {"entropy", RangeMethod::kEntropy},
                           {"mse", RangeMethod::kMse}},
                          "how the range of an activation is chosen from the samples (minmax)");
  app.add_option("--percentile", int8.percentile, "how much of what is seen the range holds (99.999)")
      ->type_name("PERCENT")
      ->check(CLI::Range(50.0, 100.0));
  app.add_flag("--per-tensor{false}", int8.per_channel, "one scale for a weight, not one for each channel");
  app.add_flag("--symmetric-activations", int8.symmetric_activations, "activations without zero points");
  app.add_flag("--signed-activations{false}", int8.unsigned_activations, "activations of int8, not uint8");
  app.add_flag("--asymmetric-weights{false}", int8.symmetric_weights, "weights with zero points");
  app.add_flag("--unsigned-weights", int8.unsigned_weights, "weights of uint8, not int8");
  app.add_flag("--reduced-range", int8.reduced_range, "weights of 7 bits, for processors without VNNI");
  app.add_option("--smooth", int8.smooth, "scales moved from activations to weights: SmoothQuant's alpha (0, none)")
      ->type_name("ALPHA")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--equalize", int8.equalize, "weights of convolutions that follow each other are evened out");
  app.add_flag("--activation-products", int8.activation_products,
               "products of two activations too, as attention has; with --data");
  app.add_flag("--correct-bias", int8.correct_bias, "biases take up what rounding the weights shifts the mean by");
}

}  // namespace thaw::cli
