// A model: a graph, its functions, opset imports and metadata; loading and saving.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "thaw/core/budget.h"
#include "thaw/ir/graph/graph.h"
#include "thaw/model.h"

namespace thaw::ir {

struct OpsetImport {
  std::string domain;  // "" for ai.onnx
  int64_t version = 0;
  std::string extra;  // wire bytes of other fields
};

// A model-local function (FunctionProto). Its graph has no declared input types; attributes of its nodes may refer to
// the function's attributes by `ref_attr_name`.
struct Function {
  std::string name, domain, overload;
  std::vector<std::string> attributes;        // names without default
  std::vector<Attribute> attribute_defaults;  // attribute_proto
  std::vector<OpsetImport> opset_imports;
  std::unique_ptr<Graph> body;
  std::string extra;
};

// A name that a file makes more than once, which ONNX Runtime lets pass: it reads the last.
struct Repeated {
  std::string name;
  std::string_view makers;  // "two initializers"; of static storage
};

struct Model {
  int64_t ir_version = 0;
  std::vector<OpsetImport> opset_imports;
  std::string producer_name, producer_version;
  std::vector<std::pair<std::string, std::string>> metadata_props;
  std::string metadata_wire;  // how they were written, where pairs don't tell all; used while they agree
  std::unique_ptr<Graph> graph;
  std::vector<std::unique_ptr<Function>> functions;
  std::string extra;           // domain, model_version, doc_string, training_info, configuration, …: wire bytes
  std::filesystem::path path;  // where it was loaded from; empty for a built or parsed model
  std::vector<std::shared_ptr<const void>> owners;  // mapped files that tensors view
  std::vector<Repeated> repeated;  // of the file it was loaded from; the model has each once, and so has what is saved
  // What may be spent on it; a clone's is the same one, so that all copies of a run share it.
  std::shared_ptr<Budget> budget = std::make_shared<Budget>();

  // The imported version of a domain ("" = ai.onnx); nullopt where it is not imported.
  std::optional<int64_t> opset(std::string_view domain) const;
  const Function* find_function(std::string_view domain, std::string_view name, std::string_view overload = {}) const;
  // Makes find_function fast, for the functions that there are; to be said again when there are others.
  void index_functions();

 private:
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const Function*> function_index_;
};

// Gives the model the budget that it has by its nodes, anew. Who reads a model, or calls a verb on one that was read
// before, begins a run.
void begin_run(const Model& model);
// The same with a budget apart from that of what the model was cloned from: a verb that does the whole work of another one many
// times over, a copy each, counts each for itself.
void begin_own_run(Model& model);

// Nodes whose name a node before them in the same graph has, of the main graph and of those inside its nodes. ONNX Runtime refuses them.
std::vector<Node*> nodes_of_taken_names(const Graph& graph);

// Graph::tell_names_apart of the graph and of all functions, and another name for each node of a taken one: what a verb that edits a model
// begins with.
void tell_names_apart(Model& model);

// A copy of the graph and all that belongs to it; the bytes of weights are shared. Editing either leaves the other
// alone.
std::unique_ptr<Model> clone(const Model& model);

// The same for one graph, as a subgraph to be: it reads the same values of enclosing graphs, which know of it once it
// is an attribute of a node.
std::shared_ptr<Graph> clone(const Graph& graph);

// Opens and maps a model file; weights are not read. Throws thaw::Error for anything that is not a valid ONNX model:
// truncated or malformed wire data, names used before they are made, cycles, excessive nesting,
// duplicate names but those that ONNX Runtime reads too: constants of the main graph, of one type and shape, under one
// name. Of initializers the last counts, of Constant nodes the last and before any initializer; a Constant node of an
// input's name is that input's default.
std::unique_ptr<Model> load(const std::filesystem::path& path);

// The same from memory, as load would from a file in `folder` (for external data). `owner` keeps the bytes alive.
std::unique_ptr<Model> parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                             const std::filesystem::path& folder = {});

using thaw::ExternalPolicy;
using thaw::SaveOptions;

// The data files that the model's tensors lie in, each once, as paths.
std::vector<std::filesystem::path> data_files_of(const Model& model);
// That mapping each of these tensors by itself takes, in whole pages.
uint64_t mapped_bytes_of(const Model& model);

// Throws thaw::Error unless the model can be saved there as far as the path tells: it names a file, and none that holds
// the model's own data. save() asks too; a verb that works for long asks first.
void require_output(const Model& model, const std::filesystem::path& path);

// Models that are written, in files that do not have their names yet. Where it goes unpublished, nothing was written.
class Staged {
 public:
  struct Files;  // ir/wire/save.cc
  explicit Staged(std::unique_ptr<Files> files);
  Staged(Staged&&) noexcept;
  Staged& operator=(Staged&&) noexcept;
  ~Staged();

  // Where a model, by its number, can be read until then, its data beside it: under the names that they will have in a folder of
  // their own, or under another name beside data that stays. Empty where it has no place.
  std::filesystem::path look(size_t model);
  // Takes over what another one holds; its models follow those that are here.
  void join(Staged other);
  // One more file that belongs to the models, beside them.
  void add(const std::filesystem::path& path, std::span<const std::byte> bytes);
  // All of them take their places as one (core/replace_files.h). Returns the files written, the models first, their data last.
  std::vector<std::filesystem::path> publish();

 private:
  std::unique_ptr<Files> files_;
};

// Writes the model, whole or not at all; see thaw::Model::save.
Staged stage(const Model& model, const std::filesystem::path& path, const SaveOptions& options = {});

// Several models in one folder, whose data are copies of each other where they are the same. Data of at least
// `threshold` bytes that two or more of them have lies once, in a file called `location`; the rest is in the model's own
// file, or in a data file beside it where `options` says kSingle, or kKeep and it is more than a gibibyte.
struct SavedModel {
  const Model* model;
  std::filesystem::path path;
};
Staged stage_together(std::span<const SavedModel> models, const SaveOptions& options);

// stage(), and publish().
std::vector<std::filesystem::path> save(const Model& model, const std::filesystem::path& path,
                                        const SaveOptions& options = {});

// The wire bytes that save would write, external data left as it is (for tests and for handing to ONNX Runtime).
std::string serialize(const Model& model);
// The same a chunk at a time, so that they lie nowhere twice: `begin` gets how many there will be, then `pass_on` is given them.
using BeginBytes = std::function<void(uint64_t size)>;
using PassBytes = std::function<void(std::string_view bytes)>;
void serialize(const Model& model, const BeginBytes& begin, const PassBytes& pass_on);

}  // namespace thaw::ir
