// Calls through registers, addresses of functions, linkage within a module, and what functions declare outside
// themselves.
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/cpu/ptx_kernel.h"

namespace slipway::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTwoFunctions[] = R"(
  .visible .func (.param .b32 r) plus_one(.param .b32 x)
  { .reg .b32 %r<2>; ld.param.b32 %r0, [x]; add.s32 %r1, %r0, 1; st.param.b32 [r], %r1; ret; }
  .visible .func (.param .b32 r) twice(.param .b32 x)
  { .reg .b32 %r<2>; ld.param.b32 %r0, [x]; shl.b32 %r1, %r0, 1; st.param.b32 [r], %r1; ret; }
)";

// %l4 holds a function of one b32: %d = f(%i).
constexpr char kCallL4[] = R"(
  { .param .b32 a; .param .b32 r; st.param.b32 [a], %i;
    P: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r), %l4, (a), P; ld.param.b32 %d, [r]; })";

TEST(PtxCalls, ThroughATableOfFunctions) {
  const auto program = LoadOrDie(
      ElementKernel(R"(
    and.b32 %r3, %i, 1; mul.wide.u32 %l3, %r3, 8; mov.u64 %l4, table; add.s64 %l4, %l4, %l3; ld.global.u64 %l4, [%l4];)" +
                        std::string(kCallL4),
                    "b32", std::string(kTwoFunctions) + ".global .align 8 .u64 table[2] = {plus_one, twice};\n"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 6, 0, 1, 8), ElementsAre(1, 2, 3, 6, 5, 10));
}

TEST(PtxCalls, ThroughAnAddressInARegister) {
  const auto program = LoadOrDie(ElementKernel(R"(
    mov.u64 %l5, plus_one; mov.u64 %l6, twice; setp.lt.s32 %p1, %i, 2; selp.b64 %l4, %l5, %l6, %p1;)" +
                                                   std::string(kCallL4),
                                               "b32", kTwoFunctions));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 4, 0, 1, 4), ElementsAre(1, 2, 4, 6));
}

TEST(PtxCalls, ThroughAListOfTargets) {
  const auto program = LoadOrDie(ElementKernel(R"(
    T: .calltargets plus_one, twice;
    mov.u64 %l4, twice;
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %i; call (r), %l4, (a), T; ld.param.b32 %d, [r]; })",
                                               "b32", kTwoFunctions));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 3, 0, 1, 4), ElementsAre(0, 2, 4));
}

TEST(PtxCalls, ThroughARegisterInAFunctionThatWaits) {  // Its body stands twice in the kernel then.
  const auto program = LoadOrDie(ElementKernel(R"(
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %i; call (r), twice_over, (a); ld.param.b32 %r3, [r]; }
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %r3; call (r), twice_over, (a); ld.param.b32 %d, [r]; })",
                                               "b32", std::string(kTwoFunctions) + R"(
    .func (.param .b32 r) twice_over(.param .b32 x)
    {
      .reg .b32 %r<4>; .reg .b64 %l; .reg .pred %p;
      ld.param.b32 %r0, [x]; bar.sync 0; mov.u64 %l, twice;
      setp.eq.s32 %p, %r0, 99; @%p mov.u64 %l, plus_one;
      { .param .b32 a; .param .b32 q; st.param.b32 [a], %r0;
        P: .callprototype (.param .b32 _) _ (.param .b32 _);
        call (q), %l, (a), P; ld.param.b32 %r1, [q]; }
      st.param.b32 [r], %r1; ret;
    })"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 4, 0, 1, 4), ElementsAre(0, 4, 8, 12));
}

TEST(PtxCalls, AnAddressIsANumberThatTravels) {  // From one launch to the next, through memory of the host.
  const std::string store = ElementKernel("mov.u64 %d, twice;", "b64", kTwoFunctions);
  const std::string use = ElementKernel("mov.u64 %l4, %u;" + std::string(kCallL4), "b32");
  const auto program = LoadOrDie(store + ".visible .entry use" + use.substr(use.find("k(") + 1));
  uint64_t address = 0;
  uint32_t out[3] = {};
  struct alignas(16) {
    void* out;
    uint64_t parameter;
    uint32_t n;
  } params{&address, 0, 1};
  CpuLaunch launch;
  launch.params = reinterpret_cast<const std::byte*>(&params);
  program->FindKernel("k")->run(&launch, 0, 1, nullptr);
  EXPECT_TRUE(program->ContainsCode(reinterpret_cast<const void*>(address)));
  params = {out, address, 3};
  launch.block[0] = 3;
  program->FindKernel("use")->run(&launch, 0, 1, nullptr);
  EXPECT_THAT(out, ElementsAre(0, 2, 4));
}

