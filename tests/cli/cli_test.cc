// The tool `slipway`: what it prints, what it refuses, and with which exit status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "launch/toolkit.h"

namespace {

using slipway::internal::FindTool;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CliTest : public testing::Test {
 protected:
  struct Result {
    int status;
    std::string printed;  // On both outputs.
  };

  CliTest() {
    setenv("SLIPWAY_LOG", "quiet", 1);
    setenv("SLIPWAY_DEVICE", "cpu", 1);
  }
  Result Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SLIPWAY_CLI);
    const int status = slipway::internal::RunTool(std::move(arguments), folder_ / "log");
    return {status, slipway::internal::ReadWholeFile(folder_ / "log")};
  }
  std::string Ok(std::vector<std::string> arguments) {
    const Result result = Run(std::move(arguments));
    EXPECT_EQ(result.status, 0) << result.printed;
    return result.printed;
  }
  std::string Refused(std::vector<std::string> arguments) {
    const Result result = Run(std::move(arguments));
    EXPECT_GT(result.status, 0) << result.printed;
    return result.printed;
  }
  std::string File(const std::string& name, const std::string& content) {
    slipway::internal::WriteWholeFile(folder_ / name, content);
    return (folder_ / name).string();
  }

  slipway::internal::ScratchFolder folder_;
};

// Every command has help of its own.
TEST_F(CliTest, EveryCommandHasHelp) {
  const std::vector<std::string> commands[] = {{"compile"},         {"devices"},       {"eval"},
                                               {"cache"},           {"cache", "list"}, {"cache", "explain"},
                                               {"cache", "verify"}, {"cache", "prune"}};
  for (std::vector<std::string> command : commands) {
    std::string usage = "Usage: slipway";
    for (const std::string& word : command) usage += " " + word;
    command.push_back("--help");
    EXPECT_THAT(Ok(command), HasSubstr(usage));
  }
  for (const std::string& bound : {std::string("-1"), std::string(300, '9'), std::string("1.5"), std::string("1e3")}) {
    EXPECT_THAT(Refused({"cache", "prune", "--bytes", bound}),
                HasSubstr("--bytes: '" + bound.substr(0, 40) + "' is no number of bytes"));
  }
}

TEST_F(CliTest, HelpTeaches) {
  EXPECT_THAT(Ok({"--help"}), AllOf(HasSubstr("slipway eval 'z = a * x + y'"), HasSubstr("devices")));
  EXPECT_THAT(Ok({"compile", "--help"}), AllOf(HasSubstr("--types"), HasSubstr("sass:"), HasSubstr("Examples:")));
  EXPECT_THAT(Ok({"eval", "--help"}), HasSubstr("NAME:DTYPE=VALUES"));
  EXPECT_THAT(Refused({}), HasSubstr("subcommand is required"));
  EXPECT_THAT(Refused({"bake"}), HasSubstr("subcommand is required"));
}

TEST_F(CliTest, EvalsNumbers) {
  EXPECT_EQ(Ok({"eval", "sqrt(x * x + y * y)", "x=3", "y=4"}), "result: float64 = 5\n");
  EXPECT_EQ(Ok({"eval", "y = x / 2", "x=7"}), "y: int64 = 3\n");
  EXPECT_EQ(Ok({"eval", "x == 7", "x=7"}), "result: bool = true\n");
  EXPECT_EQ(Ok({"eval", "sum(x, axis=0)", "x=1,2,3"}), "result: int64 = 6\n");
  EXPECT_EQ(Ok({"eval", "y = x > 2", "x=7"}), "y: bool = true\n");
  EXPECT_EQ(Ok({"eval", "y = x * 3", "x:u8=100"}), "y: uint8 = 44\n");
  EXPECT_EQ(Ok({"eval", "y = x * 3", "x:f16=0.5"}), "y: float16 = 1.5\n");
  EXPECT_EQ(Ok({"eval", "y = 1.0 / x; z = -y", "x=0.0"}), "y: float64 = inf\nz: float64 = -inf\n");
}

