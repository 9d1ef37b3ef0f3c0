// What the recording driver keeps, shared by the files that make its table.
#ifndef SLIPWAY_DRIVER_RECORDING_H_
#define SLIPWAY_DRIVER_RECORDING_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "slipway/null_driver.h"

namespace slipway::recording {

struct Node {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::vector<CUgraphNode> dependencies;
  RecordedLaunch launch;  // Kernels.
  CUhostFn host_function = nullptr;
  void* user_data = nullptr;
  // What GraphKernelNodeGetParams points its caller to.
  size_t buffer_bytes = 0;
  void* extra[5] = {};
};

// Nodes in the order of capture.
struct Graph {
  std::vector<CUgraphNode> nodes;
  bool capturing = false;
};

// Copies of a graph's nodes, named by the nodes of the graph that it was made from.
struct Exec {
  std::vector<CUgraphNode> names;
  std::vector<Node> nodes;
};

struct Capture {
  uint64_t id = 0;
  CUgraph graph = nullptr;  // Null once it is over.
  bool invalidated = false;
  std::vector<CUstream> streams;  // That it was begun on, and those that joined by an event.
};

// Where a capture stands: of a stream, or as an event saw it.
struct Captured {
  std::shared_ptr<Capture> capture;
  std::vector<CUgraphNode> last;  // What the next node depends on.
};

struct Record {
  std::mutex mutex;
  std::vector<RecordedLaunch> launches;
  int64_t retained_contexts = 0;
  std::unordered_set<CUmodule> modules;
  std::unordered_set<CUstream> streams;
  std::unordered_set<CUevent> events;
  std::unordered_set<CUdeviceptr> allocations;
  std::unordered_set<void*> host_allocations;

  std::unordered_map<CUstream, Captured> capturing;       // Streams that do.
  std::unordered_map<CUevent, Captured> captured_events;  // Events that were last recorded in a capture.
  std::unordered_map<CUgraph, Graph> graphs;
  std::unordered_map<CUgraphNode, Node> nodes;  // Of all graphs.
  std::unordered_map<CUgraphExec, Exec> execs;
  int64_t captures = 0;
  uint64_t last_capture_id = 0;
};

// Never destroyed: handles may go during static destruction.
Record& TheRecord();

// The value of a key, or null.
template <class Map, class Key>
auto* Find(Map& map, Key key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// Copies the launch buffer that `extra` names.
void CopyBuffer(void** extra, RecordedLaunch* launch);

// Breaks a capture and answers `why`, or that it was broken before.
CUresult Break(Capture& capture, CUresult why);

// With the record's lock held: makes `node` the next one if `stream` captures. INVALIDATED if it may not.
CUresult AddIfCapturing(CUstream stream, Node node, bool* captured);

// With the record's lock held: a graph goes, and its nodes with it.
void DropGraph(CUgraph graph);

// With the record's lock held: a stream is destroyed, and its capture with it.
void ForgetStream(CUstream stream);

// Put the entries of captures, with those that become nodes, and of graphs into the table.
void InstallCaptures(DriverApi* api);
void InstallGraphs(DriverApi* api);

}  // namespace slipway::recording

#endif  // SLIPWAY_DRIVER_RECORDING_H_
