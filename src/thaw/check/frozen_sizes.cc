// THAW010 to THAW017: sizes that were frozen at an example's.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/check/causes.h"
#include "thaw/check/rule.h"
#include "thaw/dim/text/text.h"
#include "thaw/ir/data/tensor.h"

namespace thaw::checking {

using frozen::FrozenRole;
using frozen::FrozenSite;

namespace {

// The model's inputs that a value is computed from, by name.
std::vector<std::string> inputs_behind(const ir::Value* value) {
  std::vector<std::string> names;
  std::set<const ir::Value*> seen;
  std::vector<const ir::Value*> stack{value};
  while (!stack.empty()) {
    const ir::Value* v = stack.back();
    stack.pop_back();
    if (!v || v->constant() || !seen.insert(v).second) continue;
    if (v->is_input()) names.push_back(v->name());
    if (v->producer()) stack.insert(stack.end(), v->producer()->inputs().begin(), v->producer()->inputs().end());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string data_origin(Evidence& evidence, int symbol, const std::string& name) {
  const ir::Value* value = evidence.value_behind(symbol);
  std::vector<std::string> inputs = inputs_behind(value);
  if (inputs.empty()) return fmt::format("the data-dependent size {}", name);
  const ir::Node* node = value->producer();
  return fmt::format("the values of input '{}', which {} counts", fmt::join(inputs, "' and '"),
                     node ? name_of(*node) : name);
}

// The axes of inputs that have a size, of those that the node is computed from where there are some among them.
std::vector<std::string> axes_with(Evidence& evidence, int id, const ir::Node& node) {
  const dim::Dim wanted = evidence.frozen_scope().symbol_at(id);
  const std::string& name = evidence.frozen_scope().symbols()[static_cast<size_t>(id)].name;
  std::vector<std::string> all, read;
  for (const ir::Value* input : evidence.model().graph->inputs()) {
    const ops::Fact& fact = evidence.frozen().result.fact(input);
    for (int axis = 0; axis < fact.rank(); ++axis) {
      if (!dim::same(fact.dim(axis), wanted)) continue;
      all.push_back(fmt::format("input '{}' axis {} ({})", input->name(), axis, name));
      if (evidence.reads(node, *input)) read.push_back(all.back());
      break;
    }
  }
  return read.empty() ? all : read;
}

// What an expression's symbols stand for, where it was met at a node: "pixel_values axis 0 ('num_patches')".
std::string origin_of(Evidence& evidence, dim::Dim expression, const ir::Node& node) {
  std::string out;
  for (int id : dim::symbols_of(expression)) {
    const dim::SymbolInfo& symbol = evidence.frozen_scope().symbols()[static_cast<size_t>(id)];
    std::string one;
    if (symbol.kind == dim::SymbolKind::kInputDim)
      one = fmt::format("{}", fmt::join(axes_with(evidence, id, node), " and "));
    if (one.empty())
      one = symbol.kind == dim::SymbolKind::kInputValue ? fmt::format("the value {}", symbol.name)
                                                        : data_origin(evidence, id, symbol.name);
    if (auto hint = evidence.frozen().assumed_sizes.find(id);
        hint != evidence.frozen().assumed_sizes.end() && !evidence.frozen().guessed.contains(id))
      one += fmt::format(", {} when it was frozen", hint->second);
    out += (out.empty() ? "" : "; ") + one;
  }
  return out;
}

std::string contents_of(const ir::Tensor& t) {
  std::string dims;
  for (int64_t d : t.dims) dims += (dims.empty() ? "" : ", ") + std::to_string(d);
  if (!ir::is_integer(t.data_type) || t.dims.size() > 1 || (t.dims.size() == 1 && t.dims[0] > 16))
    return fmt::format("{} [{}]", ir::name_of(t.data_type), dims);
  std::string list;
  for (int64_t v : t.to_int64()) list += (list.empty() ? "" : ", ") + std::to_string(v);
  return t.dims.empty() ? list : "[" + list + "]";
}

// A Reshape whose -1 takes up what the frozen size leaves over: a rule of its own, THAW016.
bool is_hidden(const FrozenSite& site) {
  return site.silent && site.role == FrozenRole::kShape && site.node->op_type() == "Reshape";
}

// What a site is about, as the subject of a sentence.
std::string subject_of(const FrozenSite& site, std::string_view noun) {
  if (!site.constant && site.holder)
    return fmt::format("the attribute '{}' of {}", site.attribute, name_of(*site.holder));
  if (!site.constant) return fmt::format("{} of {}", noun, name_of(*site.node));
  std::string text;
  const ir::Tensor* tensor = site.constant->constant();  // null where a node makes it, of a fixed shape
  try {
    if (tensor) text = " = " + contents_of(*tensor);
  } catch (const std::exception&) {
    // Its bytes cannot be read; its name says enough.
  }
  return fmt::format("{} '{}'{}", noun, site.constant->name(), text);
}

struct SiteText {
  std::string values, expressions;  // "1, 40, 30" and "batch, ceil(h/16), ceil(w/16)"
  std::string origin;
};

SiteText site_text(Evidence& evidence, const FrozenSite& site) {
  // Of a number that several sizes may be, no more is known than where they are from.
  const auto meant = [](const auto& size) {
    const std::string expression = dim::to_string(size.expression);
    return size.product || size.by_chance ? fmt::format("one of several sizes in {}", expression) : expression;
  };
  SiteText text{std::to_string(site.value), meant(site), origin_of(evidence, site.expression, *site.node)};
  for (const frozen::FrozenSize& s : site.more) {
    text.values += ", " + std::to_string(s.value);
    text.expressions += ", " + meant(s);
    std::string origin = origin_of(evidence, s.expression, *site.node);
    if (text.origin.find(origin) == std::string::npos) text.origin += "; " + origin;
  }
  return text;
}

// A static export is frozen at its sizes once: what holds them is one finding. Weights have another remedy.
void note_cause(Evidence& evidence, const FrozenSite& site, Finding& finding) {
  if (evidence.frozen().all_inputs_static && site.role != FrozenRole::kWeight)
    finding.details.emplace_back(kCause, "a static export");
}

void report(Evidence& evidence, Findings& findings, FrozenRole role, std::string_view noun, std::string_view fix) {
  for (const FrozenSite& site : evidence.frozen().sites) {
    bool matches = site.role == role || (role == FrozenRole::kShape && site.role == FrozenRole::kAttribute);
    if (!matches || is_hidden(site) || evidence.is_of_architecture(site)) continue;
    // Without a constant that can be named there is nothing that was frozen: the number is the operator's own, or comes
    // from sizes that are declared.
    if (!site.constant && !site.holder) continue;
    std::string where = site.num_nodes > 1 ? fmt::format("{} and {} more", name_of(*site.node), site.num_nodes - 1)
                                           : name_of(*site.node);
    const SiteText text = site_text(evidence, site);
    std::string_view what = site.product ? "a product of its elements" : site.more.empty() ? "a size" : "sizes";
    std::string message = fmt::format("{} fixes {} at {} where the input asks for {} (read by {})",
                                      subject_of(site, noun), what, text.values, text.expressions, where);
    Location location = location_of(site.holder ? *site.holder : *site.node);
    if (site.constant) location.tensor = site.constant->name();
    Finding& f = findings.add(std::move(message), std::move(location));
    f.source = text.origin;
    if (site.by_name) f.consequence = "the output has the export's size for every input size";
    f.fix = std::string(fix);
    note_cause(evidence, site, f);
    // A name for what a weight fixes is no more than a name; nor is there anything to declare where all is.
    if (role == FrozenRole::kWeight &&
        (evidence.frozen().all_inputs_static || (evidence.is_one_size(site.expression) && site.more.empty())))
      f.severity = Severity::kNote;
    f.details.emplace_back("frozen at", text.values);
    f.details.emplace_back("should be", text.expressions);
  }
}

constexpr std::string_view kFixShape =
    "`thaw fix` replaces it by an expression of the input sizes where that is proven";
constexpr std::string_view kFixTable =
    "one model does not determine how the table grows: compute it from the input sizes, or export with dynamic sizes";

}  // namespace

void look_for_frozen_shapes(Evidence& evidence, Findings& findings) {
  report(evidence, findings, FrozenRole::kShape, "the shape", kFixShape);
}

void look_for_frozen_splits(Evidence& evidence, Findings& findings) {
  report(evidence, findings, FrozenRole::kSplit, "the list of lengths",
         "compute the split lengths in the model, or pad the windows to one batch");
}

void look_for_frozen_slices(Evidence& evidence, Findings& findings) {
  report(evidence, findings, FrozenRole::kSlice, "the bound", kFixShape);
}

void look_for_frozen_tables(Evidence& evidence, Findings& findings) {
  report(evidence, findings, FrozenRole::kTable, "the table", kFixTable);
}

void look_for_frozen_indices(Evidence& evidence, Findings& findings) {
  report(evidence, findings, FrozenRole::kIndex, "the index", kFixTable);
}

void look_for_fixing_weights(Evidence& evidence, Findings& findings) {
  report(evidence, findings, FrozenRole::kWeight, "the weight",
         "declare the input with this size, or pool to a fixed size before the weight");
}

// A size that is not checked when the model runs: a -1 takes what is left over, so a second image or a longer text
// runs, its numbers mixed into the first's.
void look_for_hidden_sizes(Evidence& evidence, Findings& findings) {
  for (const FrozenSite& site : evidence.frozen().sites) {
    if (!is_hidden(site) || evidence.is_of_architecture(site)) continue;
    Location location = location_of(*site.node);
    if (site.constant) location.tensor = site.constant->name();
    const SiteText text = site_text(evidence, site);
    Finding& f = findings.add(fmt::format("{} has the frozen size {} next to a -1, which absorbs changes of {}: "
                                          "multiples of the frozen size run and give wrong results",
                                          name_of(*site.node), text.values, text.expressions),
                              std::move(location));
    f.source = text.origin;
    note_cause(evidence, site, f);
    f.fix = std::string(kFixShape);
    // A batch is brought back without a second export.
    if (site.folds_batch) f.commands = {"thaw fix {} -o fixed.onnx", "thaw batch {} -o batched.onnx"};
  }
}

namespace {

// A size made of two others (patches = height * width) in a way that the graph froze: swapped, they make the same size.
struct Factors {
  int64_t first = 0, second = 0;
};

// The two largest elements other than 1 of a frozen Reshape target that share one size, where they differ.
std::optional<Factors> swapped_factors(const FrozenSite& site) {
  if (!site.product || !site.constant || !site.constant->constant()) return std::nullopt;
  std::vector<int64_t> elements;
  if (site.constant->constant()->num_elements() > 16) return std::nullopt;
  for (int64_t v : site.constant->constant()->to_int64())
    if (v > 1) elements.push_back(v);
  std::sort(elements.rbegin(), elements.rend());
  if (elements.size() < 2 || elements[0] == elements[1]) return std::nullopt;
  return Factors{elements[0], elements[1]};
}

}  // namespace

void look_for_permuted_sizes(Evidence& evidence, Findings& findings) {
  const frozen::FrozenAnalysis& frozen = evidence.frozen();
  // One finding for each size that tables or products were frozen from and that two sides make together.
  std::map<std::string, std::pair<const FrozenSite*, int>> by_size;
  std::map<std::string, Factors> factors;
  for (const FrozenSite& site : frozen.sites) {
    bool holds_order = site.role == FrozenRole::kTable || site.role == FrozenRole::kIndex || site.product;
    if (!holds_order || dim::symbols_of(site.expression).size() != 1) continue;
    std::string key = origin_of(evidence, site.expression, *site.node);
    auto [it, fresh] = by_size.emplace(key, std::pair{&site, 0});
    ++it->second.second;
    if (auto f = swapped_factors(site); f && !factors.contains(key)) factors[key] = *f;
  }
  for (const auto& [key, entry] : by_size) {
    const auto& [site, count] = entry;
    int symbol = dim::symbols_of(site->expression).front();
    auto hint = frozen.assumed_sizes.find(symbol);
    if (hint == frozen.assumed_sizes.end() || hint->second < 6) continue;
    int64_t size = hint->second;
    // Without a Reshape that shows the two sides, an index table over the size does: it holds an order of two axes.
    std::string example;
    if (auto f = factors.find(key); f != factors.end()) {
      example = fmt::format(", such as {}x{} after {}x{},", f->second.second, f->second.first, f->second.first,
                            f->second.second);
    } else {
      bool has_index = std::any_of(frozen.sites.begin(), frozen.sites.end(), [&](const FrozenSite& s) {
        return s.role == FrozenRole::kIndex && dim::symbols_of(s.expression) == std::vector<int>{symbol};
      });
      int64_t side = 0;
      for (int64_t d = 2; d * d < size; ++d)
        if (size % d == 0) side = d;
      if (!has_index || side == 0) continue;
    }
    Finding& f = findings.add(fmt::format("{} constant{} fix the order of {} elements: an input with the same count "
                                          "but other sides{} runs and gives wrong results",
                                          count, count == 1 ? "" : "s", size, example),
                              location_of(*site->node));
    if (site->constant) f.where.tensor = site->constant->name();
    f.source = key;
    note_cause(evidence, *site, f);
    f.fix = std::string(kFixTable);
  }
}

}  // namespace thaw::checking
