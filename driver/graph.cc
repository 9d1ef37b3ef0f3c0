#include "slipway/graph.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/error_record.h"
#include "driver/graph_state.h"
#include "driver/retired.h"
#include "driver/status_macros.h"
#include "slipway/hooks.h"

namespace slipway {
namespace internal {

GraphState::~GraphState() {
  if (handle == nullptr) return;
  const ScopedContext current(*device.state());
  // As for streams: a graph goes with its context.
  if (current.ok()) static_cast<void>(device.api().GraphDestroy(handle));
}

GraphExecState::~GraphExecState() {
  if (handle == nullptr) return;
  const ScopedContext current(*origin->device.state());
  if (current.ok()) static_cast<void>(origin->device.api().GraphExecDestroy(handle));
}

}  // namespace internal

namespace {

using internal::GraphExecState;
using internal::GraphState;
using internal::Owner;

struct UpdateReason {
  CUgraphExecUpdateResult result;
  const char* text;
};
constexpr UpdateReason kUpdateReasons[] = {
    {CU_GRAPH_EXEC_UPDATE_ERROR, "the driver gives no reason"},
    {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, "the graphs have other nodes or dependencies"},
    {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, "the node was of another type"},
    {CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED, "the node was of another kernel"},
    {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, "its parameters changed in a way that an update cannot follow"},
    {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, "nodes like it cannot be updated"},
    {CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE,
     "its kernel changed in a way that an update cannot follow"},
    {CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, "its launch attributes changed"},
};

struct NodeKind {
  CUgraphNodeType type;
  const char* text;
};
constexpr NodeKind kNodeKinds[] = {
    {CU_GRAPH_NODE_TYPE_KERNEL, "a kernel"},     {CU_GRAPH_NODE_TYPE_MEMCPY, "a copy"},
    {CU_GRAPH_NODE_TYPE_MEMSET, "a memset"},     {CU_GRAPH_NODE_TYPE_HOST, "a host function"},
    {CU_GRAPH_NODE_TYPE_EMPTY, "an empty node"},
};

const char* TextOf(CUgraphExecUpdateResult result) {
  for (const UpdateReason& reason : kUpdateReasons) {
    if (reason.result == result) return reason.text;
  }
  return "the driver gives a reason that Slipway does not know";
}

const char* TextOf(CUgraphNodeType type) {
  for (const NodeKind& kind : kNodeKinds) {
    if (kind.type == type) return kind.text;
  }
  return "of another kind";
}

// "node 3 of 12 (a kernel)", counted from 1 in the order in which the driver lists them.
std::string NodeText(const GraphState& graph, CUgraphNode node) {
  const DriverApi& api = graph.device.api();
  std::vector<CUgraphNode> nodes(graph.node_count);
  size_t count = nodes.size();
  CUgraphNodeType type;
  if (node == nullptr || api.GraphGetNodes(graph.handle, nodes.data(), &count) != CUDA_SUCCESS ||
      api.GraphNodeGetType(node, &type) != CUDA_SUCCESS) {
    return absl::StrCat("one of ", graph.node_count, " nodes");
  }
  const auto position = std::find(nodes.begin(), nodes.end(), node) - nodes.begin();
  return absl::StrCat("node ", position + 1, " of ", graph.node_count, " (", TextOf(type), ")");
}

absl::Status DriverLacks(const Device& device, const char* what, const char* function, const char* since) {
  return absl::UnimplementedError(absl::StrCat(what, ": the driver of ", device.Describe(), " lacks ", function,
                                               ", which came with CUDA ", since, "; install a newer driver"));
}

// Tells `watcher`, a stream or a capture, of the records that launches of `exec` may leave errors in: its nodes are
// those of the last Update, but for what SetKernelNode changed, which is as it was captured first.
template <class Watcher>
void WatchErrors(const GraphExecState& exec, Watcher& watcher) {
  for (const std::shared_ptr<internal::ErrorRecord>& record : exec.origin->errors) watcher.Watch(record);
  if (exec.current == exec.origin) return;
  for (const std::shared_ptr<internal::ErrorRecord>& record : exec.current->errors) watcher.Watch(record);
}

// Gives `object` up, which launches of `exec` that still run may use.
void Retire(GraphExecState& exec, std::shared_ptr<const void> object) {
  if (exec.was_launched) internal::DestroyAfter(exec.launched, std::move(object));
}

}  // namespace

absl::StatusOr<Graph> Graph::Capture(const Stream& stream, absl::FunctionRef<absl::Status()> record, CaptureMode mode) {
  SLIPWAY_RETURN_IF_ERROR(stream.BeginCapture(mode));
  const absl::Status recorded = record();
  absl::StatusOr<Graph> graph = stream.EndCapture();
  // Not ended, though this is the thread that began: the driver did not come to it. Once more, for the stream's sake.
  if (!graph.ok() && stream.IsCapturing()) static_cast<void>(stream.EndCapture());
  SLIPWAY_RETURN_IF_ERROR(recorded);
  return graph;
}

size_t Graph::node_count() const { return state_->node_count; }
CUgraph Graph::handle() const { return state_->handle; }
const Device& Graph::device() const { return state_->device; }

absl::StatusOr<GraphExec> Graph::Instantiate() const {
  internal::Reap();
  const DriverApi& api = state_->device.api();
  if (api.GraphInstantiateWithFlags == nullptr) {
    return DriverLacks(state_->device, "Graph::Instantiate", "cuGraphInstantiateWithFlags", "11.4");
  }
  const ScopedContext current(*state_->device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  auto exec = std::make_shared<GraphExecState>(state_);
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(
      api, api.GraphInstantiateWithFlags(&exec->handle, state_->handle, 0),
      absl::StrCat("cannot instantiate a graph of ", state_->node_count, " nodes on ", state_->device.Describe())));
  return GraphExec(std::move(exec));
}

GraphExec::GraphExec(std::shared_ptr<GraphExecState> state) : state_(std::move(state)) {}
GraphExec::GraphExec(GraphExec&&) noexcept = default;

GraphExec& GraphExec::operator=(GraphExec&& other) noexcept {
  if (this == &other) return *this;
  Release();
  state_ = std::move(other.state_);
  return *this;
}

GraphExec::~GraphExec() { Release(); }

void GraphExec::Release() {
  if (state_ == nullptr) return;
  // Before the move: arguments are made in any order.
  GraphExecState& state = *state_;
  Retire(state, std::move(state_));
  state_ = nullptr;
}

CUgraphExec GraphExec::handle() const { return state_->handle; }
const Device& GraphExec::device() const { return state_->origin->device; }

absl::Status GraphExec::CheckUsable(const char* what) const {
  if (state_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": the GraphExec was moved from; use the one that it was moved to"));
}