TEST_F(CliTest, EvalsArrays) {
  EXPECT_EQ(Ok({"eval", "z = a * x + y", "a:f32=0.5", "x:f32=1,2,3", "y:f32=[10,20,30]"}),
            "z: float32[3] = [10.5, 21, 31.5]\n");
  EXPECT_EQ(Ok({"eval", "z = x + y", "x=[[1],[2]]", "y=[10,20]"}), "z: int64[2, 2] = [[11, 21], [12, 22]]\n");
  EXPECT_EQ(Ok({"eval", "z = x + 1", "x=[]"}), "z: float64[0] = []\n");
  EXPECT_EQ(Ok({"eval", "y = x[i]", "x=@" + File("x.json", "[0.1, 0.2, 0.3]\n"), "i=2,0"}),
            "y: float64[2] = [0.3, 0.1]\n");
  EXPECT_EQ(Ok({"eval", "@" + File("f.txt", "let r = x * x\ny = r + 1\n"), "x=2,3"}), "y: int64[2] = [5, 10]\n");
}

TEST_F(CliTest, EvalsAtTheEdges) {
  // Positions that are negative, and those of the type's last numbers.
  EXPECT_EQ(Ok({"eval", "y = argmin(k in -1..2: k)"}), "y: int64 = -1\n");
  EXPECT_EQ(Ok({"eval", "y = argmin(k in -3..3: (k + 1) * (k + 1))"}), "y: int64 = -1\n");
  EXPECT_EQ(Ok({"eval", "y = argmax(k in -1..-4 step -1: k - k)"}), "y: int64 = -1\n");
  // Indices past the end of int64.
  const std::string last = "i:u64=18446744073709551615";
  EXPECT_EQ(Ok({"eval", "y = x[i; clamp]", "x=1,2,3", last}), "y: int64 = 3\n");
  EXPECT_EQ(Ok({"eval", "y = x[i; wrap]", "x=1,2,3", last}), "y: int64 = 1\n");
  EXPECT_EQ(Ok({"eval", "y = x[i; symmetric]", "x=1,2,3", last}), "y: int64 = 3\n");  // 2^64 - 1 is 3 modulo 6.
  EXPECT_EQ(Ok({"eval", "y = x[i; reflect]", "x=1,2,3", last}), "y: int64 = 2\n");    // And 3 modulo 4.
  EXPECT_EQ(Ok({"eval", "y = x[i; 9]", "x=1,2,3", last}), "y: int64 = 9\n");
  // Complex numbers whose squares vanish.
  EXPECT_THAT(Ok({"eval", "y = log(complex(d, d))", "d=4.9406564584124654e-324"}), HasSubstr("(-744.093"));
  EXPECT_THAT(Ok({"eval", "y = atanh(complex(1.0, d))", "d=2.2250738585072014e-308"}), HasSubstr("(354.544"));
  EXPECT_EQ(Ok({"eval", "y = real(log(complex(1.0, z / z)))", "z=0.0"}).substr(0, 16), "y: float64 = nan");
}

TEST_F(CliTest, EvalsToJson) {
  const auto good = nlohmann::json::parse(Ok({"eval", "y = 1.0 / x", "x=[0.0,4.0]", "--json"}));
  EXPECT_EQ(good["y"]["dtype"], "float64");
  EXPECT_EQ(good["y"]["shape"], nlohmann::json::array({2}));
  EXPECT_EQ(good["y"]["values"], nlohmann::json::array({"inf", 0.25}));
}