TEST(PtxCalls, StructsByValueAndSeveralResults) {
  const auto program = LoadOrDie(ElementKernel(R"(
    { .param .align 8 .b8 s[16]; .reg .b32 %q, %m;
      cvt.u64.u32 %l3, %i; st.param.b64 [s], %l3; st.param.b32 [s+8], 10;
      call.uni (%q, %m), divide, (s, 3);
      mad.lo.s32 %d, %q, 100, %m; })",
                                               "b32", R"(
    .func (.reg .b32 q, .reg .b32 m) divide(.param .align 8 .b8 s[16], .reg .b32 by)
    {
      .reg .b64 %l; .reg .b32 %r<4>;
      ld.param.b64 %l, [s]; ld.param.b32 %r0, [s+8]; cvt.u32.u64 %r1, %l; add.s32 %r1, %r1, %r0;
      div.u32 q, %r1, by; rem.u32 m, %r1, by; ret;
    })"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 4, 0, 1, 4), ElementsAre(301, 302, 400, 401));
}

TEST(PtxCalls, AliasesAndWeakDefinitions) {
  const auto program = LoadOrDie(ElementKernel(R"(
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %i; call (r), other, (a); ld.param.b32 %d, [r]; }
    mov.u64 %l3, other; mov.u64 %l4, plus_one; setp.ne.s64 %p1, %l3, %l4; @%p1 mov.u32 %d, 99;)",
                                               "b32", std::string(kTwoFunctions) + R"(
    .visible .func (.param .b32 r) other(.param .b32 x);
    .alias other, plus_one;
  )"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 3, 0, 1, 4), ElementsAre(1, 2, 3));
}

TEST(PtxCalls, AWeakDefinitionGivesWay) {  // ptxas takes one definition a module, so these are not assembled.
  const std::string weak = ".weak .func (.param .b32 r) f(.param .b32 x) { st.param.b32 [r], 1; ret; }\n";
  const std::string strong = ".visible .func (.param .b32 r) f(.param .b32 x) { st.param.b32 [r], 2; ret; }\n";
  const std::string kernel =
      ElementKernel("{ .param .b32 a; .param .b32 r; st.param.b32 [a], %i; call (r), f, (a); ld.param.b32 %d, [r]; }");
  for (const std::string& text : {weak + strong, strong + weak}) {
    const auto program = Program::Load(kHeader + text + kernel);
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_THAT(RunKernel<uint32_t>(**program, 1, 0, 1, 1), ElementsAre(2));
  }
  const auto program = Program::Load(kHeader + weak + weak + kernel);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(RunKernel<uint32_t>(**program, 1, 0, 1, 1), ElementsAre(1));
}

TEST(PtxCalls, VariablesDeclaredElsewhereInTheModule) {
  const auto program = LoadOrDie(ElementKernel("ld.global.u32 %r3, [cell]; add.u32 %d, %i, %r3;", "b32",
                                               ".extern .global .align 4 .u32 cell;\n"
                                               ".visible .global .align 4 .u32 cell = 40;\n"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 2, 0, 1, 2), ElementsAre(40, 41));
  ASSERT_NE(program->FindGlobal("cell"), nullptr);
  EXPECT_EQ(program->globals().size(), 1U);
}

TEST(PtxCalls, VariablesThatFunctionsDeclare) {  // Static ones: one for all calls, whatever else has their name.
  const auto program = LoadOrDie(ElementKernel(R"(
    .global .align 4 .u32 count = 100; .const .align 4 .u32 step[2] = {5, 7}; .global .align 8 .u64 at = count;
    atom.global.add.u32 %r3, [count], 1;
    ld.global.u64 %l3, [at]; ld.global.u32 %r4, [%l3]; sub.u32 %r4, %r4, %r3;
    ld.const.u32 %r5, [step+4];
    { .param .b32 r; call (r), next; ld.param.b32 %d, [r]; }
    mad.lo.u32 %d, %d, 1000, %r3; mad.lo.u32 %d, %r5, 100000, %d; mad.lo.u32 %d, %r4, 1000000, %d;)",
                                               "b32", R"(
    .global .align 4 .u32 count = 7;
    .func (.param .b32 r) next()
    { .reg .b32 %r<2>; .global .align 4 .u32 count; atom.global.add.u32 %r0, [count], 2; st.param.b32 [r], %r0; ret; }
  )"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 3, 0, 1, 3), ElementsAre(1700100, 1702101, 1704102));
}

TEST(PtxCalls, SharedMemoryThatADeviceFunctionDeclares) {
  const auto program = LoadOrDie(ElementKernel(R"(
    .shared .align 4 .u32 mine; st.shared.u32 [mine], 5;
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %i; call (r), swap, (a); ld.param.b32 %d, [r]; }
    ld.shared.u32 %r3, [mine]; mad.lo.u32 %d, %r3, 100, %d;)",
                                               "b32", R"(
    .func (.param .b32 r) swap(.param .b32 x)
    { .reg .b32 %r<2>; .shared .align 4 .u32 last; ld.param.b32 %r0, [x];
      atom.shared.exch.b32 %r1, [last], %r0; st.param.b32 [r], %r0; ret; }
  )"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 3, 0, 1, 3), ElementsAre(500, 501, 502));
  EXPECT_EQ(program->kernels()[0].shared_bytes, 8U);
}