absl::Status GraphExec::Launch(const Stream& stream) {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable("GraphExec::Launch"));
  SLIPWAY_RETURN_IF_ERROR(stream.CheckUsable());
  const DriverApi& api = device().api();
  if (!(stream.device() == device())) {
    return absl::InvalidArgumentError(absl::StrCat("GraphExec::Launch: the graph was captured on ", device().Describe(),
                                                   " and the stream is of ", stream.device().Describe(),
                                                   "; launch on a stream of its device"));
  }
  const ScopedContext current(*device().state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const std::shared_ptr<internal::CaptureRecord> capture = stream.capture();
  // One that is shared tells what was retired when an earlier launch ends, and so does the last one until this
  // succeeds.
  std::shared_ptr<const Event> launched = state_->launched;
  if (capture == nullptr && (launched == nullptr || launched.use_count() != 2)) {
    SLIPWAY_ASSIGN_OR_RETURN(Event event, Event::Create(device(), /*timing=*/false));
    launched = std::make_shared<const Event>(std::move(event));
  }
  const auto launch = [&] {
    return DriverStatus(api, api.GraphLaunch(state_->handle, stream.handle()),
                        absl::StrCat("launch of a graph on ", device().Describe()));
  };
  const HookEvent event = {.point = HookPoint::kBeforeGraphLaunch,
                           .name = "graph",
                           .device = &stream.device(),
                           .stream = stream.handle(),
                           .captured = capture != nullptr};
  SLIPWAY_RETURN_IF_ERROR(internal::WithHooks(event, HookPoint::kAfterGraphLaunch, launch));
  if (capture != nullptr) {
    capture->Keep(state_);
    WatchErrors(*state_, *capture);
    return absl::OkStatus();
  }
  if (!state_->origin->errors.empty() || !state_->current->errors.empty()) WatchErrors(*state_, stream.errors());
  state_->was_launched = true;
  state_->launched = std::move(launched);
  const absl::Status recorded = state_->launched->Record(stream);
  // Nothing tells now when the launch ends, so it has to end here.
  if (!recorded.ok()) static_cast<void>(api.StreamSynchronize(stream.handle()));
  return recorded;
}