TEST_F(CliTest, TakesWhatItPrints) {
  EXPECT_EQ(Ok({"eval", "y = x", "x=nan, 1.5,-inf"}), "y: float64[3] = [nan, 1.5, -inf]\n");
  EXPECT_EQ(Ok({"eval", "y = -x", "x:f16=inf"}), "y: float16 = -inf\n");
  EXPECT_EQ(Ok({"eval", "y = abs(z)", "z=(3, 4)"}), "y: float64 = 5\n");
  EXPECT_EQ(Ok({"eval", "y = z", "z:c64=[(1, -0.5), 2]"}), "y: complex64[2] = [(1, -0.5), (2, 0)]\n");
  const struct {
    std::string formula;
    std::vector<std::string> inputs;
  } cases[] = {
      {"y = x / z", {"x=[1.0,0.0,-1.0]", "z=0.0"}},
      {"y = complex(x, 1.0 / x)", {"x:f32=[[0.0,0.1],[-0.0,3e38]]"}},
      {"y = x > 1", {"x=[1,2]"}},
      {"y = x + y0", {"x:u64=18446744073709551615", "y0:u64=0"}},
      {"y = bfloat16(x)", {"x=0.3,1e-40"}},
  };
  for (const auto& test : cases) {
    std::vector<std::string> command = {"eval", test.formula};
    command.insert(command.end(), test.inputs.begin(), test.inputs.end());
    command.push_back("--json");
    const std::string printed = Ok(command);
    EXPECT_EQ(Ok({"eval", "y = y0", "y0=@" + File("y0.json", nlohmann::json::parse(printed)["y"].dump()), "--json"}),
              printed);
  }
  // An output of several by its name, and a shape that lists do not say.
  const std::string both = File("both.json", Ok({"eval", "u = x * 2; v = x", "x=[]", "--json"}));
  EXPECT_EQ(Ok({"eval", "y = u + 1", "u=@" + both}), "y: float64[0] = []\n");
  EXPECT_EQ(Ok({"eval", "y = x + 1", R"(x={"dtype": "int8", "shape": [0, 3], "values": []})"}), "y: int8[0, 3] = []\n");
}

TEST_F(CliTest, EvalRefuses) {
  EXPECT_THAT(Refused({"eval", "y = x + z", "x=1"}), HasSubstr("z"));
  EXPECT_THAT(Refused({"eval", "y = xx +", "x=1"}), HasSubstr("expression:1:"));
  EXPECT_THAT(Refused({"eval", "y = x", "x"}), HasSubstr("'x' is not NAME=VALUES or NAME:DTYPE=VALUES"));
  EXPECT_THAT(Refused({"eval", "y = x", "x=abc"}), HasSubstr("input 'x': \"abc\" is no number"));
  EXPECT_THAT(Refused({"eval", "y = x", "x=[1,"}), HasSubstr("input 'x': neither a number nor a list"));
  EXPECT_THAT(Refused({"eval", "y = x", "x={}"}), HasSubstr("input 'x': the object has neither 'x' nor 'values'"));
  EXPECT_THAT(Refused({"eval", "y = x", "x:i32=nan"}), HasSubstr("input 'x': nan is no int32"));
  EXPECT_THAT(Refused({"eval", "y = x", "x:f32=(1, 2)"}), HasSubstr("input 'x': (1, 2) is no float32"));
  EXPECT_THAT(Refused({"eval", "y = x", "x=(1, 2, 3)"}), HasSubstr("input 'x': \"(1, 2, 3)\" is no number"));
  EXPECT_THAT(Refused({"eval", "y = x", "x:f33=1"}), HasSubstr("'f33' is no dtype"));
  EXPECT_THAT(Refused({"eval", "y = x", "x:i8=1000"}), HasSubstr("input 'x': 1000 is no int8"));
  EXPECT_THAT(Refused({"eval", "y = x", "x:u8=-1"}), HasSubstr("input 'x': -1 is no uint8"));
  EXPECT_THAT(Refused({"eval", "y = x", "x:i32=1.5"}), HasSubstr("input 'x': 1.5 is no int32"));
  EXPECT_THAT(Refused({"eval", "y = x", "x=[[1,2],[3]]"}), HasSubstr("input 'x': its lists have different lengths"));
  EXPECT_THAT(Refused({"eval", "y = x", "x=[1,[3]]"}), HasSubstr("input 'x': "));
  EXPECT_THAT(Refused({"eval", "y = x", "x=[[1],3]"}), HasSubstr("input 'x': lists of one depth are wanted"));
  EXPECT_THAT(Refused({"eval", "y = x", "x=[\"a\"]"}), HasSubstr("input 'x': \"a\" is no number"));
  EXPECT_THAT(Refused({"eval", "y = x", "x=[[[[[[[[[1]]]]]]]]]"}), HasSubstr("more than 8 dimensions"));
  EXPECT_THAT(Refused({"eval", "y = x", "x=@/nowhere"}), HasSubstr("file '/nowhere' cannot be read"));
  EXPECT_THAT(Refused({"eval", "y = x", "x=@/tmp"}), HasSubstr("file '/tmp' cannot be read"));
  EXPECT_THAT(Refused({"eval", "y = x", "x:f32=@/dev/zero"}), HasSubstr("file '/dev/zero' has more than 256 MiB"));
  EXPECT_THAT(Refused({"eval", "y = x", "x=1", "--device", "tpu"}), HasSubstr("tpu"));
}

