#include "thaw/cli/mcp_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "thaw/cli/confined_call.h"
#include "thaw/cli/mcp_result.h"
#include "thaw/cli/mcp_tools.h"
#include "thaw/cli/message_lines.h"
#include "thaw/cli/output.h"
#include "thaw/cli/verb.h"
#include "thaw/cli/verb_process.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/core/json_file.h"
#include "thaw/core/suggest.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"
#include "thaw/version.h"

namespace thaw::cli {
namespace {

using Json = nlohmann::json;
using report::JsonWriter;
using report::kLine;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kStateless = "2026-07-28";
constexpr std::array<std::string_view, 2> kWithHandshake = {"2025-11-25", "2025-06-18"};  // the newest first
constexpr std::string_view kMeta = "_meta";
constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kServerKey = "io.modelcontextprotocol/serverInfo";
constexpr int64_t kListStays = 3'600'000;  // milliseconds; it stays as long as the process

constexpr size_t kMostWaiting = 64;

// Errors of JSON-RPC, and the one of the protocol.
enum RpcCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kUnsupportedVersion = -32022,
};

struct RpcError {
  RpcCode code;
  std::string message;
  std::string asked_version = {};  // of kUnsupportedVersion
};

std::string text_of(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

using Members = std::function<void(JsonWriter&)>;

std::string message_of(std::string_view id, const Members& members) {
  std::string text;
  JsonWriter json(text);
  json.begin_object(kLine);
  json.member("jsonrpc", "2.0");
  json.key("id");
  json.raw(id);
  members(json);
  json.end_object();
  return text + "\n";
}

void write_versions(JsonWriter& json, std::string_view name) {
  json.member_array(name);
  json.value(kStateless);
  for (const std::string_view version : kWithHandshake) json.value(version);
  json.end_array();
}

void write_server(JsonWriter& json, std::string_view name) {
  json.member_object(name);
  json.member("name", "thaw");
  json.member("version", kVersion);
  json.end_object();
}

void write_capabilities(JsonWriter& json) {
  json.member_object("capabilities");
  json.member_object("tools");
  json.end_object();
  json.end_object();
}

void write_text_content(JsonWriter& json, std::string_view text) {
  json.begin_object();
  json.member("type", "text");
  json.member("text", text);
  json.end_object();
}

// Where a request says its version itself.
const Json* find_meta(const Json& params) {
  const auto meta = params.find(kMeta);
  return meta != params.end() && meta->is_object() && meta->contains(kVersionKey) ? &*meta : nullptr;
}

class McpServer {
 public:
  explicit McpServer(const McpOptions& options)
      : options_(options),
        tools_(mcp_tools(options.confinement.may_write)),
        input_(STDIN_FILENO, [this](const std::string& line) { take(line); }, [this] { refuse_long_message(); }) {}

  void serve() {
    while (!input_.is_at_end()) {
      wait();
      look_at_call();
    }
  }

 private:
  struct Request {
    std::string id;  // as JSON
    bool is_stateless = false;
  };
  struct Call {
    Request request;
    const Verb* verb;
    std::vector<std::string> words;
  };
  struct RunningCall {
    VerbProcess process;
    Call call;
    std::optional<Clock::time_point> end = {};
    bool is_cancelled = false, is_over = false;
  };

  // For a message, or for something of the call that runs.
  void wait() {
    std::vector<pollfd> watched{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}};
    int most = -1;
    if (running_) {
      bool is_open = false;
      for (const int fd : {running_->process.output_fd(), running_->process.errors_fd()}) {
        if (fd >= 0) watched.push_back({.fd = fd, .events = POLLIN, .revents = 0});
        is_open |= fd >= 0;
      }
      constexpr int kTick = 50, kTickAtEnd = 5;  // milliseconds
      most = is_open ? kTick : kTickAtEnd;
    }
    if (::poll(watched.data(), watched.size(), most) > 0 && watched.front().revents != 0) input_.read();
  }

  void send(const std::string& message) { write_output(message); }

  void refuse(std::string_view id, const RpcError& error) {
    send(message_of(id, [&](JsonWriter& json) {
      json.member_object("error");
      json.member("code", static_cast<int>(error.code));
      json.member("message", error.message);
      if (error.code == kUnsupportedVersion) {
        json.member_object("data");
        write_versions(json, "supported");
        json.member("requested", error.asked_version);
        json.end_object();
      }
      json.end_object();
    }));
  }

  void refuse_long_message() {
    refuse("null", {kInvalidRequest, fmt::format("a message is longer than {} MiB", MessageLines::kLongest >> 20)});
  }

  void answer(const Request& request, const Members& members) {
    send(message_of(request.id, [&](JsonWriter& json) {
      json.member_object("result");
      if (request.is_stateless) json.member("resultType", "complete");
      members(json);
      if (request.is_stateless) {
        json.member_object(kMeta);
        write_server(json, kServerKey);
        json.end_object();
      }
      json.end_object();
    }));
  }

  void answer_call(const Request& request, const ToolResult& result) {
    answer(request, [&](JsonWriter& json) {
      json.member_array("content");
      for (const std::string& text : result.texts) write_text_content(json, text);
      json.end_array();
      if (!result.object.empty()) {
        json.key("structuredContent");
        json.raw(result.object);
      }
      json.member("isError", result.is_error);
    });
  }

  void take(const std::string& line) {
    if (!Json::accept(line)) return refuse("null", {kParseError, "a message is not JSON"});
    if (line[line.find_first_not_of(" \t\r")] == '[')
      return refuse("null", {kInvalidRequest, "a message is a list, and batches are not part of the protocol"});
    Json message;
    try {
      message = parse_json(line, "a message", {.expected = "an object of JSON-RPC 2.0"});
    } catch (const Error& error) {
      return refuse("null", {kInvalidRequest, report::printable(error.what())});
    }
    const auto id = message.find("id"), method = message.find("method");
    if (method == message.end() && (message.contains("result") || message.contains("error")))
      return;  // nothing was asked
    const bool has_id = id != message.end(), is_id = has_id && (id->is_string() || id->is_number_integer());
    const std::string shown_id = is_id ? text_of(*id) : "null";
    const auto version = message.find("jsonrpc");
    if ((has_id && !is_id) || method == message.end() || !method->is_string() || version == message.end() ||
        *version != "2.0")
      return refuse(shown_id, {kInvalidRequest,
                               "a message is no request: expected jsonrpc \"2.0\", a method, and a text or whole "
                               "number as id"});
    static const Json kNone = Json::object();
    const auto params = message.find("params");
    if (params != message.end() && !params->is_object()) {
      if (has_id) refuse(shown_id, {kInvalidParams, "params are no object"});
      return;
    }
    const Json& given = params == message.end() ? kNone : *params;
    if (has_id)
      take_request(shown_id, method->get<std::string>(), given);
    else
      take_notification(method->get<std::string>(), given);
  }

  void take_notification(const std::string& method, const Json& params) {
    const auto id = params.find("requestId");
    if (method != "notifications/cancelled" || id == params.end()) return;  // the others change nothing
    const std::string cancelled = text_of(*id);
    if (running_ && running_->call.request.id == cancelled) {
      running_->is_cancelled = true;
      running_->process.stop();
    }
    std::erase_if(waiting_, [&](const Call& call) { return call.request.id == cancelled; });
  }

  bool is_in_progress(const std::string& id) const {
    return (running_ && running_->call.request.id == id) ||
           std::ranges::any_of(waiting_, [&](const Call& call) { return call.request.id == id; });
  }

  void take_request(const std::string& id, const std::string& method, const Json& params) {
    Request request{.id = id};
    if (is_in_progress(id)) return refuse(id, {kInvalidRequest, "a request of this id is in progress"});
    if (const Json* meta = find_meta(params)) {
      request.is_stateless = true;
      const Json& version = meta->at(kVersionKey);
      if (!version.is_string()) return refuse(id, {kInvalidParams, "the protocol version is no text"});
      if (version != kStateless)
        return refuse(id, {kUnsupportedVersion, "Unsupported protocol version", version.get<std::string>()});
      const auto capabilities = meta->find(kCapabilitiesKey);
      if (capabilities == meta->end() || !capabilities->is_object())
        return refuse(id, {kInvalidParams, fmt::format("{} of the request are missing", kCapabilitiesKey)});
    } else if (method == "server/discover") {
      return refuse(id, {kInvalidParams, fmt::format("{} of the request is missing", kVersionKey)});
    }
    if (request.is_stateless ? method == "server/discover" : method == "initialize") return introduce(request, params);
    if (!request.is_stateless && method == "ping") return answer(request, [](JsonWriter&) {});
    if (method != "tools/list" && method != "tools/call")
      return refuse(id, {kMethodNotFound, fmt::format("there is no method '{}'", report::printable(method))});
    if (!request.is_stateless && !is_initialized_)
      return refuse(
          id, {kInvalidParams, fmt::format("initialize comes first, or {} in {} of each request", kVersionKey, kMeta)});
    if (method == "tools/list")
      list_tools(request, params);
    else
      call_tool(request, params);
  }

  std::string instructions() const {
    const std::vector<std::filesystem::path>& folders = options_.confinement.folders;
    std::string text = fmt::format(
        "Tools for ONNX models: each is a verb of the command `thaw`, and gives the JSON that it prints. Paths are "
        "relative to {}",
        folders.front().string());
    for (size_t i = 1; i < folders.size(); ++i)
      text += fmt::format("{} {}", i == 1 ? "; absolute ones may also be in" : ",", folders[i].string());
    return text + (options_.confinement.may_write
                       ? ". Without an output a result stands beside its input, and no file is replaced."
                       : ". Nothing is written: verbs that would are dry runs.");
  }

  void introduce(const Request& request, const Json& params) {
    if (request.is_stateless) {
      return answer(request, [&](JsonWriter& json) {
        write_versions(json, "supportedVersions");
        write_capabilities(json);
        json.member("instructions", instructions());
        write_cache(json);
      });
    }
    const auto wanted = params.find("protocolVersion");
    if (wanted == params.end() || !wanted->is_string())
      return refuse(request.id, {kInvalidParams, "protocolVersion is missing"});
    is_initialized_ = true;
    const auto at = std::ranges::find(kWithHandshake, wanted->get<std::string>());
    answer(request, [&](JsonWriter& json) {
      json.member("protocolVersion", at == kWithHandshake.end() ? kWithHandshake.front() : *at);
      write_capabilities(json);
      write_server(json, "serverInfo");
      json.member("instructions", instructions());
    });
  }

  static void write_cache(JsonWriter& json) {
    json.member("ttlMs", kListStays);
    json.member("cacheScope", "private");
  }

  void list_tools(const Request& request, const Json& params) {
    if (params.contains("cursor")) return refuse(request.id, {kInvalidParams, "the list has no further pages"});
    answer(request, [&](JsonWriter& json) {
      json.member_array("tools");
      for (const Verb* verb : tools_) {
        json.begin_object();
        write_tool(json, *verb, options_.confinement.may_write);
        json.end_object();
      }
      json.end_array();
      if (request.is_stateless) write_cache(json);
    });
  }

  void call_tool(const Request& request, const Json& params) {
    const auto name = params.find("name"), arguments = params.find("arguments");
    if (name == params.end() || !name->is_string())
      return refuse(request.id, {kInvalidParams, "the name of the tool is missing"});
    if (arguments != params.end() && !arguments->is_object())
      return refuse(request.id, {kInvalidParams, "arguments are no object"});
    const auto tool = std::ranges::find(tools_, name->get<std::string>(), [](const Verb* verb) { return verb->name; });
    if (tool == tools_.end()) {
      std::vector<std::string_view> known;
      for (const Verb* verb : tools_) known.push_back(verb->name);
      const std::string asked = name->get<std::string>();
      return refuse(request.id, {kInvalidParams, fmt::format("Unknown tool: {}{}", report::printable(asked),
                                                             did_you_mean(asked, known))});
    }
    if (waiting_.size() >= kMostWaiting)
      return answer_call(request, failed_result(fmt::format("{} calls wait already; call again later", kMostWaiting)));
    try {
      static const Json kNone = Json::object();
      std::vector<std::string> words = confined_words(options_.confinement);
      for (std::string& word :
           words_of_call(**tool, arguments == params.end() ? kNone : *arguments, options_.confinement.may_write))
        words.push_back(std::move(word));
      waiting_.push_back({.request = request, .verb = *tool, .words = std::move(words)});
    } catch (const Error& error) {
      answer_call(request, failed_result(fmt::format("thaw: {}", report::printable(error.what()))));
    }
  }

  void look_at_call() {
    if (running_) finish_call();
    while (!running_ && !waiting_.empty()) start_call();
  }

  void start_call() {
    Call call = std::move(waiting_.front());
    waiting_.pop_front();
    try {
      running_.reset(new RunningCall{.process = VerbProcess(call.words), .call = std::move(call)});
    } catch (const Error& error) {
      return answer_call(call.request, failed_result(fmt::format("thaw: {}", report::printable(error.what()))));
    }
    if (options_.timeout > 0) running_->end = after_seconds(Clock::now(), options_.timeout);
  }

  void finish_call() {
    RunningCall& running = *running_;
    const std::optional<int> status = running.process.look();
    if (!status) {
      if (running.end && Clock::now() >= *running.end) {
        running.is_over = true;
        running.process.stop();
      }
      return;
    }
    const std::unique_ptr<RunningCall> ended = std::move(running_);
    if (ended->is_cancelled) return;
    const Verb& verb = *ended->call.verb;
    answer_call(ended->call.request,
                ended->is_over ? failed_result(fmt::format("thaw {}: the call was ended after {:g} s; allow more with "
                                                           "`thaw mcp --timeout`",
                                                           verb.name, options_.timeout))
                               : result_of(ended->process, *status, verb));
  }

  const McpOptions& options_;
  std::vector<const Verb*> tools_;
  MessageLines input_;
  bool is_initialized_ = false;
  std::deque<Call> waiting_;
  std::unique_ptr<RunningCall> running_;
};

}  // namespace

void serve_mcp(const McpOptions& options) { McpServer(options).serve(); }

}  // namespace thaw::cli
