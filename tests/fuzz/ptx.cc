#include "tests/fuzz/ptx.h"

#include "driver/cpu/translate/instructions.h"

namespace slipway::fuzz {
namespace {

using Group = std::vector<std::string_view>;

// Those of the translator's table, and those that it treats by themselves or refuses.
Group Opcodes() {
  Group opcodes = {"bar",       "barrier",   "shfl",  "vote", "match",    "redux",    "elect",    "activemask",
                   "nanosleep", "cp",        "mma",   "wmma", "ldmatrix", "tex",      "suld",     "mapa",
                   "alloca",    "stacksave", "wgmma", "vadd", "tcgen05",  "mbarrier", "multimem", "griddepcontrol"};
  for (const auto family : {cpu::ArithmeticInstructions(), cpu::BitInstructions(), cpu::FloatInstructions(),
                            cpu::ComparisonInstructions(), cpu::ConversionInstructions(), cpu::MemoryInstructions(),
                            cpu::AtomicInstructions(), cpu::VideoInstructions(), cpu::ControlInstructions()}) {
    for (const cpu::InstructionRow& row : family) opcodes.push_back(row.opcode);
  }
  return opcodes;
}

}  // namespace

Vocabulary PtxVocabulary() {
  return {
      .groups =
          {
              Opcodes(),
              {".pred",   ".b8",     ".b16",    ".b32",   ".b64",    ".b128",   ".u8",    ".u16",
               ".u32",    ".u64",    ".s8",     ".s16",   ".s32",    ".s64",    ".f16",   ".f32",
               ".f64",    ".bf16",   ".tf32",   ".f16x2", ".bf16x2", ".u16x2",  ".s16x2", ".f32x2",
               ".e4m3x2", ".e5m2x2", ".e2m1x2", ".u8x4",  ".s2f6x2", ".ue8m0x2"},
              {".param", ".local", ".shared", ".global", ".const", ".shared::cta", ".shared::cluster", ".param::entry",
               ".param::func", ".reg"},
              {".rn", ".rz", ".rm", ".rp", ".rni", ".rzi", ".rmi", ".rpi", ".rna", ".rs"},
              {".sat", ".satfinite", ".ftz", ".noftz", ".relu", ".NaN", ".abs", ".xorsign", ".approx", ".full", ".cc"},
              {".lo", ".hi", ".wide", ".clamp", ".wrap", ".shiftamt", ".l", ".r", ".mode"},
              {".eq", ".ne", ".lt", ".le", ".gt", ".ge", ".lo", ".ls", ".hi", ".hs", ".equ", ".neu", ".ltu", ".leu",
               ".gtu", ".geu", ".num", ".nan"},
              {".and", ".or", ".xor", ".add", ".min", ".max", ".inc", ".dec", ".exch", ".cas", ".popc"},
              {".v2", ".v4", ".v8"},
              {".relaxed", ".acquire", ".release", ".acq_rel", ".weak", ".volatile", ".mmio", ".sc"},
              {".cta", ".cluster", ".gpu", ".sys", ".gl"},
              {".sync", ".arrive", ".red", ".aligned", ".warp", ".uni", ".idx", ".up", ".down", ".bfly", ".all", ".any",
               ".ballot"},
              {".ca", ".cg", ".cs", ".lu", ".cv", ".wb", ".wt", ".nc", ".L2::cache_hint", ".L2::128B",
               ".L1::evict_last"},
              {".finite", ".infinite", ".number", ".notanumber", ".normal", ".subnormal"},
              {".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16", ".to", ".pack", ".oob"},
              {".visible", ".extern", ".weak", ".common", ".entry", ".func", ".maxntid", ".reqntid", ".align",
               ".noreturn", ".alias", ".pragma", ".branchtargets", ".callprototype", ".calltargets", ".ptr"},
              {"%tid.x",           "%tid.y",    "%tid.z",       "%ntid.x",  "%ctaid.x",
               "%ctaid.y",         "%nctaid.x", "%laneid",      "%warpid",  "%lanemask_lt",
               "%clock",           "%clock64",  "%globaltimer", "%envreg3", "%dynamic_smem_size",
               "%total_smem_size", "%smid",     "%gridid",      "%pm0",     "%cluster_ctaid.x",
               "WARP_SZ"},
              {"+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "==", "!=", "<=", ">=", "?", "~", "!"},
              {"{", "}", "(", ")", "[", "]", ",", ";", ":", "_", "@", "="},
          },
      .snippets =
          {
              "bar.sync 0;",
              "bar.warp.sync 0xffffffff;",
              "barrier.sync 1, 64;",
              "activemask.b32 %r1;",
              "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;",
              "shfl.sync.idx.b32 %r1, %r2, %r3, %r4, %r5;",
              "vote.sync.ballot.b32 %r1, %p1, -1;",
              "redux.sync.add.s32 %r1, %r2, %r3;",
              "match.any.sync.b64 %r1, %rd1, -1;",
              "nanosleep.u32 20;",
              "@%p1",
              "@!%p2",
              "@%p1 bra $fuzz;",
              "$fuzz:",
              "bra $fuzz;",
              "ret;",
              "exit;",
              "trap;",
              "{",
              "}",
              "setp.lt.s32 %p1, %r1, %r2;",
              "ld.volatile.global.u32 %r1, [%rd1];",
              "atom.global.cas.b32 %r1, [%rd1], %r1, %r2;",
              "ld.param.u64 %rd1, [%rd2];",
              "call f;",
              "call (%r1), f, (%r2);",
              "mov.u64 %rd1, f;",
              "brx.idx %r1, table;",
              ".reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 "
              "%fd<8>;",
              ".local .align 16 .b8 depot[64];",
              ".shared .align 4 .b8 tile[1024];",
              ".extern .shared .align 16 .b8 dynamic[];",
              ".global .align 8 .u64 data[2] = {generic(data)+8, 7};",
              ".const .align 4 .f32 numbers[4] = {1.5, 0f40000000, -1};",
              ".func f() { bar.sync 0; ret; }",
              ".func (.param .b32 result) f(.param .b32 x) { ret; }",
              ".alias g, f;",
              ".maxntid 256",
          },
      .numbers = {"0",
                  "1",
                  "2",
                  "3",
                  "4",
                  "7",
                  "8",
                  "15",
                  "16",
                  "31",
                  "32",
                  "33",
                  "63",
                  "64",
                  "127",
                  "128",
                  "255",
                  "256",
                  "1024",
                  "4096",
                  "-1",
                  "-32",
                  "0U",
                  "010",
                  "0b11",
                  "65535",
                  "65536",
                  "2147483647",
                  "0x80000000",
                  "0xffffffff",
                  "1.5",
                  "1e400",
                  "0f7fc00000",
                  "0fff800000",
                  "0d7ff0000000000001",
                  "0x7fffffffffffffff",
                  "0xffffffffffffffff",
                  "18446744073709551616"},
  };
}

bool IsRefusal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kResourceExhausted:
      return !status.message().empty();
    default:
      return false;
  }
}

}  // namespace slipway::fuzz