TEST(PtxCalls, AddressesInInitialValues) {  // Byte by byte, as of a packed struct; of constants and functions.
  const auto program = LoadOrDie(ElementKernel(R"(
    ld.global.u64 %l3, [whole]; mov.u64 %l4, bytes; mov.u64 %l5, 0; mov.u32 %r3, 0;
    LOOP: cvt.u64.u32 %l6, %r3; add.s64 %l6, %l6, %l4; ld.global.u8 %l7, [%l6]; shl.b32 %r4, %r3, 3;
    shl.b64 %l7, %l7, %r4; or.b64 %l5, %l5, %l7; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 8; @%p1 bra LOOP;
    sub.s64 %l5, %l5, %l3; cvt.u32.u64 %d, %l5;)",
                                               "b32", R"(
    .global .align 4 .u32 cells[4];
    .global .align 8 .u64 whole = cells;
    .global .align 1 .u8 bytes[8] = {0xff(generic(cells)+4), 0xff00(generic(cells)+4), 0xff0000(generic(cells)+4),
      0xff000000(generic(cells)+4), 0xff00000000(generic(cells)+4), 0xff0000000000(generic(cells)+4),
      0xff000000000000(generic(cells)+4), 0xff00000000000000(generic(cells)+4)};
  )"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 1, 0, 1, 1), ElementsAre(4));
}

TEST(PtxCalls, ExitInsideAFunctionEndsTheThread) {
  const auto program = LoadOrDie(ElementKernel(R"(
    mov.u64 %l4, leave;
    st.global.u32 [%to], 7;
    { .param .b32 a; st.param.b32 [a], %i; P: .callprototype _ (.param .b32 _); call %l4, (a), P; }
    mov.u32 %d, 8;)",
                                               "b32", R"(
    .func leave(.param .b32 x)
    { .reg .pred %p; .reg .b32 %r; ld.param.b32 %r, [x]; setp.eq.s32 %p, %r, 1; @%p exit; ret; })"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 3, 0, 1, 4), ElementsAre(8, 7, 8));
}

struct Refused {
  const char* name;
  std::string text;
  const char* message;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};
class PtxCallsRefused : public ::testing::TestWithParam<Refused> {};
TEST_P(PtxCallsRefused, SaysLineAndReason) {
  const auto program = Program::Load(kHeader + GetParam().text);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), GetParam().code) << program.status();
  EXPECT_THAT(std::string(program.status().message()), HasSubstr(GetParam().message));
}
std::string Body(const std::string& text) { return ".entry k()\n{\n.reg .b64 %l<3>;\n" + text + "\n}\n"; }
constexpr absl::StatusCode kUnimplemented = absl::StatusCode::kUnimplemented;
const Refused kRefused[] = {
    {"NoPrototype", Body("call %l1, ();"),
     "line 7: call: expected a .callprototype or .calltargets after the arguments"},
    {"UnknownPrototype", Body("call %l1, (), P;"), "'P' is no .callprototype or .calltargets of this function"},
    {"UnknownTarget", Body("P: .calltargets f; call %l1, (), P;"), "'f' is not declared"},
    {"WrongArguments", Body("P: .callprototype _ (.param .b32 _); call %l1, (), P;"),
     "'%l1' takes 1 arguments and gives 0 results, not 0 and 0"},
    {"AddressOfAKernel", Body("mov.u64 %l1, k;"), "line 7: mov.u64: the address of kernel 'k'", kUnimplemented},
    {"AddressOfAnExternFunction", ".extern .func f();\n" + Body("mov.u64 %l1, f;"),
     "mov.u64: 'f' has no body in this module", kUnimplemented},
    {"AddressOfAFunctionThatWaits", ".func f() { bar.sync 0; ret; }\n" + Body("mov.u64 %l1, f;"),
     "line 8: mov.u64: 'f': a function in which threads wait for each other has no address; call it by name",
     kUnimplemented},
    {"InitialAddressOfAFunctionThatWaits", ".func f() { bar.sync 0; ret; }\n.global .u64 a = f;\n" + Body("ret;"),
     "line 4: 'f': a function in which threads wait for each other has no address; call it by name", kUnimplemented},
    {"AliasOfNothing", ".alias a, b;\n", "line 4: .alias a: 'b' is no function that this module defines"},
    {"AliasOfAKernel", ".alias a, k;\n" + Body("ret;"), "'k' is no function that this module defines"},
    {"FunctionTwice", ".func f() { ret; }\n.func f() { ret; }\n", "line 5: 'f' is defined twice"},
    {"VariableTwice", ".global .u32 a;\n.global .u32 a;\n", "line 5: 'a' is defined twice"},
    {"StaticTwice", Body(".global .u32 a;\n.global .u32 a;"), "line 8: 'a' is declared twice"},
    {"InitialAddressOfNothing", ".global .u64 a = nothing;\n",
     "line 4: an initial value is the address of 'nothing', which is no global variable or device function",
     kUnimplemented},
    {"InitialAddressOfAKernel", ".global .u64 a = k;\n" + Body("ret;"),
     "the address of 'k', which is no global variable or device function of this module", kUnimplemented},
    {"NarrowInitialAddress", ".global .u32 a;\n.global .u32 b = a;\n",
     "line 5: an address in an element that is not 64 bits wide"},
    {"WideMaskedAddress", ".global .u32 a;\n.global .u64 b = 0xff(a);\n",
     "line 5: a masked address in an element that is not 8 bits wide"},
    {"BadMask", ".global .u32 a;\n.global .u8 b = 0xf0(a);\n",
     "line 5: a mask that is not 0xff, 0xff00 and so on to 0xff00000000000000"},
    {"VprintfOfOneParameter",
     ".extern .func (.param .b32 r) vprintf(.param .b64 f);\n" +
         Body(".param .b32 r; .param .b64 f; call (r), vprintf, (f);"),
     "call: 'vprintf' has 2 parameters and 1 results; it is declared with 1 and 1"},
    {"SystemCallThatIsNone",
     ".extern .func (.param .b32 r) cudaDeviceSynchronize();\n" +
         Body(".param .b32 r; call (r), cudaDeviceSynchronize;"),
     "line 8: call: 'cudaDeviceSynchronize' has no body in this module", kUnimplemented},
};
INSTANTIATE_TEST_SUITE_P(All, PtxCallsRefused, ::testing::ValuesIn(kRefused),
                         [](const auto& info) { return info.param.name; });

