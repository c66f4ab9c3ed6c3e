// ai.onnx.ml: trees, support vectors, linear models, encoders and what feeds them.
#include <algorithm>
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

// Entries of a list attribute of any type; 0 when it is absent.
int64_t list_length(Context& ctx, std::string_view name) {
  const ir::Attribute* a = ctx.attribute(name);
  if (!a) return 0;
  if (const auto* v = a->as<std::vector<int64_t>>()) return static_cast<int64_t>(v->size());
  if (const auto* v = a->as<std::vector<float>>()) return static_cast<int64_t>(v->size());
  if (const auto* v = a->as<std::vector<std::string>>()) return static_cast<int64_t>(v->size());
  return 0;
}

// Samples of [N, C] data; a vector is one sample. Unknown for an unknown rank.
Dim samples_of(const Fact& data) {
  if (data.rank() == 1) return 1;
  return data.rank() >= 2 ? data.dim(0) : Dim();
}

// The class labels of a classifier: their type and number (0: none given).
struct Labels {
  DataType type = DataType::kInt64;
  int64_t count = 0;
};

Labels labels_of(Context& ctx, std::string_view ints) {
  if (int64_t strings = list_length(ctx, "classlabels_strings"); strings > 0) return {DataType::kString, strings};
  return {DataType::kInt64, list_length(ctx, ints)};
}

void same_shape(Context& ctx) { same_as_input(ctx, 0, 0); }
void float_of_same_shape(Context& ctx) { shape_of_input(ctx, 0, 0, DataType::kFloat); }

// Columns of the last axis, by index.
void array_feature_extractor(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (!data.has_rank() || data.rank() == 0) return unknown_tensor(ctx, 0, data.dtype);
  Shape out = data.rank() == 1 ? Shape{1} : Shape(data.shape->begin(), data.shape->end() - 1);
  out.push_back(ctx.input(1).num_elements());
  ctx.set_tensor(0, data.dtype, std::move(out));
}

void needs_of_features(Context& ctx) {
  const Fact& data = ctx.input(0);
  need_between(ctx, 1, 0, data.rank() > 0 ? data.dim(data.rank() - 1) - 1 : Dim(),
               "an index and the features it names");
}

void cast_map(Context& ctx) {
  std::string_view to = ctx.attr_string("cast_to", "TO_FLOAT");
  DataType dtype = to == "TO_STRING" ? DataType::kString : to == "TO_INT64" ? DataType::kInt64 : DataType::kFloat;
  Dim length;
  if (ctx.attr_string("map_form", "DENSE") == "SPARSE")
    length = ctx.attr_int("max_map", 1);
  else
    length = ctx.data_dependent(0, 1);
  ctx.set_tensor(0, dtype, Shape{1, length});
}

void category_mapper(Context& ctx) {
  const Fact& data = ctx.input(0);
  DataType dtype = DataType::kUndefined;
  if (data.dtype != DataType::kUndefined)
    dtype = data.dtype == DataType::kString ? DataType::kInt64 : DataType::kString;
  shape_of_input(ctx, 0, 0, dtype);
}

// The specification says one axis, ONNX Runtime makes two: the rank is not stated.
void dict_vectorizer(Context& ctx) {
  const Fact& map = ctx.input(0);
  unknown_tensor(ctx, 0, map.element ? map.element->dtype : DataType::kUndefined);
}

void feature_vectorizer(Context& ctx) {
  Dim batch, width;
  if (auto widths = ctx.attr_ints("inputdimensions")) {
    width = 0;
    for (int64_t w : *widths) width = width + w;
  }
  for (int i = 0; i < ctx.num_inputs(); ++i)
    batch = ctx.require_equal(batch, samples_of(ctx.input(i)), "rows of a FeatureVectorizer", {}, {i, 0});
  ctx.set_tensor(0, DataType::kFloat, Shape{batch, width});
}

// The type of the values that labels map to, from whichever attribute has them.
DataType label_encoder_type(Context& ctx) {
  if (ctx.opset() < 2) {
    DataType in = ctx.input(0).dtype;
    if (in == DataType::kUndefined) return in;
    return in == DataType::kString ? DataType::kInt64 : DataType::kString;
  }
  if (ctx.has_attribute("values_strings")) return DataType::kString;
  if (ctx.has_attribute("values_int64s")) return DataType::kInt64;
  if (ctx.has_attribute("values_floats")) return DataType::kFloat;
  const ir::Tensor* values = ctx.attr_tensor("values_tensor");
  return values ? values->data_type : DataType::kUndefined;
}

void label_encoder(Context& ctx) { shape_of_input(ctx, 0, 0, label_encoder_type(ctx)); }

void one_hot_encoder(Context& ctx) {
  const Fact& data = ctx.input(0);
  int64_t categories = std::max(list_length(ctx, "cats_int64s"), list_length(ctx, "cats_strings"));
  std::optional<Shape> out = data.shape;
  if (out) out->push_back(categories > 0 ? Dim(categories) : Dim());
  ctx.set_tensor(0, DataType::kFloat, std::move(out));
}

void classifier(Context& ctx, const Labels& labels, Dim scores) {
  Dim batch = samples_of(ctx.input(0));
  ctx.set_tensor(0, labels.type, Shape{batch});
  ctx.set_tensor(1, DataType::kFloat, Shape{batch, scores});
}

