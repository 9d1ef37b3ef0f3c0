// Several PTX texts as one.
#include "driver/ptx/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "slipway/module.h"
#include "tests/assembled.h"
#include "tests/modules/linked_ptx.h"

namespace slipway {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

absl::StatusOr<std::string> Join(const std::vector<std::string>& texts) {
  std::vector<LinkInput> inputs;
  for (size_t i = 0; i < texts.size(); ++i) inputs.push_back({absl::StrCat(std::string(1, 'a' + i), ".ptx"), texts[i]});
  return JoinPtx(inputs);
}
// What ptxas takes, too.
std::string Joined(const std::vector<std::string>& texts) {
  const absl::StatusOr<std::string> joined = Join(texts);
  EXPECT_TRUE(joined.ok()) << joined.status();
  if (!joined.ok()) return "";
  AssembleAfterTests(*joined);
  return *joined;
}
std::string Refusal(const std::vector<std::string>& texts) {
  const absl::StatusOr<std::string> joined = Join(texts);
  EXPECT_EQ(joined.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(joined.status().message());
}

constexpr char kTwice[] = R"(
.visible .func (.param .b32 r) f (.param .b32 a) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [a];
  add.u32 %r2, %r1, %r1;
  st.param.b32 [r], %r2;
  ret;
})";

TEST(JoinTest, ADeclarationGivesWayToTheDefinition) {
  for (const auto& texts : {std::vector{Ptx(kCaller), Ptx(kTwice)}, std::vector{Ptx(kTwice), Ptx(kCaller)}}) {
    const std::string joined = Joined(texts);
    EXPECT_THAT(joined, AllOf(Not(HasSubstr(".extern")), Not(HasSubstr(".visible .func")),
                              HasSubstr(".visible .entry call_f")));
  }
}

TEST(JoinTest, TheNewestVersionAndTargetAreThoseOfTheWhole) {
  const std::string joined = Joined({Ptx(kCaller, "7.8", "sm_75"), Ptx(kTwice, "7.0", "sm_80")});
  EXPECT_THAT(joined, HasSubstr(".version 7.8\n.target sm_80\n.address_size 64\n"));
  EXPECT_THAT(Joined({Ptx(kCaller, "8.0", "sm_90a"), Ptx(kTwice, "8.0", "sm_90")}), HasSubstr(".target sm_90a\n"));
  EXPECT_THAT(Refusal({Ptx(kCaller, "8.6", "sm_100"), Ptx(kTwice, "8.0", "sm_90a")}),
              HasSubstr("b.ptx is for sm_90a alone, a.ptx for sm_100: they cannot be linked"));
}

TEST(JoinTest, NamesThatAreLocalToATextStayApart) {
  const std::string local = R"(
.global .align 4 .b32 state = 3;
.func (.param .b32 r) helper () { .reg .b32 %r<2>; ld.global.u32 %r1, [state]; st.param.b32 [r], %r1; ret; }
.visible .entry NAME(.param .u64 p) {
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  { .param .b32 r0; call.uni (r0), helper, (); ld.param.b32 %r2, [r0]; }
  ld.param.u64 %rd1, [p];
  st.global.u32 [%rd1], %r2;
  ret;
})";
  std::vector<std::string> texts;
  for (const char* name : {"one", "two", "three"}) {
    std::string text = local;
    text.replace(text.find("NAME"), 4, name);
    texts.push_back(Ptx(text));
  }
  const std::string joined = Joined(texts);
  EXPECT_THAT(joined, AllOf(HasSubstr("helper$1"), HasSubstr("state$1"), HasSubstr("helper$2"), HasSubstr("state$2")));
}

TEST(JoinTest, VariablesComeBeforeWhatUsesThem) {
  const std::string use = R"(
.extern .global .align 4 .b8 table[16];
.extern .const .align 4 .f32 scale;
.visible .global .align 8 .u64 address = generic(table);
.visible .entry k(.param .u64 p) { .reg .f32 %f<2>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; ld.const.f32 %f1, [scale]; st.global.f32 [%rd1], %f1; ld.global.f32 %f1, [table+4]; ret; })";
  const std::string define = R"(
.visible .global .align 4 .b8 table[16] = {1, 0, 0, 0};
.visible .const .align 4 .f32 scale = 0f40000000;
)";
  const std::string joined = Joined({Ptx(use), Ptx(define)});
  EXPECT_THAT(joined, Not(HasSubstr(".extern")));
  EXPECT_LT(joined.find(".b8 table[16]"), joined.find("generic(table)"));
}

TEST(JoinTest, OfWeakDefinitionsTheFirstIsKept) {
  std::string weak(kTwice);
  weak.replace(weak.find(".visible"), 8, ".weak");
  std::string other = weak;
  other.replace(other.find("add.u32"), 7, "mul.lo.u32");
  EXPECT_THAT(Joined({Ptx(kCaller), Ptx(weak), Ptx(other)}), AllOf(HasSubstr("add.u32"), Not(HasSubstr("mul.lo"))));
  // A definition that is not weak counts more.
  EXPECT_THAT(Joined({Ptx(kCaller), Ptx(other), Ptx(kTwice)}), AllOf(HasSubstr("add.u32"), Not(HasSubstr("mul.lo"))));
}

