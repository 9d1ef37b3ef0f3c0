// Launches with attributes, occupancy, parameter information, and peers.
#include <thread>

#include "driver/cpu/limits.h"
#include "driver/cpu/settings.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

// Every block adds 1 to words[0] and waits until all of them have: done only if they all run at once. One thread a
// block.
constexpr const char* kMeetPtx = R"(
.version 7.8
.target sm_75
.address_size 64

.visible .entry meet(.param .u64 words, .param .u32 blocks)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [words];
  ld.param.u32 %r1, [blocks];
  atom.global.add.u32 %r2, [%rd1], 1;
again:
  ld.volatile.global.u32 %r3, [%rd1];
  setp.lt.u32 %p1, %r3, %r1;
  @%p1 bra again;
  atom.global.add.u32 %r4, [%rd1+4], 1;
  ret;
}

.visible .entry shares(.param .u64 words)
{
  .shared .align 4 .b8 mine[16384];
  ret;
}
)";

class ApiLaunchEx : public ApiTest {
 protected:
  CUresult LaunchEx(CUfunction function, unsigned grid, unsigned block, std::vector<CUlaunchAttribute> attributes,
                    LaunchBuffer buffer, unsigned shared_bytes = 0, CUstream stream = nullptr) {
    CUlaunchConfig config = {};
    config.gridDimX = grid;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = block;
    config.sharedMemBytes = shared_bytes;
    config.hStream = stream;
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned>(attributes.size());
    void* extra[] = {kLaunchParamBufferPointer, buffer.extra()[1], kLaunchParamBufferSize, &buffer.size,
                     kLaunchParamEnd};
    return Api().LaunchKernelEx(&config, function, nullptr, extra);
  }
  static CUlaunchAttribute Cooperative(int value) {
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = value;
    return attribute;
  }
  static CUlaunchAttribute Cluster(unsigned x, unsigned y, unsigned z) {
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {x, y, z};
    return attribute;
  }
  static CUlaunchAttribute Attribute(CUlaunchAttributeID id, int value) {
    CUlaunchAttribute attribute = {};
    attribute.id = id;
    attribute.value.priority = value;
    return attribute;
  }
  CUfunction Meet(const char* name = "meet") {
    if (module_ == nullptr) {
      EXPECT_CUDA(Api().ModuleLoadDataEx(&module_, kMeetPtx, 0, nullptr, nullptr));
    }
    CUfunction function = nullptr;
    EXPECT_CUDA(Api().ModuleGetFunction(&function, module_, name));
    return function;
  }
  int Resident(CUfunction function, int block_size, size_t shared_bytes = 0) {
    int blocks = -1;
    EXPECT_CUDA(Api().OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, block_size, shared_bytes));
    return blocks;
  }

 private:
  CUmodule module_ = nullptr;
};

