// SLIPWAY_CPU_CHECK=memory: accesses of every kind, space, size and form of execution.
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cpu/check_fixture.h"

namespace slipway::cpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const bool check_is_set = [] {
  setenv("SLIPWAY_CPU_CHECK", "memory", /*overwrite=*/1);
  return true;
}();

constexpr char kDeclarations[] = R"(
.visible .const .align 16 .b8 c[64] = {1, 2, 3, 4};
.visible .global .align 16 .b8 g[64];
)";
constexpr char kRegisters[] = R"(
  .reg .pred %p<3>; .reg .b16 %h<20>; .reg .b32 %r<20>; .reg .b64 %l<20>; .reg .b64 %a, %o, %v;
)";

// What makes %a the first of 64 bytes in a space, and how the PTX names it.
struct Where {
  const char* name;
  const char* space;  // Of the instructions.
  const char* told;   // Of the message.
  const char* declare;
  const char* address;
  bool is_written;
  const char* of;  // What the message says of 64 bytes past it.
};
constexpr Where kWheres[] = {
    {"global", ".global", "global ", "", "mov.u64 %a, %v;", true, "at the end of a 64-byte allocation"},
    {"generic", "", "", "", "mov.u64 %a, %v;", true, "at the end of a 64-byte allocation"},
    {"variable", ".global", "global ", "", "mov.u64 %a, g;", true, "at the end of variable g of 64 bytes"},
    {"constant", ".const", "constant ", "", "mov.u64 %a, c;", false, "at the end of constant c of 64 bytes"},
    {"shared", ".shared", "shared ", ".shared .align 16 .b8 s[64];", "mov.u64 %a, s;", true,
     "at the end of the block's 64 bytes of shared memory"},
    {"generic_shared", "", "", ".shared .align 16 .b8 s[64];", "mov.u64 %a, s; cvta.shared.u64 %a, %a;", true,
     "at the end of the block's 64 bytes of shared memory"},
    {"local", ".local", "local ", ".local .align 16 .b8 d[64];", "mov.u64 %a, d;", true,
     "at the end of local variable d of 64 bytes"},
    {"generic_local", "", "", ".local .align 16 .b8 d[64];", "mov.u64 %a, d; cvta.local.u64 %a, %a;", true,
     "at the end of local variable d of 64 bytes"},
};

// An access at [%a], by its size. For all but ld, % stands for the space.
struct Access {
  const char* text;
  const char* told;
  unsigned bytes;
};
constexpr Access kReads[] = {
    {"ld%.u8 %h0, [%a];", "read", 1},
    {"ld%.b16 %h0, [%a];", "read", 2},
    {"ld%.b32 %r9, [%a];", "read", 4},
    {"ld%.b64 %l9, [%a];", "read", 8},
    {"ld%.v2.u8 {%h0, %h1}, [%a];", "read", 2},
    {"ld%.v4.u8 {%h0, %h1, %h2, %h3}, [%a];", "read", 4},
    {"ld%.v4.b16 {%h0, %h1, %h2, %h3}, [%a];", "read", 8},
    {"ld%.v2.b32 {%r9, %r10}, [%a];", "read", 8},
    {"ld%.v4.b32 {%r9, %r10, %r11, %r12}, [%a];", "read", 16},
    {"ld%.v2.b64 {%l9, %l10}, [%a];", "read", 16},
};
constexpr Access kWrites[] = {
    {"st%.u8 [%a], %h0;", "write", 1},
    {"st%.b16 [%a], %h0;", "write", 2},
    {"st%.b32 [%a], %r9;", "write", 4},
    {"st%.b64 [%a], %l9;", "write", 8},
    {"st%.v4.b32 [%a], {%r9, %r10, %r11, %r12};", "write", 16},
    {"st%.v2.b64 [%a], {%l9, %l10};", "write", 16},
};
constexpr Access kAtomics[] = {
    {"atom%.add.u32 %r9, [%a], 1;", "atomic", 4},    {"red%.add.u32 [%a], 1;", "atomic", 4},
    {"atom%.cas.b64 %l9, [%a], 0, 0;", "atomic", 8}, {"atom%.max.s64 %l9, [%a], 3;", "atomic", 8},
    {"red%.add.f32 [%a], 0f00000000;", "atomic", 4},
};