// What a kernel does through the functions that it calls.
struct Use {
  const char* name;
  const char* functions;  // After `kDeclared`; the kernel calls `f`, which is among them.
  bool prints, allocates, recurses;
};
class PtxUse : public ::testing::TestWithParam<Use> {};
TEST_P(PtxUse, IsKnown) {
  const auto program = LoadOrDie(std::string(R"(
    .extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
    .extern .func (.param .b64 r) malloc(.param .b64 bytes);
    .extern .func free(.param .b64 p);
    )") + GetParam().functions + ".visible .entry k() { call f; ret; } .visible .entry nothing() { ret; }");
  const CpuKernel& kernel = *program->FindKernel("k");
  EXPECT_EQ(kernel.prints, GetParam().prints);
  EXPECT_EQ(kernel.allocates, GetParam().allocates);
  EXPECT_EQ(kernel.recurses, GetParam().recurses);
  const CpuKernel& nothing = *program->FindKernel("nothing");
  EXPECT_FALSE(nothing.prints || nothing.allocates || nothing.recurses);
}
constexpr char kFrees[] =
    ".func g() { .reg .b64 %l; mov.u64 %l, 0; { .param .b64 p; st.param.b64 [p], %l; call free, (p); } ret; }\n";
const std::string kFreesFurtherOn = std::string(kFrees) + ".func f() { call g; call g; ret; }";
const std::string kThroughARegister = std::string(kFrees) + R"(
    .func f() { .reg .b64 %l; mov.u64 %l, g; P: .callprototype _ (); call %l, P; ret; })";
const Use kUses[] = {
    {"Nothing", ".func g() { ret; } .func f() { call g; call g; ret; }", false, false, false},
    {"Prints", R"(.func f() { .reg .b64 %l; mov.u64 %l, 0;
        { .param .b32 r; .param .b64 x; .param .b64 y; st.param.b64 [x], %l; st.param.b64 [y], %l;
          call (r), vprintf, (x, y); } ret; })",
     true, false, false},
    {"Allocates", R"(.func f() { .reg .b64 %l; mov.u64 %l, 8;
        { .param .b64 r; .param .b64 x; st.param.b64 [x], %l; call (r), malloc, (x); } ret; })",
     false, true, false},
    {"FreesFurtherOn", kFreesFurtherOn.c_str(), false, true, false},
    {"CallsItself", ".func f() { call f; ret; }", false, false, true},
    {"CallsInACircle", ".func g(); .func f() { call g; ret; } .func g() { call f; ret; }", false, false, true},
    // Any function may be meant, this one, too.
    {"ThroughARegister", kThroughARegister.c_str(), false, true, true},
};
INSTANTIATE_TEST_SUITE_P(Kinds, PtxUse, ::testing::ValuesIn(kUses),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace slipway::cpu