TEST_F(ApiLaunchEx, IsALaunch) {
  CUdeviceptr words = NewWords(64);
  EXPECT_CUDA(LaunchEx(Function("store"), 1, 64, {}, LaunchBuffer(uint64_t{words}, 6u)));
  EXPECT_EQ(ReadWords(words, 64), std::vector<uint32_t>(64, 6));
  EXPECT_EQ(Api().LaunchKernelEx(nullptr, Function("empty"), nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 1};
  EXPECT_EQ(Api().LaunchKernelEx(&config, Function("empty"), nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LaunchEx(Function("store"), 1, 2048, {}, LaunchBuffer(uint64_t{words}, 6u)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LaunchEx(Function("store"), 1, 64, {}, LaunchBuffer(uint64_t{words})), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LaunchEx(nullptr, 1, 64, {}, LaunchBuffer()), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ApiLaunchEx, AttributesAreChecked) {
  CUfunction empty = Function("empty");
  EXPECT_CUDA(LaunchEx(empty, 1, 1, {Cluster(1, 1, 1)}, LaunchBuffer()));
  EXPECT_EQ(LaunchEx(empty, 2, 1, {Cluster(2, 1, 1)}, LaunchBuffer()), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(LaunchEx(empty, 1, 1, {Cluster(0, 1, 1)}, LaunchBuffer()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(
      LaunchEx(empty, 1, 1, {Attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1)}, LaunchBuffer()));
  EXPECT_CUDA(LaunchEx(empty, 1, 1, {Attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, -100)}, LaunchBuffer()));
  EXPECT_EQ(LaunchEx(empty, 1, 1, {Attribute(static_cast<CUlaunchAttributeID>(77), 1)}, LaunchBuffer()),
            CUDA_ERROR_INVALID_VALUE);
  int value = -1;
  EXPECT_CUDA(Api().DeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
  EXPECT_EQ(value, 0);
  EXPECT_CUDA(Api().DeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
  EXPECT_EQ(value, 1);
}

TEST_F(ApiLaunchEx, CooperativeBlocksAllRunAtOnce) {
  CUfunction meet = Meet();
  const auto most = static_cast<uint32_t>(Resident(meet, 1) * GetSettings().cores);
  for (uint32_t blocks : {1u, 3u, 10u}) {
    CUdeviceptr words = NewWords(2);
    ASSERT_CUDA(LaunchEx(meet, blocks, 1, {Cooperative(1)}, LaunchBuffer(uint64_t{words}, blocks)));
    EXPECT_EQ(ReadWords(words, 2), std::vector<uint32_t>(2, blocks));
  }
  CUdeviceptr words = NewWords(2);
  EXPECT_EQ(LaunchEx(meet, most + 1, 1, {Cooperative(1)}, LaunchBuffer(uint64_t{words}, most + 1)),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_CUDA(LaunchEx(Function("empty"), most + 1, 1, {Cooperative(0)}, LaunchBuffer()));
  EXPECT_CUDA(Api().CtxSynchronize());
}

TEST_F(ApiLaunchEx, CooperativeNodesOfGraphs) {
  CUfunction meet = Meet();
  constexpr uint32_t kBlocks = 3;
  CUdeviceptr words = NewWords(2);
  CUstream stream = NewStream();
  CUgraph graph = nullptr, plain = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(Api().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_CUDA(Api().MemsetD8Async(words, 0, 8, stream));
  ASSERT_CUDA(LaunchEx(meet, kBlocks, 1, {Cooperative(1)}, LaunchBuffer(uint64_t{words}, kBlocks), 0, stream));
  ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
  ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) ASSERT_CUDA(Api().GraphLaunch(exec, stream));
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(ReadWords(words, 2), std::vector<uint32_t>(2, kBlocks));
  // "A cooperative node cannot be updated to a non-cooperative node."
  ASSERT_CUDA(Api().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_CUDA(Api().MemsetD8Async(words, 0, 8, stream));
  ASSERT_CUDA(LaunchEx(meet, kBlocks, 1, {}, LaunchBuffer(uint64_t{words}, kBlocks), 0, stream));
  ASSERT_CUDA(Api().StreamEndCapture(stream, &plain));
  CUgraphExecUpdateResultInfo info;
  EXPECT_EQ(Api().GraphExecUpdate(exec, plain, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED);
  // Its limit holds for what is set, too.
  CUgraphNode nodes[2];
  size_t count = 2;
  CUDA_KERNEL_NODE_PARAMS params;
  ASSERT_CUDA(Api().GraphGetNodes(graph, nodes, &count));
  ASSERT_CUDA(Api().GraphKernelNodeGetParams(nodes[1], &params));
  params.gridDimX = 1 << 20;
  EXPECT_EQ(Api().GraphExecKernelNodeSetParams(exec, nodes[1], &params), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

// The numbers of an occupancy calculator for compute capability 9.0: 2048 threads, 32 blocks and 228 KiB of shared
// memory, of which each block takes a KiB more than it asks for.
TEST_F(ApiLaunchEx, OccupancyIsThatOfTheDeviceModelled) {
  CUfunction empty = Function("empty"), shares = Meet("shares");
  EXPECT_EQ(Resident(empty, 256), 8);
  EXPECT_EQ(Resident(empty, 1024), 2);
  EXPECT_EQ(Resident(empty, 1), 32);
  EXPECT_EQ(Resident(empty, 33), 32);
  EXPECT_EQ(Resident(empty, 100), 16);
  EXPECT_EQ(Resident(empty, 1025), 0);
  EXPECT_EQ(Resident(Function("at_most_128"), 129), 0);
  EXPECT_EQ(Resident(shares, 32), 13);
  EXPECT_EQ(Resident(shares, 32, 100 << 10), 1);
  EXPECT_EQ(Resident(shares, 32, 220 << 10), 0);
  // What cuda_occupancy.h computes: a block's shared memory, with the KiB that the system takes, in units of 128 bytes.
  EXPECT_EQ(Resident(empty, 32, 10000), 20);
  EXPECT_EQ(Resident(empty, 32, 45670), 4);
  EXPECT_EQ(Resident(empty, 32, 45568), 5);
  int blocks = 0;
  EXPECT_EQ(Api().OccupancyMaxActiveBlocksPerMultiprocessor(nullptr, empty, 32, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nullptr, 32, 0), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ApiLaunchEx, ParametersAreToldFromThePtx) {
  CUfunction mixed = Function("mixed");
  const size_t want[][2] = {{0, 1}, {8, 8}, {16, 2}, {24, 8}};
  size_t offset = 0, bytes = 0;
  for (size_t i = 0; i < std::size(want); ++i) {
    EXPECT_CUDA(Api().FuncGetParamInfo(mixed, i, &offset, &bytes));
    EXPECT_EQ(offset, want[i][0]) << i;
    EXPECT_EQ(bytes, want[i][1]) << i;
  }
  EXPECT_CUDA(Api().FuncGetParamInfo(mixed, 3, &offset, nullptr));
  EXPECT_EQ(Api().FuncGetParamInfo(mixed, 4, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().FuncGetParamInfo(Function("empty"), 0, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().FuncGetParamInfo(mixed, 0, nullptr, &bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().FuncGetParamInfo(nullptr, 0, &offset, &bytes), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ApiLaunchEx, PrioritiesAreTold) {
  int least = 9, greatest = 9;
  EXPECT_CUDA(Api().CtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5);
  EXPECT_CUDA(Api().CtxGetStreamPriorityRange(nullptr, nullptr));
  const int asked_and_got[][2] = {{0, 0}, {-3, -3}, {-100, -5}, {4, 0}};
  for (const auto& [asked, got] : asked_and_got) {
    CUstream stream = nullptr;
    int priority = 9;
    ASSERT_CUDA(Api().StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, asked));
    EXPECT_CUDA(Api().StreamGetPriority(stream, &priority));
    EXPECT_EQ(priority, got);
    EXPECT_EQ(Api().StreamGetPriority(stream, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_CUDA(Api().StreamDestroy(stream));
    EXPECT_EQ(Api().StreamGetPriority(stream, &priority), CUDA_ERROR_INVALID_HANDLE);
  }
  int priority = 9;
  EXPECT_CUDA(Api().StreamGetPriority(nullptr, &priority));
  EXPECT_EQ(priority, 0);
}

class ApiPeer : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&peer_, 1));
    ASSERT_CUDA(Api().CtxPushCurrent(peer_));
    ASSERT_CUDA(Api().MemAlloc(&there_, 256));
    ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
    here_ = NewWords(64);
  }
  void TearDown() override {
    ASSERT_CUDA(Api().DevicePrimaryCtxRelease(1));
    ApiTest::TearDown();
  }
  CUcontext peer_ = nullptr;
  CUdeviceptr here_ = 0, there_ = 0;
};

TEST_F(ApiPeer, AccessIsEnabledOnce) {
  int can = -1;
  EXPECT_CUDA(Api().DeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  EXPECT_CUDA(Api().DeviceCanAccessPeer(&can, 1, 1));
  EXPECT_EQ(can, 0);
  EXPECT_EQ(Api().DeviceCanAccessPeer(&can, 0, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(Api().DeviceCanAccessPeer(nullptr, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().CtxEnablePeerAccess(peer_, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().CtxEnablePeerAccess(nullptr, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Api().CtxEnablePeerAccess(context_, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_CUDA(Api().CtxEnablePeerAccess(peer_, 0));
  EXPECT_EQ(Api().CtxEnablePeerAccess(peer_, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
}

TEST_F(ApiPeer, CopiesInStreamOrder) {
  CUdeviceptr back = NewWords(64);
  CUstream stream = NewStream();
  volatile uint32_t* flag = NewFlag();
  EXPECT_CUDA(LaunchSpin(flag, stream));
  EXPECT_CUDA(Launch("store", 1, 64, stream, uint64_t{here_}, 5u));
  EXPECT_CUDA(Api().MemcpyPeerAsync(there_, peer_, here_, context_, 256, stream));
  EXPECT_CUDA(Launch("store", 1, 64, stream, uint64_t{here_}, 6u));
  EXPECT_CUDA(Api().MemcpyPeerAsync(back, context_, there_, peer_, 256, stream));
  EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
  *flag = 1;
  EXPECT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(ReadWords(back, 64), std::vector<uint32_t>(64, 5));
  EXPECT_EQ(ReadWords(here_, 64), std::vector<uint32_t>(64, 6));
}

TEST_F(ApiPeer, CopiesAreChecked) {
  CUstream stream = NewStream();
  const auto copy = [&](CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
    return Api().MemcpyPeerAsync(to, to_context, from, from_context, bytes, stream);
  };
  EXPECT_EQ(copy(there_, context_, here_, context_, 4), CUDA_ERROR_INVALID_VALUE) << "not that context's memory";
  EXPECT_EQ(copy(there_, peer_, here_, peer_, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy(there_, peer_, here_, context_, 1 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy(there_, nullptr, here_, context_, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(copy(there_, peer_, here_, nullptr, 4), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_CUDA(copy(there_, peer_, here_, context_, 0));
}

// A capture that goes over two devices, and replays on both.
TEST_F(ApiPeer, AGraphOfTwoDevices) {
  CUstream stream = NewStream(), other = nullptr;
  CUevent fork = NewEvent(), join = nullptr;
  ASSERT_CUDA(Api().CtxPushCurrent(peer_));
  ASSERT_CUDA(Api().StreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0));
  ASSERT_CUDA(Api().EventCreate(&join, 0));
  ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
  Function("add_one");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(Api().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  ASSERT_CUDA(Launch("add_one", 1, 64, stream, uint64_t{here_}, 64u));
  ASSERT_CUDA(Api().EventRecord(fork, stream));
  ASSERT_CUDA(Api().StreamWaitEvent(other, fork, 0));
  ASSERT_CUDA(Api().MemcpyPeerAsync(there_, peer_, here_, context_, 256, other));
  ASSERT_CUDA(Api().EventRecord(join, other));
  ASSERT_CUDA(Api().StreamWaitEvent(stream, join, 0));
  ASSERT_CUDA(Launch("add_one", 1, 64, stream, uint64_t{there_}, 64u));
  ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
  ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
  for (uint32_t round = 1; round <= 10; ++round) {
    ASSERT_CUDA(Api().GraphLaunch(exec, stream));
    ASSERT_CUDA(Api().StreamSynchronize(stream));
    EXPECT_EQ(ReadWords(here_, 64), std::vector<uint32_t>(64, round));
    EXPECT_EQ(ReadWords(there_, 64), std::vector<uint32_t>(64, round + 1));
  }
}

}  // namespace
}  // namespace slipway::cpu