// How the threads of a kernel get to it.
struct Form {
  const char* name;
  unsigned block[2];
  const char* functions;
  const char* before;    // Of the access, in the kernel.
  const char* calls;     // In its place, if it stands in a function.
  const char* function;  // Whose name is told.
};
constexpr char kAt[] = "@";  // Where a function has the access.
constexpr Form kForms[] = {
    {"loops", {64, 1}, "", "", "", ""},
    {"regions", {64, 1}, "", "bar.sync 0;", "", ""},
    {"rows", {16, 4}, "", "bar.sync 0;", "", ""},
    {"some", {20, 1}, "", "bar.sync 0;", "", ""},
    {"parted",
     {64, 1},
     "",
     "and.b32 %r8, %r2, 1; setp.eq.u32 %p2, %r8, 0; @%p2 bra EVEN; bar.warp.sync 0xaaaaaaaa;\nEVEN:",
     "",
     ""},
    {"function",
     {64, 1},
     ".func f(.param .b64 p)\n{@}\n",
     "",
     "{ .param .b64 p; st.param.b64 [p], %a; call f, (p); }",
     "function f, "},
    {"function_of_regions",
     {64, 1},
     ".func f(.param .b64 p)\n{@}\n",
     "bar.sync 0;",
     "{ .param .b64 p; st.param.b64 [p], %a; call f, (p); }",
     "function f, "},
    {"pointer",
     {64, 1},
     ".func f(.param .b64 p)\n{@}\n.global .u64 table[1] = {f};\n",
     "",
     "ld.global.u64 %l5, [table]; { .param .b64 p; st.param.b64 [p], %a; P: .callprototype _ (.param .b64 _); "
     "call %l5, (p), P; }",
     "function f, "},
    {"function_that_waits",
     {64, 1},
     ".func f(.param .b64 p)\n{@ bar.sync 0; }\n",
     "",
     "{ .param .b64 p; st.param.b64 [p], %a; call f, (p); }",
     ""},
};

std::string Replace(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string WithSpace(const Access& access, const Where& where) {
  std::string text = access.text;
  return text.replace(text.find('%'), 1, where.space);
}

// Thread 17 of block 1 makes the access `wrong` bytes further than the others.
std::string Kernel(const Form& form, const Where& where, const Access& access) {
  const std::string made = WithSpace(access, where);
  const bool in_function = form.calls[0] != '\0';
  return kDeclarations +
         Replace(form.functions, kAt, std::string(kRegisters) + "ld.param.b64 %a, [p];\n" + made + "\n") +
         ".visible .entry k(.param .u64 base, .param .u64 wrong)\n{" + kRegisters + where.declare + R"(
  ld.param.u64 %v, [base]; ld.param.u64 %o, [wrong];
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y;
  mad.lo.u32 %r4, %r3, %r1, %r2; mad.lo.u32 %r4, %r0, 1024, %r4;
  setp.ne.u32 %p0, %r4, 1041; @%p0 mov.u64 %o, 0;
  mov.u32 %r9, 0; mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u64 %l9, 0; mov.u64 %l10, 0; mov.u16 %h0, 0;
)" + where.address +
         "\n" + form.before + "\nadd.s64 %a, %a, %o;\n" + (in_function ? form.calls : made) + "\nret;\n}\n";
}

class CheckAccess : public CheckTest {
 protected:
  void Expect(const Form& form, const Where& where, const Access& access) {
    SCOPED_TRACE(absl::StrCat(form.name, " ", where.name, " ", access.text));
    const std::string text = Kernel(form, where, access);
    const Shape shape{.grid = 2, .block = {form.block[0], form.block[1]}};
    const std::string thread = form.block[1] == 1 ? "(17,0,0)" : "(1,1,0)";
    const std::string place =
        absl::StrCat("\n  kernel k, block (1,0,0), thread ", thread, ", ", form.function, "line ");
    const std::string size = absl::StrCat(where.told, access.told, " of size ", access.bytes, " at 0x");
    CUdeviceptr memory = Allocate(64);
    CUfunction function = Load(text);
    testing::internal::CaptureStderr();
    EXPECT_CUDA(Run(function, shape, memory, uint64_t{0}));
    EXPECT_CUDA(Run(function, shape, memory, uint64_t{64} - access.bytes)) << "the last that there is";
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, function, shape, memory, uint64_t{64}),
                AllOf(HasSubstr("cpu device: invalid " + size), HasSubstr(where.of), HasSubstr(place)));
    if (access.bytes == 1) return;
    memory = Allocate(64);
    function = Load(text);
    const uint64_t off = access.bytes / 2;
    EXPECT_THAT(Told(CUDA_ERROR_MISALIGNED_ADDRESS, function, shape, memory, off),
                AllOf(HasSubstr("cpu device: misaligned " + size),
                      HasSubstr(absl::StrCat(off, off == 1 ? " byte inside " : " bytes inside ")), HasSubstr(place)));
  }
};

const Access& OfSize(const Access* accesses, unsigned bytes) {
  while (accesses->bytes != bytes) ++accesses;
  return *accesses;
}