// What it prints is a formula: it compiles to the same kernel.
TEST_F(CliTest, PrintsKernelsAsText) {
  const std::string types = "a:f32,x:f32[],y:f32[]";
  const std::string text = Ok({"compile", "z = a * x + y", "--types", types, "--emit", "text"});
  EXPECT_THAT(text, AllOf(HasSubstr("# "), HasSubstr("a"), HasSubstr(" * "), HasSubstr(" + ")));
  const size_t body = text.find('\n');
  const std::string again = Ok(
      {"compile", text.substr(body + 1), "--signature", text.substr(2, body - 2), "--types", types, "--emit", "text"});
  EXPECT_EQ(again, text);
  EXPECT_THAT(Refused({"compile", "z = w", "--types", "a:f32", "--emit", "text"}), HasSubstr("'a' is not in the text"));
}

TEST_F(CliTest, CompilesForArchitecturesThatAreNotHere) {
  const std::string ptx = Ok({"compile", "z = a * x + y", "--types", "a:f32,x:f32[],y:f32[]"});
  EXPECT_THAT(ptx,
              AllOf(HasSubstr(".target sm_90"), HasSubstr(".visible .entry elementwise("), HasSubstr("fma.rn.f32")));
  const std::string both =
      Ok({"compile", "z = x", "--types", "x:f64[]", "--arch", "sm_75,sm_120", "--emit", "ptx,ir", "--name", "copy"});
  EXPECT_THAT(both, AllOf(HasSubstr("// ptx for sm_75:6.3\n"), HasSubstr("// ir for sm_120:"),
                          HasSubstr(".target sm_120"), HasSubstr("kernel copy(")));
}

// What a call would compile, whatever the formula asks for.
TEST_F(CliTest, CompilesEveryKindOfFormula) {
  const auto compile = [&](const std::string& text, const std::string& types, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"compile", text, "--types", types};
    all.insert(all.end(), more.begin(), more.end());
    return Ok(all);
  };
  EXPECT_THAT(compile("z = a * x + y", "a:f32,x:f32[],y:f32[]"), HasSubstr("ld.global.v4"));  // Aligned.
  EXPECT_THAT(compile("z = a * x + y", "a:f32,x:f32[],y:f32[]", {"--rank", "2"}), Not(HasSubstr("ld.global.v4")));
  EXPECT_THAT(compile("y = x[index() - 1; clamp] + x", "x:f32[]"), HasSubstr(".entry"));
  EXPECT_THAT(compile("y = sum(x, axis=0)", "x:f32[]", {"--rank", "2"}), HasSubstr(".entry"));
  EXPECT_THAT(compile("y = x + index(0)", "x:f32[]", {"--rank", "3"}), HasSubstr(".entry"));
  EXPECT_THAT(compile("h[x] += 1", "x:i32[],h:i32[]"), HasSubstr(".add"));
  EXPECT_THAT(Refused({"compile", "h[x] += 1", "--types", "x:i32[]"}), HasSubstr("output 'h' is written by index"));
}

