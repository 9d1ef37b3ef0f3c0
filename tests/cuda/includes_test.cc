// Which files a source includes.
#include "jit/cuda/includes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "launch/toolkit.h"

namespace slipway {
namespace {

using testing::ElementsAre;

class IncludesTest : public testing::Test {
 protected:
  IncludesTest() {
    std::filesystem::create_directory(folder_ / "a b");
    std::filesystem::create_directory(folder_ / "more");
  }
  void Write(const std::string& name, const std::string& content) { internal::WriteWholeFile(folder_ / name, content); }
  std::vector<std::string> Find(const std::string& source, const std::vector<CudaHeader>& headers = {}) {
    std::vector<std::string> names;
    const std::string root = (folder_ / "").string();
    for (const IncludedFile& file :
         FindIncludes(source, root + "more", headers, {root + "a b", root + "more"}, &complete_)) {
      names.push_back(file.path.substr(root.size()));
    }
    return names;
  }

  internal::ScratchFolder folder_;
  bool complete_ = false;
};

TEST_F(IncludesTest, ByWayOfOthersOnceEach) {
  Write("a b/one.h", "#include \"two.h\"\n  #  include <three.h>\n#include \"one.h\"\n");
  Write("a b/two.h", "#include <one.h>\n");
  Write("more/three.h", "");
  Write("more/two.h", "not this one");
  EXPECT_THAT(Find("#include <one.h>\nint x;\n#include \"three.h\" // again\n"),
              ElementsAre("a b/one.h", "more/three.h", "a b/two.h"));
  EXPECT_TRUE(complete_);
}

TEST_F(IncludesTest, HeadersInMemory) {
  Write("a b/one.h", "");
  Write("a b/two.h", "");
  EXPECT_THAT(Find("#include <one.h>", {{"one.h", "#include \"two.h\""}}), ElementsAre("a b/two.h"));
}

// Too much does no harm, too little would be a stale hit.
TEST_F(IncludesTest, HoweverItIsWritten) {
  Write("a b/one.h", "");
  for (const char* source :
       {"#include<one.h>", "  #\tinclude\v<one.h>", "/* a */ #include <one.h>", "# /* a */ include <one.h>",
        "#include /* a */ <one.h>", "#inc\\\nlude <one.h>", "#include \\\r\n<one.h>", "%:include <one.h>",
        "#include \"one.h\"\r", "//#include <one.h>", "#if 0\n#include <one.h>\n#endif", "#if __has_include(<one.h>)",
        "#if __has_include ( \"one.h\" )", "const char* s = R\"(\n#include <one.h>\n)\";"}) {
    EXPECT_THAT(Find(source), ElementsAre("a b/one.h")) << source;
    EXPECT_TRUE(complete_) << source;
  }
}

TEST_F(IncludesTest, WhatOnlyAPreprocessorKnows) {
  Write("a b/one.h", "");
  for (const char* source : {"#include MACRO", "  #  include MACRO(x)", "# /* a */ include MACRO", "%:include MACRO",
                             "#include_next <one.h>", "#if __has_include(MACRO)", "#include <one.h\n>"}) {
    Find(source);
    EXPECT_FALSE(complete_) << source;
  }
  for (const char* source :
       {"", "int include = 1;", "// to include this\nvoid f();", "#define includes 1", "#include <gone.h>"}) {
    EXPECT_THAT(Find(source), testing::IsEmpty());
    EXPECT_TRUE(complete_) << source;
  }
}

TEST_F(IncludesTest, IsBounded) {
  std::string source;
  for (int i = 0; i < 4100; ++i) {
    Write(absl::StrCat("more/h", i, ".h"), "");
    absl::StrAppend(&source, "#include <h", i, ".h>\n");
  }
  EXPECT_EQ(Find(source).size(), 4096u);
  EXPECT_FALSE(complete_);
}

}  // namespace
}  // namespace slipway
