// Graphs that are built node by node, by plain cu* calls; the same test runs on a GPU's driver.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda_library/tested_driver.h"

namespace slipway::cuda_library {
namespace {

using Words = std::vector<uint32_t>;
constexpr uint32_t kWords = 64;

// scale(words, factor, addend): each of 64 words becomes word * factor + addend. In which order two of them come shows.
constexpr const char* kScale = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 words, .param .u32 factor, .param .u32 addend)
{
  .reg .b32 %r<5>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [words]; ld.param.u32 %r1, [factor]; ld.param.u32 %r2, [addend];
  mov.u32 %r3, %tid.x;
  mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r4, [%rd3];
  mad.lo.u32 %r4, %r4, %r1, %r2;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";

struct Functions {
#define GRAPH_FUNCTION(name, version, ...) \
  CUresult (*const name)(__VA_ARGS__) = Function<CUresult(__VA_ARGS__)>("cuGraph" #name, version);
  GRAPH_FUNCTION(Create, 10000, CUgraph*, unsigned)
  GRAPH_FUNCTION(AddKernelNode, 12000, CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                 const CUDA_KERNEL_NODE_PARAMS*)
  GRAPH_FUNCTION(AddMemcpyNode, 10000, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_MEMCPY3D*,
                 CUcontext)
  GRAPH_FUNCTION(AddMemsetNode, 10000, CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                 const CUDA_MEMSET_NODE_PARAMS*, CUcontext)
  GRAPH_FUNCTION(AddHostNode, 10000, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_HOST_NODE_PARAMS*)
  GRAPH_FUNCTION(AddChildGraphNode, 10000, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph)
  GRAPH_FUNCTION(AddEmptyNode, 10000, CUgraphNode*, CUgraph, const CUgraphNode*, size_t)
  GRAPH_FUNCTION(AddEventRecordNode, 11010, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUevent)
  GRAPH_FUNCTION(AddEventWaitNode, 11010, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUevent)
  GRAPH_FUNCTION(AddNode, 12020, CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraphNodeParams*)
  GRAPH_FUNCTION(AddDependencies, 10000, CUgraph, const CUgraphNode*, const CUgraphNode*, size_t)
  GRAPH_FUNCTION(RemoveDependencies, 10000, CUgraph, const CUgraphNode*, const CUgraphNode*, size_t)
  GRAPH_FUNCTION(DestroyNode, 10000, CUgraphNode)
  GRAPH_FUNCTION(Clone, 10000, CUgraph*, CUgraph)
  GRAPH_FUNCTION(NodeFindInClone, 10000, CUgraphNode*, CUgraphNode, CUgraph)
  GRAPH_FUNCTION(GetEdges, 10000, CUgraph, CUgraphNode*, CUgraphNode*, size_t*)
  GRAPH_FUNCTION(KernelNodeSetParams, 12000, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*)
  GRAPH_FUNCTION(MemcpyNodeGetParams, 10000, CUgraphNode, CUDA_MEMCPY3D*)
  GRAPH_FUNCTION(MemcpyNodeSetParams, 10000, CUgraphNode, const CUDA_MEMCPY3D*)
  GRAPH_FUNCTION(MemsetNodeGetParams, 10000, CUgraphNode, CUDA_MEMSET_NODE_PARAMS*)
  GRAPH_FUNCTION(MemsetNodeSetParams, 10000, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS*)
  GRAPH_FUNCTION(HostNodeGetParams, 10000, CUgraphNode, CUDA_HOST_NODE_PARAMS*)
  GRAPH_FUNCTION(HostNodeSetParams, 10000, CUgraphNode, const CUDA_HOST_NODE_PARAMS*)
  GRAPH_FUNCTION(ChildGraphNodeGetGraph, 10000, CUgraphNode, CUgraph*)
  GRAPH_FUNCTION(EventRecordNodeGetEvent, 11010, CUgraphNode, CUevent*)
  GRAPH_FUNCTION(EventWaitNodeSetEvent, 11010, CUgraphNode, CUevent)
  GRAPH_FUNCTION(KernelNodeGetAttribute, 11000, CUgraphNode, CUlaunchAttributeID, void*)
  GRAPH_FUNCTION(KernelNodeSetAttribute, 11000, CUgraphNode, CUlaunchAttributeID, const void*)
  GRAPH_FUNCTION(KernelNodeCopyAttributes, 11000, CUgraphNode, CUgraphNode)
  GRAPH_FUNCTION(ExecMemcpyNodeSetParams, 10020, CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D*, CUcontext)
  GRAPH_FUNCTION(ExecMemsetNodeSetParams, 10020, CUgraphExec, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS*, CUcontext)
  GRAPH_FUNCTION(ExecHostNodeSetParams, 10020, CUgraphExec, CUgraphNode, const CUDA_HOST_NODE_PARAMS*)
  GRAPH_FUNCTION(ExecChildGraphNodeSetParams, 11010, CUgraphExec, CUgraphNode, CUgraph)
  GRAPH_FUNCTION(ExecEventRecordNodeSetEvent, 11010, CUgraphExec, CUgraphNode, CUevent)
  GRAPH_FUNCTION(ExecGetFlags, 12000, CUgraphExec, uint64_t*)
  GRAPH_FUNCTION(ExecNodeSetParams, 12020, CUgraphExec, CUgraphNode, CUgraphNodeParams*)
  GRAPH_FUNCTION(InstantiateWithParams, 12000, CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*)
  GRAPH_FUNCTION(NodeSetParams, 12020, CUgraphNode, CUgraphNodeParams*)
  GRAPH_FUNCTION(NodeSetEnabled, 11060, CUgraphExec, CUgraphNode, unsigned)
  GRAPH_FUNCTION(NodeGetEnabled, 11060, CUgraphExec, CUgraphNode, unsigned*)
  GRAPH_FUNCTION(DebugDotPrint, 11030, CUgraph, const char*, unsigned)
#undef GRAPH_FUNCTION
};

class GraphNodes : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    if (api_ == nullptr) return;
    static const Functions functions;
    f_ = &functions;
    ASSERT_EQ(api_->ModuleGetFunction(&scale_, Load(kScale), "scale"), CUDA_SUCCESS);
    ASSERT_EQ(api_->StreamCreateWithPriority(&stream_, CU_STREAM_DEFAULT, 0), CUDA_SUCCESS);
  }

  CUdeviceptr NewWords() {
    CUdeviceptr words = 0;
    EXPECT_EQ(api_->MemAlloc(&words, kWords * 4), CUDA_SUCCESS);
    EXPECT_EQ(api_->MemsetD32(words, 0, kWords), CUDA_SUCCESS);
    return words;
  }
  Words Read(CUdeviceptr words) {
    Words values(kWords);
    EXPECT_EQ(api_->MemcpyDtoH(values.data(), words, kWords * 4), CUDA_SUCCESS);
    return values;
  }
  CUgraph NewGraph() {
    CUgraph graph = nullptr;
    EXPECT_EQ(f_->Create(&graph, 0), CUDA_SUCCESS);
    return graph;
  }

  // What a node is given; kept as long as the test.
  struct KernelParams {
    CUdeviceptr words;
    uint32_t factor, addend;
    void* pointers[3] = {&words, &factor, &addend};
  };
  CUDA_KERNEL_NODE_PARAMS Scale(CUdeviceptr words, uint32_t factor, uint32_t addend) {
    params_.push_back(std::make_unique<KernelParams>(KernelParams{words, factor, addend}));
    KernelParams& kept = *params_.back();
    kept.pointers[0] = &kept.words;
    kept.pointers[1] = &kept.factor;
    kept.pointers[2] = &kept.addend;
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = scale_;
    params.gridDimX = params.gridDimY = params.gridDimZ = params.blockDimY = params.blockDimZ = 1;
    params.blockDimX = kWords;
    params.kernelParams = kept.pointers;
    return params;
  }
  static CUDA_MEMSET_NODE_PARAMS Filled(CUdeviceptr words, uint32_t value) {
    return {.dst = words, .pitch = 0, .value = value, .elementSize = 4, .width = kWords, .height = 1};
  }
  static CUDA_MEMCPY3D Copied(CUdeviceptr to, CUdeviceptr from) {
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.WidthInBytes = kWords * 4;
    copy.Height = copy.Depth = 1;
    return copy;
  }

  CUgraphNode AddScale(CUgraph graph, std::vector<CUgraphNode> after, CUdeviceptr words, uint32_t factor,
                       uint32_t addend) {
    CUgraphNode node = nullptr;
    const CUDA_KERNEL_NODE_PARAMS params = Scale(words, factor, addend);
    EXPECT_EQ(f_->AddKernelNode(&node, graph, after.data(), after.size(), &params), CUDA_SUCCESS);
    return node;
  }
  CUgraphNode AddFill(CUgraph graph, std::vector<CUgraphNode> after, CUdeviceptr words, uint32_t value) {
    CUgraphNode node = nullptr;
    const CUDA_MEMSET_NODE_PARAMS params = Filled(words, value);
    EXPECT_EQ(f_->AddMemsetNode(&node, graph, after.data(), after.size(), &params, context_), CUDA_SUCCESS);
    return node;
  }
  CUgraphNode AddCopy(CUgraph graph, std::vector<CUgraphNode> after, CUdeviceptr to, CUdeviceptr from) {
    CUgraphNode node = nullptr;
    const CUDA_MEMCPY3D params = Copied(to, from);
    EXPECT_EQ(f_->AddMemcpyNode(&node, graph, after.data(), after.size(), &params, context_), CUDA_SUCCESS);
    return node;
  }
  CUgraphNode AddHost(CUgraph graph, std::vector<CUgraphNode> after, CUhostFn function, void* data) {
    CUgraphNode node = nullptr;
    const CUDA_HOST_NODE_PARAMS params = {.fn = function, .userData = data};
    EXPECT_EQ(f_->AddHostNode(&node, graph, after.data(), after.size(), &params), CUDA_SUCCESS);
    return node;
  }

  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(api_->GraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  void Run(CUgraphExec exec) {
    EXPECT_EQ(api_->GraphLaunch(exec, stream_), CUDA_SUCCESS);
    EXPECT_EQ(api_->StreamSynchronize(stream_), CUDA_SUCCESS);
  }

  const Functions* f_ = nullptr;
  CUfunction scale_ = nullptr;
  CUstream stream_ = nullptr;
  std::vector<std::unique_ptr<KernelParams>> params_;
};

void AddOne(void* counter) { ++*static_cast<int*>(counter); }

TEST_F(GraphNodes, RunInTheOrderOfTheirDependencies) {
  const CUdeviceptr words = NewWords(), copy = NewWords();
  const CUgraph graph = NewGraph();
  int calls = 0;
  // The last is added first.
  const CUgraphNode copied = AddCopy(graph, {}, copy, words);
  const CUgraphNode second = AddScale(graph, {}, words, 10, 2);
  const CUgraphNode first = AddScale(graph, {}, words, 3, 1);
  const CUgraphNode filled = AddFill(graph, {}, words, 5);
  CUgraphNode joined = nullptr;
  ASSERT_EQ(f_->AddEmptyNode(&joined, graph, &copied, 1), CUDA_SUCCESS);
  AddHost(graph, {joined}, AddOne, &calls);
  const CUgraphNode from[] = {filled, first, second}, to[] = {first, second, copied};
  ASSERT_EQ(f_->AddDependencies(graph, from, to, 3), CUDA_SUCCESS);
  const CUgraphExec exec = Instantiate(graph);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(api_->MemsetD32(copy, 0, kWords), CUDA_SUCCESS);
    Run(exec);
    EXPECT_EQ(Read(copy), Words(kWords, (5 * 3 + 1) * 10 + 2));
    EXPECT_EQ(calls, i);
  }
  // It no longer is what was instantiated.
  ASSERT_EQ(f_->RemoveDependencies(graph, &from[1], &to[1], 1), CUDA_SUCCESS);
  ASSERT_EQ(f_->DestroyNode(first), CUDA_SUCCESS);
  ASSERT_EQ(f_->AddDependencies(graph, &filled, &second, 1), CUDA_SUCCESS);
  Run(exec);
  EXPECT_EQ(Read(copy), Words(kWords, 162));
  Run(Instantiate(graph));
  EXPECT_EQ(Read(copy), Words(kWords, 52));
  EXPECT_EQ(calls, 5);
}

// Against the same on the host: 200 graphs of nodes that scale, fill and copy four arrays, each array's in an order
// that dependencies lay down, added in an order that has nothing to do with it.
TEST_F(GraphNodes, AnyGraphGivesWhatItsOrderGives) {
  std::mt19937 random(20);
  constexpr int kArrays = 4, kNodes = 24;
  CUdeviceptr arrays[kArrays];
  for (CUdeviceptr& array : arrays) array = NewWords();
  const auto pick = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  for (int round = 0; round < 200; ++round) {
    struct Step {
      uint32_t kind, to, from, x, y;
    };
    std::vector<Step> steps;
    for (int i = 0; i < kNodes; ++i) {
      steps.push_back({pick(3), pick(kArrays), pick(kArrays), pick(100), pick(100)});
      if (steps.back().from == steps.back().to) steps.back().from = (steps.back().to + 1) % kArrays;
    }
    Words expected[kArrays];
    for (int i = 0; i < kArrays; ++i) {
      expected[i] = Words(kWords, static_cast<uint32_t>(i));
      ASSERT_EQ(api_->MemsetD32(arrays[i], static_cast<uint32_t>(i), kWords), CUDA_SUCCESS);
    }
    for (const Step& step : steps) {
      if (step.kind == 2) expected[step.to] = expected[step.from];
      for (uint32_t& word : expected[step.to]) {
        if (step.kind == 0) word = word * step.x + step.y;
        if (step.kind == 1) word = step.x;
      }
    }
    std::vector<size_t> order(steps.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    const CUgraph graph = NewGraph();
    std::vector<CUgraphNode> nodes(steps.size());
    for (size_t i : order) {
      const Step& step = steps[i];
      nodes[i] = step.kind == 0   ? AddScale(graph, {}, arrays[step.to], step.x, step.y)
                 : step.kind == 1 ? AddFill(graph, {}, arrays[step.to], step.x)
                                  : AddCopy(graph, {}, arrays[step.to], arrays[step.from]);
    }
    const auto touches = [](const Step& step, uint32_t array) {
      return step.to == array || (step.kind == 2 && step.from == array);
    };
    for (size_t i = 0; i < steps.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (!touches(steps[i], steps[j].to) && !touches(steps[j], steps[i].to)) continue;
        ASSERT_EQ(f_->AddDependencies(graph, &nodes[j], &nodes[i], 1), CUDA_SUCCESS);
      }
    }
    const CUgraphExec exec = Instantiate(graph);
    Run(exec);
    for (int i = 0; i < kArrays; ++i) ASSERT_EQ(Read(arrays[i]), expected[i]) << "round " << round;
    EXPECT_EQ(api_->GraphExecDestroy(exec), CUDA_SUCCESS);
    EXPECT_EQ(api_->GraphDestroy(graph), CUDA_SUCCESS);
  }
}

TEST_F(GraphNodes, ThatAreWrong) {
  const CUdeviceptr words = NewWords();
  const CUgraph graph = NewGraph(), other = NewGraph();
  const CUgraphNode foreign = AddFill(other, {}, words, 1);
  const CUgraphNode first = AddFill(graph, {}, words, 1), second = AddScale(graph, {first}, words, 2, 2);
  CUgraphNode node = nullptr;
  CUgraph made = nullptr;
  EXPECT_EQ(f_->Create(&made, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(f_->Create(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(f_->AddEmptyNode(&node, graph, &foreign, 1), CUDA_ERROR_INVALID_VALUE) << "of another graph";
  const CUgraphNode twice[] = {first, first};
  EXPECT_EQ(f_->AddEmptyNode(&node, graph, twice, 2), CUDA_ERROR_INVALID_VALUE) << "may not have duplicates";
  EXPECT_EQ(f_->AddEmptyNode(&node, graph, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(f_->AddDependencies(graph, &first, &second, 1), CUDA_ERROR_INVALID_VALUE) << "is there already";
  EXPECT_EQ(f_->AddDependencies(graph, &first, &first, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(f_->AddDependencies(graph, &first, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(f_->RemoveDependencies(graph, &second, &first, 1), CUDA_ERROR_INVALID_VALUE) << "there is none";
  EXPECT_EQ(f_->AddChildGraphNode(&node, graph, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);

  CUDA_KERNEL_NODE_PARAMS kernel = Scale(words, 1, 1);
  kernel.blockDimX = 2000;
  EXPECT_EQ(f_->AddKernelNode(&node, graph, nullptr, 0, &kernel), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(f_->AddKernelNode(&node, graph, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMSET_NODE_PARAMS fill = Filled(words, 1);
  fill.elementSize = 3;
  EXPECT_EQ(f_->AddMemsetNode(&node, graph, nullptr, 0, &fill, context_), CUDA_ERROR_INVALID_VALUE);
  fill = Filled(words, 1);
  fill.width = kWords + 1;
  EXPECT_EQ(f_->AddMemsetNode(&node, graph, nullptr, 0, &fill, context_), CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY3D copy = Copied(words, 64);
  EXPECT_EQ(f_->AddMemcpyNode(&node, graph, nullptr, 0, &copy, context_), CUDA_ERROR_INVALID_VALUE);
  const CUDA_HOST_NODE_PARAMS none = {};
  EXPECT_EQ(f_->AddHostNode(&node, graph, nullptr, 0, &none), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(f_->KernelNodeSetParams(first, &kernel), CUDA_ERROR_INVALID_VALUE);
  fill = Filled(words, 1);
  EXPECT_EQ(f_->MemsetNodeSetParams(second, &fill), CUDA_ERROR_INVALID_VALUE) << "it is a kernel";
  EXPECT_EQ(f_->MemsetNodeGetParams(second, &fill), CUDA_ERROR_INVALID_VALUE);

  // Nodes that wait for each other.
  CUgraphExec exec = nullptr;
  ASSERT_EQ(f_->AddDependencies(graph, &second, &first, 1), CUDA_SUCCESS);
  EXPECT_EQ(api_->GraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(f_->RemoveDependencies(graph, &second, &first, 1), CUDA_SUCCESS);
  ASSERT_EQ(api_->GraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(f_->ExecMemsetNodeSetParams(exec, foreign, &fill, context_), CUDA_ERROR_INVALID_VALUE);
  fill.width = 0;
  EXPECT_EQ(f_->ExecMemsetNodeSetParams(exec, first, &fill, context_), CUDA_ERROR_INVALID_VALUE) << "of no size";
  ASSERT_EQ(f_->DestroyNode(first), CUDA_SUCCESS);
  EXPECT_EQ(f_->DestroyNode(first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(f_->NodeSetEnabled(exec, first, 0), CUDA_ERROR_INVALID_VALUE) << "must remain in the graph";
}

TEST_F(GraphNodes, TellWhatTheyDo) {
  const CUdeviceptr words = NewWords(), copy = NewWords();
  const CUgraph graph = NewGraph();
  int calls = 0;
  const CUgraphNode filled = AddFill(graph, {}, words, 7), scaled = AddScale(graph, {filled}, words, 3, 4),
                    copied = AddCopy(graph, {scaled}, copy, words), host = AddHost(graph, {copied}, AddOne, &calls);
  CUDA_MEMSET_NODE_PARAMS fill = {};
  ASSERT_EQ(f_->MemsetNodeGetParams(filled, &fill), CUDA_SUCCESS);
  EXPECT_EQ(fill.dst, words);
  EXPECT_EQ(fill.value, 7u);
  EXPECT_EQ(fill.elementSize, 4u);
  EXPECT_EQ(fill.width, kWords);
  EXPECT_EQ(fill.height, 1u);
  CUDA_MEMCPY3D box = {};
  ASSERT_EQ(f_->MemcpyNodeGetParams(copied, &box), CUDA_SUCCESS);
  EXPECT_EQ(box.srcDevice, words);
  EXPECT_EQ(box.dstDevice, copy);
  EXPECT_EQ(box.srcMemoryType, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(box.WidthInBytes, kWords * 4);
  CUDA_HOST_NODE_PARAMS function = {};
  ASSERT_EQ(f_->HostNodeGetParams(host, &function), CUDA_SUCCESS);
  EXPECT_EQ(function.fn, &AddOne);
  EXPECT_EQ(function.userData, &calls);
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  ASSERT_EQ(api_->GraphKernelNodeGetParams(scaled, &kernel), CUDA_SUCCESS);
  EXPECT_EQ(kernel.func, scale_);
  EXPECT_EQ(*static_cast<uint32_t*>(kernel.kernelParams[2]), 4u);

  // What is told can be set; what is set is done.
  fill.value = 9;
  EXPECT_EQ(f_->MemsetNodeSetParams(filled, &fill), CUDA_SUCCESS);
  kernel = Scale(words, 2, 5);
  EXPECT_EQ(f_->KernelNodeSetParams(scaled, &kernel), CUDA_SUCCESS);
  box.WidthInBytes = kWords * 2;
  EXPECT_EQ(f_->MemcpyNodeSetParams(copied, &box), CUDA_SUCCESS);
  int others = 0;
  function.userData = &others;
  EXPECT_EQ(f_->HostNodeSetParams(host, &function), CUDA_SUCCESS);
  Run(Instantiate(graph));
  Words expected(kWords, 23);
  EXPECT_EQ(Read(words), expected);
  std::fill(expected.begin() + kWords / 2, expected.end(), 0u);
  EXPECT_EQ(Read(copy), expected);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(others, 1);

  size_t edges = 0;
  EXPECT_EQ(f_->GetEdges(graph, nullptr, nullptr, &edges), CUDA_SUCCESS);
  EXPECT_EQ(edges, 3u);
  const std::string path = testing::TempDir() + "/graph.dot";
  EXPECT_EQ(f_->DebugDotPrint(graph, path.c_str(), 0), CUDA_SUCCESS);
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(text.find("digraph"), std::string::npos);
  EXPECT_NE(text.find("scale"), std::string::npos) << text;
  std::remove(path.c_str());
}

TEST_F(GraphNodes, OfAnExecutableGraphAreChanged) {
  const CUdeviceptr words = NewWords(), copy = NewWords(), other = NewWords();
  const CUgraph graph = NewGraph();
  int calls = 0, others = 0;
  const CUgraphNode filled = AddFill(graph, {}, words, 7), scaled = AddScale(graph, {filled}, words, 3, 4),
                    copied = AddCopy(graph, {scaled}, copy, words), host = AddHost(graph, {copied}, AddOne, &calls);
  const CUgraphExec exec = Instantiate(graph);
  uint64_t flags = 1;
  EXPECT_EQ(f_->ExecGetFlags(exec, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0u);
  CUDA_MEMSET_NODE_PARAMS fill = Filled(words, 9);
  EXPECT_EQ(f_->ExecMemsetNodeSetParams(exec, filled, &fill, context_), CUDA_SUCCESS);
  CUDA_MEMCPY3D box = Copied(other, words);
  EXPECT_EQ(f_->ExecMemcpyNodeSetParams(exec, copied, &box, context_), CUDA_SUCCESS);
  const CUDA_HOST_NODE_PARAMS function = {.fn = AddOne, .userData = &others};
  EXPECT_EQ(f_->ExecHostNodeSetParams(exec, host, &function), CUDA_SUCCESS);
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = Scale(words, 2, 5);
  EXPECT_EQ(f_->ExecNodeSetParams(exec, scaled, &params), CUDA_SUCCESS);
  box.Height = 2;
  box.WidthInBytes = kWords * 2;
  EXPECT_EQ(f_->ExecMemcpyNodeSetParams(exec, copied, &box, context_), CUDA_ERROR_INVALID_VALUE) << "two dimensions";
  Run(exec);
  EXPECT_EQ(Read(other), Words(kWords, 23));
  EXPECT_EQ(Read(copy), Words(kWords, 0));
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(others, 1);

  // Its graph is what it was.
  Run(Instantiate(graph));
  EXPECT_EQ(Read(copy), Words(kWords, 25));

  // A node that is disabled is an empty one, and keeps what it does.
  unsigned enabled = 0;
  EXPECT_EQ(f_->NodeGetEnabled(exec, scaled, &enabled), CUDA_SUCCESS);
  EXPECT_EQ(enabled, 1u);
  EXPECT_EQ(f_->NodeSetEnabled(exec, host, 0), CUDA_ERROR_INVALID_VALUE) << "kernels, fills and copies can be";
  EXPECT_EQ(f_->NodeSetEnabled(exec, scaled, 0), CUDA_SUCCESS);
  EXPECT_EQ(f_->NodeGetEnabled(exec, scaled, &enabled), CUDA_SUCCESS);
  EXPECT_EQ(enabled, 0u);
  Run(exec);
  EXPECT_EQ(Read(other), Words(kWords, 9));
  params.kernel = Scale(words, 2, 6);
  EXPECT_EQ(f_->ExecNodeSetParams(exec, scaled, &params), CUDA_SUCCESS);
  Run(exec);
  EXPECT_EQ(Read(other), Words(kWords, 9));
  EXPECT_EQ(f_->NodeSetEnabled(exec, scaled, 1), CUDA_SUCCESS);
  Run(exec);
  EXPECT_EQ(Read(other), Words(kWords, 24));
}

TEST_F(GraphNodes, HoldGraphs) {
  const CUdeviceptr words = NewWords();
  const CUgraph child = NewGraph(), graph = NewGraph();
  const CUgraphNode inner = AddScale(child, {}, words, 3, 1);
  AddScale(child, {inner}, words, 2, 0);
  const CUgraphNode before = AddFill(graph, {}, words, 1);
  CUgraphNode held = nullptr;
  ASSERT_EQ(f_->AddChildGraphNode(&held, graph, &before, 1, child), CUDA_SUCCESS);
  AddScale(graph, {held}, words, 10, 3);
  // It was cloned: what becomes of the original is of no matter.
  ASSERT_EQ(f_->DestroyNode(inner), CUDA_SUCCESS);
  ASSERT_EQ(api_->GraphDestroy(child), CUDA_SUCCESS);
  const CUgraphExec exec = Instantiate(graph);
  Run(exec);
  EXPECT_EQ(Read(words), Words(kWords, 83));

  CUgraph embedded = nullptr;
  ASSERT_EQ(f_->ChildGraphNodeGetGraph(held, &embedded), CUDA_SUCCESS);
  EXPECT_EQ(api_->GraphDestroy(embedded), CUDA_ERROR_INVALID_VALUE) << "the node's";
  CUgraphNode nodes[2] = {};
  size_t count = 2;
  ASSERT_EQ(api_->GraphGetNodes(embedded, nodes, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 2u);
  // "Changes to the graph will be reflected in the node."
  const CUDA_KERNEL_NODE_PARAMS changed = Scale(words, 3, 2);
  ASSERT_EQ(f_->KernelNodeSetParams(nodes[0], &changed), CUDA_SUCCESS);
  Run(Instantiate(graph));
  EXPECT_EQ(Read(words), Words(kWords, 103));
  Run(exec);
  EXPECT_EQ(Read(words), Words(kWords, 83));

  // Another of the same shape in its place, in an executable graph.
  const CUgraph same = NewGraph(), longer = NewGraph();
  AddScale(same, {AddScale(same, {}, words, 5, 0)}, words, 2, 1);
  AddFill(longer, {}, words, 1);
  EXPECT_EQ(f_->ExecChildGraphNodeSetParams(exec, held, longer), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(f_->ExecChildGraphNodeSetParams(exec, held, same), CUDA_SUCCESS);
  Run(exec);
  EXPECT_EQ(Read(words), Words(kWords, 113));

  // A clone of another, of whatever shape, in a graph.
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = longer;
  ASSERT_EQ(f_->NodeSetParams(held, &params), CUDA_SUCCESS);
  EXPECT_EQ(api_->GraphGetNodes(embedded, nullptr, &count), CUDA_ERROR_INVALID_VALUE) << "it is gone";
  ASSERT_EQ(f_->ChildGraphNodeGetGraph(held, &embedded), CUDA_SUCCESS);
  EXPECT_NE(embedded, longer);
  params.graph.graph = embedded;
  EXPECT_EQ(f_->NodeSetParams(held, &params), CUDA_SUCCESS) << "what it holds already";
  EXPECT_EQ(f_->NodeSetParams(before, &params), CUDA_ERROR_INVALID_VALUE) << "it holds none";
  params.graph.graph = child;
  EXPECT_EQ(f_->NodeSetParams(held, &params), CUDA_ERROR_INVALID_VALUE) << "destroyed";
  Run(Instantiate(graph));
  EXPECT_EQ(Read(words), Words(kWords, 13));

  // An empty one, and one that holds one.
  const CUgraph empty = NewGraph(), outer = NewGraph();
  CUgraphNode nothing = nullptr, whole = nullptr;
  const CUgraphNode first = AddFill(outer, {}, words, 4);
  ASSERT_EQ(f_->AddChildGraphNode(&nothing, outer, &first, 1, empty), CUDA_SUCCESS);
  ASSERT_EQ(f_->AddChildGraphNode(&whole, outer, &nothing, 1, graph), CUDA_SUCCESS);
  AddScale(outer, {whole}, words, 1, 1);
  Run(Instantiate(outer));
  EXPECT_EQ(Read(words), Words(kWords, 14));
}

TEST_F(GraphNodes, AreCloned) {
  const CUdeviceptr words = NewWords();
  const CUgraph graph = NewGraph();
  const CUgraphNode filled = AddFill(graph, {}, words, 2), scaled = AddScale(graph, {filled}, words, 3, 4);
  CUgraph clone = nullptr;
  ASSERT_EQ(f_->Clone(&clone, graph), CUDA_SUCCESS);
  CUgraphNode found = nullptr;
  ASSERT_EQ(f_->NodeFindInClone(&found, scaled, clone), CUDA_SUCCESS);
  EXPECT_NE(found, scaled);
  const CUDA_KERNEL_NODE_PARAMS changed = Scale(words, 5, 5);
  ASSERT_EQ(f_->KernelNodeSetParams(found, &changed), CUDA_SUCCESS);
  EXPECT_EQ(f_->NodeFindInClone(&found, scaled, graph), CUDA_ERROR_INVALID_VALUE) << "it is no clone";
  const CUgraphNode extra = AddScale(graph, {}, words, 1, 0);
  CUgraph another = nullptr;
  ASSERT_EQ(f_->Clone(&another, graph), CUDA_SUCCESS);
  ASSERT_EQ(f_->DestroyNode(extra), CUDA_SUCCESS);
  EXPECT_EQ(f_->NodeFindInClone(&found, extra, another), CUDA_ERROR_INVALID_VALUE) << "it names nothing any more";
  Run(Instantiate(graph));
  EXPECT_EQ(Read(words), Words(kWords, 10));
  ASSERT_EQ(api_->GraphDestroy(graph), CUDA_SUCCESS);
  Run(Instantiate(clone));
  EXPECT_EQ(Read(words), Words(kWords, 15));
}

TEST_F(GraphNodes, RecordAndWaitForEvents) {
  const CUdeviceptr words = NewWords();
  CUevent recorded = nullptr, awaited = nullptr, other = nullptr;
  for (CUevent* event : {&recorded, &awaited, &other}) ASSERT_EQ(api_->EventCreate(event, 0), CUDA_SUCCESS);
  const CUgraph graph = NewGraph();
  CUgraphNode wait = nullptr, record = nullptr;
  ASSERT_EQ(f_->AddEventWaitNode(&wait, graph, nullptr, 0, awaited), CUDA_SUCCESS);
  const CUgraphNode scaled = AddScale(graph, {wait}, words, 2, 1);
  ASSERT_EQ(f_->AddEventRecordNode(&record, graph, &scaled, 1, recorded), CUDA_SUCCESS);
  CUevent told = nullptr;
  EXPECT_EQ(f_->EventRecordNodeGetEvent(record, &told), CUDA_SUCCESS);
  EXPECT_EQ(told, recorded);
  EXPECT_EQ(f_->EventWaitNodeSetEvent(record, other), CUDA_ERROR_INVALID_VALUE) << "it records one";
  const CUgraphExec exec = Instantiate(graph);
  CUstream before = nullptr, after = nullptr;
  for (CUstream* stream : {&before, &after}) {
    ASSERT_EQ(api_->StreamCreateWithPriority(stream, CU_STREAM_DEFAULT, 0), CUDA_SUCCESS);
  }
  // Work on one stream, the graph on another that waits for it, a copy on a third that waits for the graph.
  uint32_t value = 3;
  for (int i = 0; i < 20; ++i) {
    CUdeviceptr copy = NewWords();
    ASSERT_EQ(api_->MemsetD32Async(words, value, kWords, before), CUDA_SUCCESS);
    ASSERT_EQ(api_->EventRecord(awaited, before), CUDA_SUCCESS);
    ASSERT_EQ(api_->GraphLaunch(exec, stream_), CUDA_SUCCESS);
    ASSERT_EQ(api_->StreamWaitEvent(after, recorded, 0), CUDA_SUCCESS);
    ASSERT_EQ(api_->MemcpyDtoDAsync(copy, words, kWords * 4, after), CUDA_SUCCESS);
    ASSERT_EQ(api_->StreamSynchronize(after), CUDA_SUCCESS);
    EXPECT_EQ(Read(copy), Words(kWords, value * 2 + 1));
    EXPECT_EQ(api_->EventQuery(recorded), CUDA_SUCCESS);
    ++value;
  }
  ASSERT_EQ(f_->ExecEventRecordNodeSetEvent(exec, record, other), CUDA_SUCCESS);
  Run(exec);
  // As often as one likes, with other work in between.
  for (int i = 0; i < 20; ++i) {
    const CUdeviceptr copy = NewWords();
    ASSERT_EQ(api_->MemsetD32Async(words, value, kWords, before), CUDA_SUCCESS);
    ASSERT_EQ(api_->EventRecord(awaited, before), CUDA_SUCCESS);
    ASSERT_EQ(api_->GraphLaunch(exec, stream_), CUDA_SUCCESS);
    ASSERT_EQ(api_->StreamWaitEvent(after, other, 0), CUDA_SUCCESS);
    ASSERT_EQ(api_->MemcpyDtoDAsync(copy, words, kWords * 4, after), CUDA_SUCCESS);
    ASSERT_EQ(api_->StreamSynchronize(after), CUDA_SUCCESS);
    EXPECT_EQ(Read(copy), Words(kWords, value * 2 + 1));
    ++value;
  }
  float milliseconds = -1;
  EXPECT_EQ(api_->EventElapsedTime(&milliseconds, recorded, other), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
}

TEST_F(GraphNodes, ComeOutOfCaptures) {
  constexpr unsigned kExternal = 1;
  const CUdeviceptr words = NewWords();
  const auto record = Function<CUresult(CUevent, CUstream, unsigned)>("cuEventRecordWithFlags", 11010);
  CUevent event = nullptr;
  ASSERT_EQ(api_->EventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(record(event, stream_, kExternal), CUDA_ERROR_INVALID_VALUE) << "invalid outside of a capture";
  EXPECT_EQ(api_->StreamWaitEvent(stream_, event, kExternal), CUDA_ERROR_INVALID_VALUE);
  const CUgraph inner = NewGraph();
  AddScale(inner, {}, words, 2, 1);
  const CUgraphExec launched = Instantiate(inner);
  CUgraph graph = nullptr;
  ASSERT_EQ(api_->StreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(api_->MemsetD32Async(words, 10, kWords, stream_), CUDA_SUCCESS);
  ASSERT_EQ(api_->StreamWaitEvent(stream_, event, kExternal), CUDA_SUCCESS);
  ASSERT_EQ(api_->GraphLaunch(launched, stream_), CUDA_SUCCESS);
  ASSERT_EQ(record(event, stream_, kExternal), CUDA_SUCCESS);
  ASSERT_EQ(api_->StreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  CUgraphNode nodes[4] = {};
  size_t count = 4;
  ASSERT_EQ(api_->GraphGetNodes(graph, nodes, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 4u);
  const int types[] = {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_GRAPH,
                       CU_GRAPH_NODE_TYPE_EVENT_RECORD};
  for (int i = 0; i < 4; ++i) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    EXPECT_EQ(api_->GraphNodeGetType(nodes[i], &type), CUDA_SUCCESS);
    EXPECT_EQ(static_cast<int>(type), types[i]);
  }
  EXPECT_EQ(api_->GraphDestroy(inner), CUDA_SUCCESS);
  EXPECT_EQ(api_->GraphExecDestroy(launched), CUDA_SUCCESS);
  const CUgraphExec exec = Instantiate(graph);
  Run(exec);
  EXPECT_EQ(Read(words), Words(kWords, 21));
  EXPECT_EQ(api_->EventSynchronize(event), CUDA_SUCCESS);
  Run(exec);
  EXPECT_EQ(Read(words), Words(kWords, 21));
}

// A capture that goes on in a graph of the caller's, and behind nodes that the caller adds to it.
TEST_F(GraphNodes, AreMixedWithCaptures) {
  const CUdeviceptr words = NewWords();
  const auto begin =
      Function<CUresult(CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, size_t, CUstreamCaptureMode)>(
          "cuStreamBeginCaptureToGraph", 12030);
  const auto update =
      Function<CUresult(CUstream, CUgraphNode*, size_t, unsigned)>("cuStreamUpdateCaptureDependencies", 11030);
  constexpr unsigned kSet = 1;
  const CUgraph graph = NewGraph();
  CUgraphNode filled = AddFill(graph, {}, words, 1);
  EXPECT_EQ(update(stream_, &filled, 1, kSet), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_EQ(begin(stream_, graph, &filled, nullptr, 1, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  LaunchBuffer first(words, 3u, 1u), second(words, 10u, 2u);
  ASSERT_EQ(Launch(scale_, stream_, first.extra(), 1, kWords), CUDA_SUCCESS);
  const CUgraphNode* last = nullptr;
  size_t count = 0;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  ASSERT_EQ(api_->StreamGetCaptureInfo(stream_, &status, nullptr, nullptr, &last, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 1u);
  CUgraphNode added = AddScale(graph, {last[0]}, words, 2, 0);
  ASSERT_EQ(update(stream_, &added, 1, kSet), CUDA_SUCCESS);
  ASSERT_EQ(Launch(scale_, stream_, second.extra(), 1, kWords), CUDA_SUCCESS);
  EXPECT_EQ(f_->DestroyNode(filled), CUDA_ERROR_INVALID_VALUE) << "while it is captured";
  CUgraph ended = nullptr;
  ASSERT_EQ(api_->StreamEndCapture(stream_, &ended), CUDA_SUCCESS);
  EXPECT_EQ(ended, graph);
  Run(Instantiate(graph));
  EXPECT_EQ(Read(words), Words(kWords, 82));
}

TEST_F(GraphNodes, OfKernelsHaveAttributes) {
  const CUdeviceptr words = NewWords();
  const CUgraph graph = NewGraph();
  const CUgraphNode first = AddScale(graph, {}, words, 1, 1), second = AddScale(graph, {first}, words, 1, 1);
  CUlaunchAttributeValue value = {};
  value.cooperative = 1;
  ASSERT_EQ(f_->KernelNodeSetAttribute(first, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value), CUDA_SUCCESS);
  ASSERT_EQ(f_->KernelNodeCopyAttributes(second, first), CUDA_SUCCESS);
  value = {};
  ASSERT_EQ(f_->KernelNodeGetAttribute(second, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.cooperative, 1);
  value.priority = -1;
  ASSERT_EQ(f_->KernelNodeSetAttribute(first, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
  Run(Instantiate(graph));
  EXPECT_EQ(Read(words), Words(kWords, 2));
}

TEST_F(GraphNodes, AreAddedByWhatTheyAre) {
  const CUdeviceptr words = NewWords(), copy = NewWords();
  const CUgraph graph = NewGraph(), child = NewGraph();
  AddScale(child, {}, words, 2, 0);
  CUgraphNode node = nullptr;
  const auto add = [&](CUgraphNodeParams params) {
    const CUgraphNode before = node;
    EXPECT_EQ(f_->AddNode(&node, graph, &before, before == nullptr ? 0 : 1, &params), CUDA_SUCCESS);
  };
  int calls = 0;
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset = {Filled(words, 6), context_};
  add(params);
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = Scale(words, 4, 1);
  add(params);
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = child;
  add(params);
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  params.memcpy.copyCtx = context_;
  params.memcpy.copyParams = Copied(copy, words);
  add(params);
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_HOST;
  params.host = {.fn = AddOne, .userData = &calls};
  add(params);
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  add(params);
  params.type = static_cast<CUgraphNodeType>(99);
  EXPECT_EQ(f_->AddNode(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  Run(Instantiate(graph));
  EXPECT_EQ(Read(copy), Words(kWords, 50));
  EXPECT_EQ(calls, 1);
}

// What CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE says of graphs that became a node's.
TEST_F(GraphNodes, TakeGraphsAsTheirOwn) {
  const CUdeviceptr words = NewWords();
  const CUgraph parent = NewGraph(), child = NewGraph(), other = NewGraph();
  AddFill(child, {}, words, 3);
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph = {.graph = child, .ownership = 1};
  CUgraphNode node = nullptr;
  ASSERT_EQ(f_->AddNode(&node, parent, nullptr, 0, &params), CUDA_SUCCESS);
  const CUgraphExec exec = Instantiate(parent);
  Run(exec);
  EXPECT_EQ(Read(words), Words(kWords, 3));

  CUgraphExec wrong = nullptr;
  EXPECT_EQ(f_->AddNode(&node, other, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE) << "once";
  EXPECT_EQ(f_->AddChildGraphNode(&node, other, nullptr, 0, child), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->GraphInstantiateWithFlags(&wrong, child, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->GraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
  CUgraphExecUpdateResultInfo info = {};
  EXPECT_EQ(api_->GraphExecUpdate(exec, child, &info), CUDA_ERROR_INVALID_VALUE);
  // Into what it holds itself, right below and deeper.
  const CUgraph deeper = NewGraph();
  params.graph.graph = deeper;
  ASSERT_EQ(f_->AddNode(&node, child, nullptr, 0, &params), CUDA_SUCCESS);
  params.graph.graph = parent;
  for (const CUgraph inside : {child, deeper}) {
    EXPECT_EQ(f_->AddNode(&node, inside, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  }
  CUgraph clone = nullptr;
  ASSERT_EQ(f_->Clone(&clone, parent), CUDA_SUCCESS);
  Run(Instantiate(clone));
  EXPECT_EQ(api_->GraphDestroy(parent), CUDA_SUCCESS);
  EXPECT_EQ(f_->AddEmptyNode(&node, child, nullptr, 0), CUDA_ERROR_INVALID_VALUE) << "it went with its parent";
}

TEST_F(GraphNodes, ThatWaitForEachOtherAreNamed) {
  const CUgraph graph = NewGraph();
  CUgraphNode nodes[5] = {};
  for (CUgraphNode& node : nodes) ASSERT_EQ(f_->AddEmptyNode(&node, graph, nullptr, 0), CUDA_SUCCESS);
  // 0 before 1; 1, 2 and 3 in a ring; 4 behind it.
  const CUgraphNode from[] = {nodes[0], nodes[1], nodes[2], nodes[3]}, to[] = {nodes[1], nodes[2], nodes[3], nodes[4]};
  ASSERT_EQ(f_->AddDependencies(graph, from, to, 4), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
  ASSERT_EQ(f_->InstantiateWithParams(&exec, graph, &params), CUDA_SUCCESS);
  EXPECT_EQ(params.result_out, 0) << "CUDA_GRAPH_INSTANTIATE_SUCCESS";
  EXPECT_EQ(params.hErrNode_out, nullptr);
  ASSERT_EQ(f_->AddDependencies(graph, &nodes[3], &nodes[1], 1), CUDA_SUCCESS);
  EXPECT_EQ(f_->InstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result_out, 2) << "CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE";
  EXPECT_NE(std::find(nodes + 1, nodes + 4, params.hErrNode_out), nodes + 4);
  params.flags = 1u << 20;
  ASSERT_EQ(f_->RemoveDependencies(graph, &nodes[3], &nodes[1], 1), CUDA_SUCCESS);
  EXPECT_EQ(f_->InstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result_out, 1) << "CUDA_GRAPH_INSTANTIATE_ERROR";
}

}  // namespace
}  // namespace slipway::cuda_library