TEST_F(CliTest, ItsOptionsReachTheCompiler) {
  const auto compile = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"compile", "z = x / y + x", "--types", "x:f32[],y:f32[]"};
    all.insert(all.end(), more.begin(), more.end());
    return Ok(all);
  };
  EXPECT_THAT(compile({}), HasSubstr("div.rn.f32"));
  EXPECT_THAT(compile({"--fast-math", "division"}), AllOf(HasSubstr("div.full"), Not(HasSubstr("div.rn.f32"))));
  EXPECT_THAT(compile({"--fast-math", "all"}), HasSubstr(".ftz"));
  EXPECT_THAT(compile({"--max-registers", "40"}), HasSubstr(".maxnreg 40"));
  EXPECT_THAT(compile({"--index", "64", "--emit", "signature"}), Not(HasSubstr("index32")));
  EXPECT_THAT(compile({"--index", "32", "--emit", "signature"}), HasSubstr("index32"));
  EXPECT_THAT(compile({"--rank", "2", "--emit", "signature"}), HasSubstr("float32[:,:]"));
  EXPECT_THAT(compile({"--emit", "llvm"}), HasSubstr("define"));
  EXPECT_THAT(compile({"--emit", "times"}), HasSubstr("generate PTX"));
  EXPECT_THAT(Ok({"compile", "z = a * x + x", "--types", "a:f32,x:f32[]", "--no-contract"}), HasSubstr("mul.rn.f32"));
  const std::string path = File("out.ptx", "");
  EXPECT_EQ(compile({"-o", path}), "");
  EXPECT_THAT(slipway::internal::ReadWholeFile(path), HasSubstr(".target sm_90"));
}

TEST_F(CliTest, MachineCode) {
  if (FindTool("ptxas").empty()) {
    EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[]", "--emit", "resources"}),
                HasSubstr("ptxas was not found"));
    return;
  }
  EXPECT_THAT(Ok({"compile", "z = x", "--types", "x:f32[]", "--emit", "resources"}),
              testing::ContainsRegex("registers [0-9]+, instructions [0-9]+, shared 0 bytes"));
  if (FindTool("nvdisasm").empty() && FindTool("cuobjdump").empty()) {
    EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[]", "--emit", "sass"}),
                HasSubstr("there is no sass: neither nvdisasm nor cuobjdump was found"));
  } else {
    EXPECT_THAT(Ok({"compile", "z = x", "--types", "x:f32[]", "--emit", "sass"}), HasSubstr("STG"));
  }
}

TEST_F(CliTest, CompileRefuses) {
  EXPECT_THAT(Refused({"compile", "z = a * xx + y", "--types", "a:f32,xx:f32[]"}), HasSubstr("input 'y' is missing"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[],w:f32"}),
              HasSubstr("argument 'w' is not in the text, which has x, z"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[],x:f64[]"}), HasSubstr("argument 'x' is given twice"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x"}), HasSubstr("--types: 'x' is not NAME:DTYPE"));
  EXPECT_THAT(Refused({"compile", "z = a * x", "--types", "a:f32,,x:f32[]"}),
              HasSubstr("--types: '' is not NAME:DTYPE"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f31[]"}), HasSubstr("--types: 'x:f31[]' is not NAME:DTYPE"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[],z:f32"}), HasSubstr("argument 'z' is an output"));
  EXPECT_THAT(
      Refused({"compile", "z = x[i]", "--types", "x:f32,i:i32[]"}),
      HasSubstr("input 'x': it is read with 1 index, so an array of rank 1 is wanted; float32 scalar is given"));
  EXPECT_THAT(Refused({"compile", "z = x", "--signature", "x: f32 -> z", "--types", "x:f32[]"}),
              HasSubstr("input 'x': a number is declared, float32[8] is given"));
  EXPECT_THAT(Refused({"compile", "z = x", "--signature", "x: f32[] -> z", "--types", "x:f64[]"}),
              HasSubstr("input 'x': float32 is declared, float64 is given"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[]", "--arch", "sm_10"}), HasSubstr("sm_10"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[]", "--emit", "wasm"}),
              HasSubstr("--emit has no 'wasm'; it has text, ir, llvm, ptx"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[]", "--emit", ","}), HasSubstr("--emit names nothing"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[]", "--opt", "9"}), HasSubstr("opt_level is 9"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[]", "--fast-math", "magic"}),
              HasSubstr("fast_math has no flag 'magic'; it has division, sqrt,"));
  EXPECT_THAT(Refused({"compile", "z = x", "--types", "x:f32[]", "-o", "/nowhere/x"}),
              HasSubstr("file '/nowhere/x' cannot be written"));
  EXPECT_THAT(Refused({"compile", "z = x +", "--types", "x:f32[]"}), HasSubstr("expression:1:"));
}