TEST_F(CheckAccess, ReadsInEverySpaceAndForm) {
  for (const Form& form : kForms) {
    for (const Where& where : kWheres) Expect(form, where, OfSize(kReads, 4));
  }
}

TEST_F(CheckAccess, WritesInEverySpaceAndForm) {
  for (const Form& form : kForms) {
    for (const Where& where : kWheres) {
      if (where.is_written) Expect(form, where, OfSize(kWrites, 8));
    }
  }
}

TEST_F(CheckAccess, EveryReadInEverySpace) {
  for (const Where& where : kWheres) {
    for (const Access& access : kReads) Expect(kForms[0], where, access);
  }
}

TEST_F(CheckAccess, EveryWriteInEverySpace) {
  for (const Where& where : kWheres) {
    if (!where.is_written) continue;
    for (const Access& access : kWrites) Expect(kForms[0], where, access);
  }
}

TEST_F(CheckAccess, Atomics) {
  for (const Where& where : kWheres) {
    if (!where.is_written || std::string(where.name).find("local") != std::string::npos) continue;
    for (const Access& access : kAtomics) {
      Expect(kForms[0], where, access);
      Expect(kForms[1], where, access);
    }
  }
}

// Accesses that name a variable are judged when the kernel is translated.
TEST_F(CheckAccess, VariablesByName) {
  const struct {
    const char* declare;
    const char* access;
    const char* told;  // Null: nothing is wrong.
  } kCases[] = {
      {"", "ld.global.u32 %r1, [g+60];", nullptr},
      {"", "ld.global.u32 %r1, [g+64];", "invalid global read of size 4 at 0x"},
      {"", "ld.global.u32 %r1, [g+-4];", "outside of g of 64 bytes"},
      {"", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [g+56];", "outside of g of 64 bytes"},
      {"", "ld.const.u64 %l1, [c+56];", nullptr},
      {"", "ld.const.u64 %l1, [c+60];", "invalid constant read of size 8 at 0x"},
      {".shared .align 8 .b8 s[24];", "st.shared.u64 [s+16], %l1;", nullptr},
      {".shared .align 8 .b8 s[24];", "st.shared.u64 [s+24], %l1;",
       "invalid shared write of size 8 at 0x18, outside of s of 24 bytes"},
      {".local .align 4 .b8 d[12];", "st.local.u32 [d+8], %r1;", nullptr},
      {".local .align 4 .b8 d[12];", "st.local.u32 [d+12], %r1;", "invalid local write of size 4 at 0x"},
      {"", "ld.param.u32 %r1, [n];", nullptr},
      {".shared .align 1 .b8 s[24];", "ld.shared.u32 %r1, [s+8];", nullptr},
      {".shared .align 4 .b8 s[24];", "ld.shared.u32 %r1, [s+6];",
       "misaligned shared read of size 4 at 0x6, inside s of 24 bytes"},
  };
  for (const auto& test : kCases) {
    for (const char* form : {"", "bar.sync 0;"}) {
      SCOPED_TRACE(absl::StrCat(test.access, form));
      // ptxas refuses what is wrong for sure, so these are not given to it.
      const std::string text = absl::StrCat(".version 8.3\n.target sm_75\n.address_size 64\n", kDeclarations,
                                            ".visible .entry k(.param .u32 n)\n{", kRegisters, test.declare,
                                            "mov.u32 %r1, 0; mov.u64 %l1, 0;", form, test.access, "\nret;\n}\n");
      CUmodule module = nullptr;
      CUfunction function = nullptr;
      ASSERT_CUDA(Api().ModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr)) << text;
      ASSERT_CUDA(Api().ModuleGetFunction(&function, module, "k"));
      if (test.told == nullptr) {
        EXPECT_CUDA(Run(function, {}, 0));
        continue;
      }
      const bool misaligned = std::string(test.told).substr(0, 3) == "mis";
      EXPECT_THAT(Told(misaligned ? CUDA_ERROR_MISALIGNED_ADDRESS : CUDA_ERROR_ILLEGAL_ADDRESS, function, {}, 0),
                  HasSubstr(test.told));
    }
  }
}