TEST(JoinTest, DriversFunctionsAndDynamicSharedMemoryNeedNoDefinition) {
  const std::string text = R"(
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.extern .shared .align 16 .b8 dynamic[];
.global .align 1 .b8 $str[3] = {104, 105, 0};
.visible .entry NAME() {
  .reg .b32 %r<2>; .reg .b64 %rd<3>;
  mov.u64 %rd1, $str; cvta.global.u64 %rd2, %rd1;
  { .param .b64 f0; .param .b64 a0; .param .b32 r0; st.param.b64 [f0], %rd2; st.param.b64 [a0], 0; call.uni (r0), vprintf, (f0, a0); ld.param.b32 %r1, [r0]; }
  st.shared.u32 [dynamic], %r1;
  ret;
})";
  std::string one = text, two = text;
  one.replace(one.find("NAME"), 4, "one");
  two.replace(two.find("NAME"), 4, "two");
  const std::string joined = Joined({Ptx(one), Ptx(two)});
  EXPECT_EQ(joined.find(".extern .func"), joined.rfind(".extern .func"));
}

TEST(JoinTest, FilesAndLinesKeepTheirPlaces) {
  std::string one = absl::StrCat("\n.file 1 \"one.cu\"\n.file 2 \"both.h\"", kCaller);
  one.replace(one.find("  mov.u32"), 0, ".loc 1 7 3\n");
  std::string two = absl::StrCat("\n.file 1 \"both.h\"\n.file 2 \"two.cu\"", kTwice);
  two.replace(two.find("  add.u32"), 0, ".loc 2 9 1, function_name $L__info_string0, inlined_at 1 3 5\n");
  const std::string joined = Joined({Ptx(one), Ptx(two)});
  EXPECT_THAT(joined, AllOf(HasSubstr(".file 1 \"one.cu\"\n.file 2 \"both.h\"\n.file 3 \"two.cu\"\n"),
                            HasSubstr(".loc 1 7 3\n"), HasSubstr(".loc 3 9 1\n"), Not(HasSubstr("inlined_at"))));
}

TEST(JoinTest, WhatDoesNotFitTogether) {
  EXPECT_THAT(
      Refusal({Ptx(kCaller)}),
      HasSubstr("'f' is not defined: kernel 'call_f' of a.ptx uses it (declared in line 5) and nothing is linked with "
                "it; names of C++ functions are mangled unless they are extern \"C\""));
  EXPECT_THAT(Refusal({Ptx(kCaller), Ptx("")}), HasSubstr("and no other text has it"));
  EXPECT_THAT(Refusal({Ptx(kTwice), Ptx(kTwice)}),
              HasSubstr("'f' is defined twice: in a.ptx, line 5, and in b.ptx, line 5"));
  std::string other(kTwice);
  other.replace(other.find(".param .b32 a"), 13, ".param .b64 a");
  EXPECT_THAT(Refusal({Ptx(kCaller), Ptx(other)}),
              HasSubstr("'f' is declared otherwise than it is defined: a.ptx has '.func (.param .b32 r) f "
                        "(.param .b32 a)', and b.ptx '.func (.param .b32 r) f (.param .b64 a)'"));
  // As nvlink does: "Prototype doesn't match".
  EXPECT_THAT(Refusal({Ptx(kCaller), Ptx(".visible .func f (.param .b32 a) { ret; }")}),
              HasSubstr("'f' is declared otherwise than it is defined: a.ptx has '.func (.param .b32 r) f "
                        "(.param .b32 a)', and b.ptx '.func f (.param .b32 a)'"));
  EXPECT_THAT(Refusal({Ptx(".extern .global .align 4 .f32 x; .visible .entry k() { .reg .f32 %f<2>; ld.global.f32 "
                           "%f1, [x]; ret; }"),
                       Ptx(".visible .global .align 8 .f64 x;")}),
              HasSubstr("'x' is declared otherwise than it is defined"));
  EXPECT_THAT(Refusal({"int f;"}), HasSubstr("a.ptx: line 1: expected a directive, got 'int'"));
  EXPECT_THAT(Refusal({Ptx(".visible .func f( {")}), HasSubstr("a.ptx: line 4: "));
  EXPECT_THAT(Refusal({}), HasSubstr("there is nothing to link"));
  EXPECT_THAT(Refusal({Ptx(".visible .global .f32 x, y;")}), HasSubstr("several variables in one declaration"));
  EXPECT_THAT(Refusal({".version 7.0\n"}), HasSubstr("a.ptx: line 1: no .target directive"));
  EXPECT_THAT(Refusal({".version 7.0\n.target sm_75\n.address_size 32"}), HasSubstr("64, the only size of addresses"));
}

// A declaration that nothing uses is no mistake: compilers leave them behind.
TEST(JoinTest, WhatIsNotUsedNeedNotBeThere) {
  EXPECT_THAT(Joined({Ptx(".extern .func g (.param .b32 a);\n"), Ptx(absl::StrCat(kCaller, kTwice))}),
              Not(HasSubstr("g (")));
}

// The text cut at every length is refused or joined, and nothing is read behind it.
TEST(JoinTest, CutOffAtEveryLength) {
  const std::string whole = Ptx(absl::StrCat("\n.file 1 \"a.cu\"", kCaller));
  for (size_t size = 0; size < whole.size(); ++size) {
    static_cast<void>(Join({std::string(whole.data(), size), Ptx(kTwice)}));
  }
}

}  // namespace
}  // namespace slipway
