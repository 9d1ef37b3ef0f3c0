// Loading modules, and every way in which that fails.
#include <string>

#include "driver/cpu/testing.h"
#include "tests/assembled.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

// Loads `ptx`; returns the result and the error log.
struct LoadAnswer {
  CUresult result;
  std::string log;
  size_t log_bytes;
};
LoadAnswer Load(const std::string& ptx, size_t capacity = 4096) {
  std::string log(capacity, '?');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(capacity)};
  CUmodule module = nullptr;
  CUresult result = Api().ModuleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  if (result == CUDA_SUCCESS) {
    EXPECT_CUDA(Api().ModuleUnload(module));
    AssembleAfterTests(ptx);
  }
  return {result, log.c_str(), reinterpret_cast<size_t>(values[1])};
}

std::string Ptx(const char* version, const char* target, const std::string& body) {
  return std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n" + body;
}

std::string Parameters(size_t bytes) {
  return ".visible .entry k(.param .align 8 .b8 p[" + std::to_string(bytes) + "])\n{\n  ret;\n}\n";
}

constexpr char kEmpty[] = ".visible .entry k()\n{\n  ret;\n}\n";

using ApiModule = ApiTest;

TEST_F(ApiModule, FindsKernelsAndVariables) {
  CUfunction a = nullptr, b = nullptr;
  ASSERT_CUDA(Api().ModuleGetFunction(&a, Module(), "store"));
  ASSERT_CUDA(Api().ModuleGetFunction(&b, Module(), "store"));
  EXPECT_EQ(a, b);
  CUfunction missing = nullptr;
  EXPECT_EQ(Api().ModuleGetFunction(&missing, Module(), "stor"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(Api().ModuleGetFunction(&missing, Module(), "counter"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(Api().ModuleGetFunction(nullptr, Module(), "store"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().ModuleGetFunction(&missing, Module(), nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().ModuleGetFunction(&missing, nullptr, "store"), CUDA_ERROR_INVALID_HANDLE);

  CUdeviceptr counter = 0, table = 0, out = NewWords(1);
  size_t bytes = 0;
  ASSERT_CUDA(Api().ModuleGetGlobal(&counter, &bytes, Module(), "counter"));
  EXPECT_EQ(bytes, 4u);
  ASSERT_CUDA(Api().ModuleGetGlobal(&table, &bytes, Module(), "table"));
  EXPECT_EQ(bytes, 16u);
  EXPECT_EQ(Api().ModuleGetGlobal(&table, nullptr, Module(), "store"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(Api().ModuleGetGlobal(nullptr, nullptr, Module(), "table"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ReadWords(table, 4), (std::vector<uint32_t>{5, 0, 6, 0}));
  // The kernel and the host see one variable.
  CUfunction count = nullptr;
  ASSERT_CUDA(Api().ModuleGetFunction(&count, Module(), "count"));
  LaunchBuffer buffer(uint64_t{out});
  ASSERT_CUDA(Api().LaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, buffer.extra()));
  EXPECT_EQ(ReadWords(out, 1)[0], 41u);
  EXPECT_EQ(ReadWords(counter, 1)[0], 42u);
  ASSERT_CUDA(Api().MemsetD32(counter, 100, 1));
  ASSERT_CUDA(Api().LaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, buffer.extra()));
  EXPECT_EQ(ReadWords(out, 1)[0], 100u);
}

TEST_F(ApiModule, KeepsTheTextThatItLoaded) {
  EXPECT_EQ(LoadedPtxForTesting(Module()), kTestPtx);
  EXPECT_EQ(LoadedPtxForTesting(nullptr), "");
}

TEST_F(ApiModule, HandlesEndWithTheModule) {
  size_t before = LiveHandlesForTesting();
  CUmodule module = nullptr;
  ASSERT_CUDA(Api().ModuleLoadDataEx(&module, kTestPtx, 0, nullptr, nullptr));
  CUfunction function = nullptr;
  ASSERT_CUDA(Api().ModuleGetFunction(&function, module, "empty"));
  EXPECT_EQ(LiveHandlesForTesting(), before + 2);
  EXPECT_CUDA(Api().ModuleUnload(module));
  EXPECT_EQ(LiveHandlesForTesting(), before);
  EXPECT_EQ(Api().ModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().ModuleGetFunction(&function, module, "empty"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ApiModule, UnloadWaitsForLaunches) {
  CUdeviceptr words = NewWords(1 << 16);
  CUstream stream = NewStream();
  CUmodule module = nullptr;
  CUfunction add_one = nullptr;
  ASSERT_CUDA(Api().ModuleLoadDataEx(&module, kTestPtx, 0, nullptr, nullptr));
  ASSERT_CUDA(Api().ModuleGetFunction(&add_one, module, "add_one"));
  LaunchBuffer buffer(uint64_t{words}, uint32_t{1 << 16});
  for (int i = 0; i < 100; ++i) {
    ASSERT_CUDA(Api().LaunchKernel(add_one, 256, 1, 1, 256, 1, 1, 0, stream, nullptr, buffer.extra()));
  }
  ASSERT_CUDA(Api().ModuleUnload(module));
  EXPECT_CUDA(Api().StreamQuery(stream));
  EXPECT_EQ(ReadWords(words, 1 << 16), std::vector<uint32_t>(1 << 16, 100));
}

TEST_F(ApiModule, NonsenseIsInvalidPtxWithALog) {
  LoadAnswer answer = Load(Ptx("7.8", "sm_75", ".visible .entry k()\n{\n  frobnicate.u32 %r1;\n  ret;\n}\n"));
  EXPECT_EQ(answer.result, CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(answer.log.find("line 6"), std::string::npos) << answer.log;
  EXPECT_NE(answer.log.find("frobnicate"), std::string::npos) << answer.log;
  EXPECT_EQ(answer.log_bytes, answer.log.size());
  for (const char* text : {"", "hello", ".version", "int main() {}"}) {
    LoadAnswer nonsense = Load(text);
    EXPECT_EQ(nonsense.result, CUDA_ERROR_INVALID_PTX) << text;
    EXPECT_NE(nonsense.log, "") << text;
  }
}

TEST_F(ApiModule, LogIsCutToItsBuffer) {
  LoadAnswer answer = Load("hello", 10);
  EXPECT_EQ(answer.log.size(), 9u);
  EXPECT_EQ(answer.log_bytes, 9u);
  LoadAnswer good = Load(Ptx("7.8", "sm_75", kEmpty));
  EXPECT_EQ(good.result, CUDA_SUCCESS);
  EXPECT_EQ(good.log, "");
  EXPECT_EQ(good.log_bytes, 0u);
}

TEST_F(ApiModule, NewerThanTheDriverOrTheDevice) {
  LoadAnswer newer = Load(Ptx("9.1", "sm_90", kEmpty));
  EXPECT_EQ(newer.result, CUDA_ERROR_UNSUPPORTED_PTX_VERSION) << newer.log;
  EXPECT_NE(newer.log.find("9.1"), std::string::npos) << newer.log;
  LoadAnswer target = Load(Ptx("8.8", "sm_100", kEmpty));
  EXPECT_EQ(target.result, CUDA_ERROR_NO_BINARY_FOR_GPU) << target.log;
  EXPECT_NE(target.log.find("sm_100"), std::string::npos) << target.log;
  EXPECT_EQ(Load(Ptx("9.0", "sm_90", kEmpty)).result, CUDA_SUCCESS);
}

TEST_F(ApiModule, MachineCodeIsNoBinaryForThisDevice) {
  // A fatbin with nothing in it.
  for (const std::string& image : {std::string("\x7F"
                                               "ELF\x02\x01"),
                                   std::string("\x50\xED\x55\xBA\x01\0\x10\0\0\0\0\0\0\0\0\0", 16)}) {
    LoadAnswer answer = Load(image);
    EXPECT_EQ(answer.result, CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_NE(answer.log.find("PTX"), std::string::npos);
  }
}

TEST_F(ApiModule, ParametersPast4096BytesWantPtx81) {
  EXPECT_EQ(Load(Ptx("8.0", "sm_75", Parameters(4096))).result, CUDA_SUCCESS);
  LoadAnswer old = Load(Ptx("8.0", "sm_75", Parameters(4104)));
  EXPECT_EQ(old.result, CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(old.log.find("4104 bytes of parameters"), std::string::npos) << old.log;
  EXPECT_EQ(Load(Ptx("8.1", "sm_75", Parameters(32760))).result, CUDA_SUCCESS);
  EXPECT_EQ(Load(Ptx("8.1", "sm_75", Parameters(32768))).result, CUDA_ERROR_INVALID_PTX);
}

TEST_F(ApiModule, OptionsAreChecked) {
  std::string ptx = Ptx("7.8", "sm_75", kEmpty);
  CUmodule module = nullptr;
  CUjit_option options[] = {CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL};
  void* values[] = {reinterpret_cast<void*>(32), reinterpret_cast<void*>(3)};
  ASSERT_CUDA(Api().ModuleLoadDataEx(&module, ptx.c_str(), 2, options, values));
  EXPECT_CUDA(Api().ModuleUnload(module));
  EXPECT_EQ(Api().ModuleLoadDataEx(&module, ptx.c_str(), 2, nullptr, values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().ModuleLoadDataEx(&module, ptx.c_str(), 2, options, nullptr), CUDA_ERROR_INVALID_VALUE);
  options[1] = static_cast<CUjit_option>(777);
  EXPECT_EQ(Api().ModuleLoadDataEx(&module, ptx.c_str(), 2, options, values), CUDA_ERROR_INVALID_VALUE);
  CUjit_option log_options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* log_values[] = {nullptr, reinterpret_cast<void*>(100)};
  EXPECT_EQ(Api().ModuleLoadDataEx(&module, ptx.c_str(), 2, log_options, log_values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().ModuleLoadDataEx(&module, nullptr, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().ModuleLoadDataEx(nullptr, ptx.c_str(), 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ApiModule, FunctionAttributes) {
  struct Expected {
    const char* kernel;
    CUfunction_attribute attribute;
    int value;
  };
  for (auto [kernel, attribute, value] : {Expected{"empty", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
                                          {"wants_64", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 64},
                                          {"at_most_128", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 128},
                                          {"empty", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 0},
                                          {"empty", CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 0},
                                          {"empty", CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 16},
                                          {"empty", CU_FUNC_ATTRIBUTE_PTX_VERSION, 75},
                                          {"empty", CU_FUNC_ATTRIBUTE_BINARY_VERSION, 90},
                                          {"empty", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152}}) {
    int read = -1;
    EXPECT_CUDA(Api().FuncGetAttribute(&read, attribute, Function(kernel)));
    EXPECT_EQ(read, value) << kernel << " " << attribute;
  }
  int value = 0;
  EXPECT_EQ(Api().FuncGetAttribute(&value, static_cast<CUfunction_attribute>(99), Function("empty")),
            CUDA_ERROR_INVALID_VALUE);
  CUfunction empty = Function("empty");
  EXPECT_EQ(Api().FuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().FuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().FuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().FuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
}

TEST_F(ApiModule, OccupancyGivesABlockThatCanBeLaunched) {
  struct Case {
    const char* kernel;
    size_t shared;
    int limit;
  };
  for (auto [kernel, shared, limit] :
       {Case{"empty", 0, 0}, {"empty", 0, 100}, {"empty", 40000, 0}, {"wants_64", 0, 0}, {"at_most_128", 0, 0}}) {
    int grid = 0, block = 0;
    ASSERT_CUDA(Api().OccupancyMaxPotentialBlockSize(&grid, &block, Function(kernel), nullptr, shared, limit));
    EXPECT_EQ(block & (block - 1), 0);
    EXPECT_GT(grid, 0);
    EXPECT_LE(block, limit > 0 ? limit : 1024);
    EXPECT_CUDA(Api().LaunchKernel(Function(kernel), 1, 1, 1, static_cast<unsigned>(block), 1, 1,
                                   static_cast<unsigned>(shared), nullptr, nullptr, nullptr));
  }
  int grid = 0, block = 0;
  // 4 KiB a thread: fewer threads fit.
  ASSERT_CUDA(Api().OccupancyMaxPotentialBlockSize(
      &grid, &block, Function("empty"), [](int size) { return size_t{4096} * static_cast<size_t>(size); }, 0, 0));
  EXPECT_EQ(block, 32);
  EXPECT_EQ(Api().OccupancyMaxPotentialBlockSize(&grid, &block, Function("empty"), nullptr, 1 << 20, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().OccupancyMaxPotentialBlockSize(nullptr, &block, Function("empty"), nullptr, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().CtxSynchronize());
}

}  // namespace
}  // namespace slipway::cpu