TEST_F(CheckAccess, Parameters) {
  // Of a kernel, by an index that is not known before.
  const std::string kernel =
      std::string(".visible .entry k(.param .align 8 .b8 array[32], .param .u64 i, .param .u64 out)\n{") + kRegisters +
      R"(
  mov.b64 %a, array; ld.param.u64 %o, [i]; add.s64 %a, %a, %o; ld.param.u64 %l0, [out];
  ld.param.u32 %r1, [%a]; st.global.u32 [%l0], %r1; ret;
})";
  struct Array {
    uint32_t words[8] = {10, 11, 12, 13, 14, 15, 16, 17};
  };
  CUdeviceptr out = NewWords(1);
  EXPECT_CUDA(Run(Load(kernel), {}, Array{}, uint64_t{28}, uint64_t{out}));
  EXPECT_EQ(ReadWords(out, 1)[0], 17U);
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, Load(kernel), {}, Array{}, uint64_t{48}, uint64_t{out}),
              HasSubstr("invalid parameter read of size 4"));
  // Of a function, through its address.
  const std::string by_value = std::string(R"(
.func (.param .b32 r) f(.param .align 8 .b8 s[16], .param .b64 i)
{)") + kRegisters + R"(
  mov.b64 %a, s; ld.param.b64 %o, [i]; add.s64 %a, %a, %o; ld.param.b32 %r1, [%a]; st.param.b32 [r], %r1; ret;
}
.visible .entry k(.param .u64 i, .param .u64 out)
{)" + kRegisters + R"(
  ld.param.u64 %o, [i]; ld.param.u64 %l0, [out];
  { .param .b32 r; .param .align 8 .b8 s[16]; .param .b64 x; st.param.b64 [s], 7; st.param.b64 [s+8], 9;
    st.param.b64 [x], %o; call (r), f, (s, x); ld.param.b32 %r1, [r]; }
  st.global.u32 [%l0], %r1; ret;
})";
  out = NewWords(1);
  EXPECT_CUDA(Run(Load(by_value), {}, uint64_t{8}, uint64_t{out}));
  EXPECT_EQ(ReadWords(out, 1)[0], 9U);
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, Load(by_value), {}, uint64_t{4096}, uint64_t{out}),
              HasSubstr("function f, line "));
}

// A function may use its caller's local memory, and not after the caller's is gone.
TEST_F(CheckAccess, LocalMemoryOfCallers) {
  const std::string text = std::string(R"(
.func (.param .b64 r) leaks(.param .b64 p)
{)") + kRegisters + R"( .local .align 8 .b8 own[32];
  ld.param.b64 %a, [p]; st.u32 [%a+12], 5; mov.u64 %l0, own; cvta.local.u64 %l0, %l0; st.u32 [%l0], 6;
  st.param.b64 [r], %l0; ret;
}
.visible .entry k(.param .u32 leak, .param .u64 out)
{)" + kRegisters + R"( .local .align 8 .b8 d[16];
  ld.param.u32 %r0, [leak]; ld.param.u64 %v, [out]; mov.u64 %a, d; cvta.local.u64 %a, %a;
  { .param .b64 r; .param .b64 p; st.param.b64 [p], %a; call (r), leaks, (p); ld.param.b64 %l1, [r]; }
  ld.u32 %r1, [%a+12]; st.global.u32 [%v], %r1; setp.eq.u32 %p0, %r0, 0; @%p0 bra DONE;
  ld.u32 %r2, [%l1];
DONE: ret;
})";
  CUdeviceptr out = NewWords(1);
  EXPECT_CUDA(Run(Load(text), {.grid = 1, .block = {32, 1}}, 0U, uint64_t{out}));
  EXPECT_EQ(ReadWords(out, 1)[0], 5U);
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, Load(text), {}, 1U, uint64_t{out}), HasSubstr("invalid read of size 4"));
}

// PTX has no atomic operation on bytes: one is done on the word around it, which may end past an allocation.
TEST_F(CheckAccess, AtomicsMayReachTheEndOfTheLastWord) {
  const auto kernel = [](const char* access) {
    return absl::StrCat(".visible .entry k(.param .u64 p) {", kRegisters, "ld.param.u64 %a, [p];", access, " ret; }");
  };
  const CUdeviceptr bytes = Allocate(6);
  for (const char* access : {"atom.global.cas.b32 %r0, [%a+4], 0, 1;", "atom.global.or.b32 %r0, [%a+4], 1;",
                             "ld.relaxed.gpu.global.u32 %r0, [%a+4];"}) {
    EXPECT_CUDA(Run(Load(kernel(access)), {}, bytes)) << access;
  }
  const std::string plain = Told(CUDA_ERROR_ILLEGAL_ADDRESS, Load(kernel("ld.global.u32 %r0, [%a+4];")), {}, bytes);
  EXPECT_THAT(plain, HasSubstr("invalid global read of size 4"));
  const CUdeviceptr again = Allocate(6);
  const std::string past =
      Told(CUDA_ERROR_ILLEGAL_ADDRESS, Load(kernel("atom.global.or.b32 %r0, [%a+8], 1;")), {}, again);
  EXPECT_THAT(past, HasSubstr("invalid global atomic of size 4"));
}

}  // namespace
}  // namespace slipway::cpu
