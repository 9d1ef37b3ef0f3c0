#include "tests/cpu/api_fixture.h"

#include "tests/assembled.h"

namespace slipway::cpu {

const char* const kTestPtx = R"(
.version 7.8
.target sm_75
.address_size 64

.visible .global .align 4 .u32 counter = 41;
.visible .const .align 8 .b64 table[2] = {5, 6};

.visible .entry empty()
{
  ret;
}

// words[i] = value
.visible .entry store(.param .u64 words, .param .u32 value)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [words];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}

// words[i] += 1 for i < n
.visible .entry add_one(.param .u64 words, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [words];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.u32 %rd2, %r5, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3];
  add.s32 %r7, %r6, 1;
  st.global.u32 [%rd3], %r7;
done:
  ret;
}

// words[i] = i, squared with the number of turns that are left added, `count` times: a kernel that takes long
.visible .entry rounds(.param .u64 words, .param .u32 count)
{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %l<3>;
  ld.param.u64 %l0, [words];
  ld.param.u32 %r0, [count];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.s32 %r1, %r1, %r2, %r3;
  mul.wide.u32 %l1, %r1, 4;
  add.s64 %l2, %l0, %l1;
ROUND:
  mad.lo.s32 %r1, %r1, %r1, %r0;
  add.s32 %r0, %r0, -1;
  setp.ne.s32 %p, %r0, 0;
  @%p bra ROUND;
  st.global.u32 [%l2], %r1;
  ret;
}

// out = a, b's low word, b's high word, c, for parameters at 0, 8, 16 and 24
.visible .entry mixed(.param .u8 a, .param .f64 b, .param .u16 c, .param .u64 out)
{
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u8 %r1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u16 %r2, [c];
  ld.param.u64 %rd1, [out];
  cvt.u32.u64 %r3, %rd2;
  shr.u64 %rd3, %rd2, 32;
  cvt.u32.u64 %r4, %rd3;
  st.global.u32 [%rd1], %r1;
  st.global.u32 [%rd1+4], %r3;
  st.global.u32 [%rd1+8], %r4;
  st.global.u32 [%rd1+12], %r2;
  ret;
}

// Waits until words[0] is not 0, then words[1] = 1
.visible .entry spin(.param .u64 words)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [words];
again:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  mov.u32 %r2, 1;
  st.volatile.global.u32 [%rd1+4], %r2;
  ret;
}

// counter += 1, and the old value to out
.visible .entry count(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u64 %rd2, counter;
  ld.global.u32 %r1, [%rd2];
  st.global.u32 [%rd1], %r1;
  add.s32 %r2, %r1, 1;
  st.global.u32 [%rd2], %r2;
  ret;
}

// out[0] = bits of (a + b), out[1] = bits of (c * d), with nothing flushed
.visible .entry arithmetic(.param .u64 out, .param .f32 a, .param .f32 b, .param .f32 c, .param .f32 d)
{
  .reg .f32 %f<7>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  ld.param.f32 %f1, [a];
  ld.param.f32 %f2, [b];
  ld.param.f32 %f3, [c];
  ld.param.f32 %f4, [d];
  add.rn.f32 %f5, %f1, %f2;
  mul.rn.f32 %f6, %f3, %f4;
  st.global.f32 [%rd1], %f5;
  st.global.f32 [%rd1+4], %f6;
  ret;
}

.visible .entry trapper()
{
  trap;
  ret;
}

.visible .entry wants_64() .reqntid 64, 1, 1
{
  ret;
}

.visible .entry at_most_128() .maxntid 128, 1, 1
{
  ret;
}
)";

void ApiTest::SetUp() {
  ASSERT_CUDA(Api().Init(0));
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&context_, 0));
  ASSERT_CUDA(Api().CtxPushCurrent(context_));
  module_ = nullptr;
  functions_.clear();
}

void ApiTest::TearDown() {
  CUcontext popped = nullptr;
  EXPECT_CUDA(Api().CtxPopCurrent(&popped));
  EXPECT_CUDA(Api().DevicePrimaryCtxRelease(0));
}

CUmodule ApiTest::LoadModule(const std::string& ptx) {
  CUmodule module = nullptr;
  EXPECT_CUDA(Api().CtxPushCurrent(context_));
  EXPECT_CUDA(Api().ModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr));
  EXPECT_CUDA(Api().CtxPopCurrent(nullptr));
  AssembleAfterTests(ptx);
  return module;
}

CUmodule ApiTest::Module() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (module_ == nullptr) module_ = LoadModule(kTestPtx);
  return module_;
}

CUfunction ApiTest::Function(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  CUfunction& function = functions_[name];
  if (function != nullptr) return function;
  // The text is the header, the variables, and a paragraph a kernel.
  const std::string text = kTestPtx;
  size_t variables_end = text.find("\n\n", text.find("table"));
  size_t entry = text.find(".visible .entry " + name + "(");
  EXPECT_NE(entry, std::string::npos) << name;
  std::string ptx = text.substr(0, variables_end + 1) + text.substr(entry, text.find("\n}\n", entry) + 3 - entry);
  EXPECT_CUDA(Api().ModuleGetFunction(&function, LoadModule(ptx), name.c_str()));
  return function;
}

CUstream ApiTest::NewStream(unsigned flags) {
  CUstream stream = nullptr;
  EXPECT_CUDA(Api().StreamCreateWithPriority(&stream, flags, 0));
  return stream;
}

CUevent ApiTest::NewEvent(unsigned flags) {
  CUevent event = nullptr;
  EXPECT_CUDA(Api().EventCreate(&event, flags));
  return event;
}

CUdeviceptr ApiTest::NewWords(size_t count) {
  CUdeviceptr address = 0;
  EXPECT_CUDA(Api().MemAlloc(&address, count * 4));
  // Through a stream of its own: the default one would wait for what a test has queued.
  CUstream stream = NewStream();
  EXPECT_CUDA(Api().MemsetD8Async(address, 0, count * 4, stream));
  EXPECT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_CUDA(Api().StreamDestroy(stream));
  return address;
}

std::vector<uint32_t> ApiTest::ReadWords(CUdeviceptr address, size_t count) {
  std::vector<uint32_t> words(count);
  EXPECT_CUDA(Api().MemcpyDtoH(words.data(), address, count * 4));
  return words;
}

volatile uint32_t* ApiTest::NewFlag() {
  void* memory = nullptr;
  EXPECT_CUDA(Api().MemAllocHost(&memory, 2 * sizeof(uint32_t)));
  std::memset(memory, 0, 2 * sizeof(uint32_t));
  return static_cast<volatile uint32_t*>(memory);
}

}  // namespace slipway::cpu