absl::Status GraphExec::Update(const Graph& graph) {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable("GraphExec::Update"));
  const DriverApi& api = device().api();
  if (api.GraphExecUpdate == nullptr) {
    return DriverLacks(device(), "GraphExec::Update", "cuGraphExecUpdate_v2", "12.0");
  }
  if (!(graph.device() == device())) {
    return absl::InvalidArgumentError(absl::StrCat("GraphExec::Update: the new graph was captured on ",
                                                   graph.device().Describe(), " and this one on ", device().Describe(),
                                                   "; capture it on a stream of the same device"));
  }
  const ScopedContext current(*device().state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  CUgraphExecUpdateResultInfo info = {};
  const CUresult result = api.GraphExecUpdate(state_->handle, graph.handle(), &info);
  if (result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) {
    return absl::InvalidArgumentError(absl::StrCat("GraphExec::Update: ", NodeText(*graph.state_, info.errorNode),
                                                   " of the new graph cannot be taken over: ", TextOf(info.result),
                                                   "; instantiate the new graph instead"));
  }
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, result, "cannot update a graph"));
  Retire(*state_, std::exchange(state_->current, graph.state_));
  for (auto& [node, owners] : std::exchange(state_->replaced, {})) {
    Retire(*state_, std::make_shared<const std::vector<Owner>>(std::move(owners)));
  }
  return absl::OkStatus();
}

absl::Status GraphExec::SetKernelNode(uint64_t key, int occurrence, const CUDA_KERNEL_NODE_PARAMS& params,
                                      std::vector<Owner> owners, void* errors) {
  SLIPWAY_RETURN_IF_ERROR(CheckUsable("GraphExec::SetKernelNode"));
  const DriverApi& api = device().api();
  const GraphState& origin = *state_->origin;
  constexpr char kWhat[] = "changing a launch in a graph";
  if (api.GraphExecKernelNodeSetParams == nullptr) {
    return DriverLacks(device(), kWhat, "cuGraphExecKernelNodeSetParams_v2", "12.0");
  }
  if (!origin.nodes_known) return DriverLacks(device(), kWhat, "cuStreamGetCaptureInfo_v2", "11.3");
  const auto found = origin.nodes.find(key);
  const int count = found == origin.nodes.end() ? 0 : static_cast<int>(found->second.size());
  if (count == 0) {
    return absl::NotFoundError(
        "the graph has no launch of this bound kernel; launch it while the graph that is instantiated is captured");
  }
  if (occurrence < -1 || occurrence >= count) {
    return absl::NotFoundError(absl::StrCat("launch ", occurrence,
                                            " of this bound kernel was asked for; the graph has ", count,
                                            ", counted from 0 (-1 stands for all)"));
  }
  const ScopedContext current(*device().state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  for (int i = 0; i < count; ++i) {
    if (occurrence != -1 && occurrence != i) continue;
    const CUgraphNode node = found->second[i].node;
    if (errors != nullptr) std::memcpy(errors, &found->second[i].errors, sizeof(internal::ErrorWords));
    SLIPWAY_RETURN_IF_ERROR(DriverStatus(api, api.GraphExecKernelNodeSetParams(state_->handle, node, &params),
                                         absl::StrCat("cannot change launch ", i, " of a bound kernel in a graph")));
    std::vector<Owner>& kept = state_->replaced[node];
    // The usual case, numbers that change from step to step, uses what it used.
    if (kept == owners) continue;
    if (!kept.empty()) Retire(*state_, std::make_shared<const std::vector<Owner>>(std::move(kept)));
    kept = owners;
  }
  return absl::OkStatus();
}

}  // namespace slipway