TEST_F(CliTest, Devices) {
  EXPECT_THAT(Ok({"devices"}), AllOf(HasSubstr("CPU device"), HasSubstr("compute capability 9.0")));
  const auto json = nlohmann::json::parse(Ok({"devices", "--json"}));
  EXPECT_GE(json["devices"].size(), 1u);
  EXPECT_TRUE(json["devices"].back()["memory_bytes"].is_number());
}

TEST_F(CliTest, TheCache) {
  const std::string folder = File("cache", "");
  std::remove(folder.c_str());
  setenv("SLIPWAY_CACHE_DIR", folder.c_str(), 1);
  EXPECT_THAT(Ok({"cache", "list"}), HasSubstr("0 entries, 0 bytes, in " + folder));
  Ok({"eval", "y = x + 1", "x=1"});
  Ok({"compile", "y = x + 1", "--types", "x:f32[]", "--name", "more"});
  Ok({"compile", "y = x + 1", "--types", "x:f32[]", "--name", "more", "--opt", "1"});
  Ok({"compile", "y = x + 2", "--types", "x:f32[]", "--name", "more"});
  const std::string list = Ok({"cache", "list"});
  EXPECT_THAT(list, AllOf(HasSubstr("5 entries, "), HasSubstr(" ptx   elementwise for target sm_90:"),
                          HasSubstr(" host  elementwise for host ")));
  const auto json = nlohmann::json::parse(Ok({"cache", "list", "--json"}));
  EXPECT_EQ(json.size(), 5u);
  EXPECT_EQ(json[0]["wrong"], "");
  const std::string explained = Ok({"cache", "explain", "more"});
  EXPECT_THAT(explained, AllOf(HasSubstr(" of kind ptx of kernel 'more'"), HasSubstr("differs from the first: "),
                               testing::ContainsRegex("kernel is [0-9a-f]+-[0-9a-f]+, not [0-9a-f]+"),
                               testing::ContainsRegex("options is opt[13] llvm, not opt[13] llvm"),
                               testing::Not(HasSubstr("is new"))));
  EXPECT_THAT(Refused({"cache", "explain", "nothing"}), HasSubstr("no kernel called 'nothing' is kept"));
  EXPECT_EQ(Ok({"cache", "verify"}), "5 entries are sound\n");
  slipway::internal::WriteWholeFile(json[0]["file"].get<std::string>(), "rubbish");
  EXPECT_THAT(Refused({"cache", "verify"}), AllOf(HasSubstr("is damaged"), HasSubstr("1 of 5 entries are wrong")));
  EXPECT_THAT(Ok({"cache", "list"}), HasSubstr("is damaged"));
  EXPECT_THAT(Ok({"cache", "verify", "--remove"}), HasSubstr("is damaged: removed\n4 entries are sound\n"));
  EXPECT_THAT(Ok({"cache", "prune", "--bytes", "100000000"}), "removed 0 bytes\n");
  EXPECT_THAT(Ok({"cache", "prune"}), HasSubstr("removed "));
  EXPECT_THAT(Ok({"cache", "list"}), HasSubstr("0 entries"));
  setenv("SLIPWAY_CACHE_DIR", "off", 1);
  EXPECT_THAT(Refused({"cache", "list"}), HasSubstr("the disk cache is turned off"));
  EXPECT_THAT(Refused({"cache"}), HasSubstr("subcommand is required"));
}

}  // namespace