void linear_classifier(Context& ctx) {
  Labels labels = labels_of(ctx, "classlabels_ints");
  // One intercept a class; a single one with two labels scores both.
  int64_t classes = list_length(ctx, "intercepts");
  Dim scores = classes == 0 ? Dim() : classes == 1 && labels.count == 2 ? Dim(int64_t{2}) : Dim(classes);
  classifier(ctx, labels, scores);
}

// How many scores a support vector classifier outputs depends on its kind and the runtime: not stated.
void svm_classifier(Context& ctx) { classifier(ctx, labels_of(ctx, "classlabels_ints"), Dim()); }

void tree_classifier(Context& ctx) {
  Labels labels = labels_of(ctx, "classlabels_int64s");
  classifier(ctx, labels, labels.count > 1 ? Dim(labels.count) : Dim());
}

void regressor(Context& ctx, DataType dtype, Dim targets) {
  ctx.set_tensor(0, dtype, Shape{samples_of(ctx.input(0)), targets});
}

void linear_regressor(Context& ctx) { regressor(ctx, DataType::kFloat, ctx.attr_int("targets", 1)); }
void svm_regressor(Context& ctx) { regressor(ctx, DataType::kFloat, 1); }

Dim tree_targets(Context& ctx) {
  auto targets = ctx.attr_int("n_targets");
  return targets && *targets >= 0 ? Dim(*targets) : Dim();
}

void tree_regressor(Context& ctx) { regressor(ctx, DataType::kFloat, tree_targets(ctx)); }
void tree_ensemble(Context& ctx) { regressor(ctx, ctx.input(0).dtype, tree_targets(ctx)); }

void zip_map(Context& ctx) {
  Labels labels = labels_of(ctx, "classlabels_int64s");
  Fact map;
  map.kind = Fact::Kind::kMap;
  map.dtype = labels.type;
  map.element = std::make_shared<const Fact>(Fact::tensor(DataType::kFloat, Shape{}));
  ctx.set_output(0, Fact::sequence(std::make_shared<const Fact>(std::move(map)), samples_of(ctx.input(0))));
}

constexpr std::string_view kMaps = "maps cannot hold a batch";

// Columns are picked: one for each number of operand 1.
std::optional<AxesMap> array_feature_axes(NodeView& view) {
  auto map = match_axes("n x... f~, [_] g -> n x... g", view);
  if (!map) return std::nullopt;
  for (AxisLink& link : map->links)
    if (link.kind == AxisKind::kContracted) link.index = 1;
  return map;
}

}  // namespace

// Rows of features, [rows, features]: each is seen apart. What a feature becomes may depend on its position.
void add_ml_ops(Registry& r) {
  r.add({.domain = kMl,
         .name = "ArrayFeatureExtractor",
         .shape = array_feature_extractor,
         .op_class = OpClass::kMovement,
         .needs = needs_of_features,
         .operands = {Role::kData, Role::kIndex},
         .axes = axes_by(array_feature_axes)});
  r.add({.domain = kMl, .name = "Binarizer", .shape = same_shape, .op_class = OpClass::kElementwise});
  r.add({.domain = kMl, .name = "CastMap", .shape = cast_map, .axes = no_axes(kMaps)});
  r.add({.domain = kMl, .name = "CategoryMapper", .shape = category_mapper, .op_class = OpClass::kElementwise});
  r.add({.domain = kMl, .name = "DictVectorizer", .shape = dict_vectorizer, .axes = no_axes(kMaps)});
  r.add({.domain = kMl, .name = "FeatureVectorizer", .shape = feature_vectorizer, .axes = axes_by("n f~* -> n f~")});
  r.add({.domain = kMl, .name = "Imputer", .shape = same_shape, .axes = axes_by("n x~... f~ -> n x~... f~")});
  r.add({.domain = kMl, .name = "LabelEncoder", .shape = label_encoder, .op_class = OpClass::kElementwise});
  r.add({.domain = kMl,
         .name = "LinearClassifier",
         .shape = linear_classifier,
         .op_class = OpClass::kContraction,
         .axes = axes_by("n f -> n, n _")});
  r.add({.domain = kMl,
         .name = "LinearRegressor",
         .shape = linear_regressor,
         .op_class = OpClass::kContraction,
         .axes = axes_by("n f -> n _")});
  r.add({.domain = kMl, .name = "Normalizer", .shape = float_of_same_shape, .axes = axes_by("n f~ -> n f~")});
  r.add({.domain = kMl, .name = "OneHotEncoder", .shape = one_hot_encoder, .axes = axes_by("... -> ... _")});
  r.add({.domain = kMl,
         .name = "SVMClassifier",
         .shape = svm_classifier,
         .op_class = OpClass::kContraction,
         .axes = axes_by("n f~ -> n, n _")});
  r.add({.domain = kMl,
         .name = "SVMRegressor",
         .shape = svm_regressor,
         .op_class = OpClass::kContraction,
         .axes = axes_by("n f~ -> n _")});
  r.add({.domain = kMl, .name = "Scaler", .shape = float_of_same_shape, .axes = axes_by("n x~... f~ -> n x~... f~")});
  r.add({.domain = kMl, .name = "TreeEnsemble", .shape = tree_ensemble, .axes = axes_by("n f~ -> n _")});
  r.add({.domain = kMl, .name = "TreeEnsembleClassifier", .shape = tree_classifier, .axes = axes_by("n f~ -> n, n _")});
  r.add({.domain = kMl, .name = "TreeEnsembleRegressor", .shape = tree_regressor, .axes = axes_by("n f~ -> n _")});
  r.add({.domain = kMl, .name = "ZipMap", .shape = zip_map, .axes = no_axes(kMaps)});
}

}  // namespace thaw::ops
