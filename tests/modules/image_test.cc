// Telling images apart, and never reading one further than it goes.
#include "driver/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/modules/images.h"

namespace slipway {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kPtx[] = ".version 7.0\n.target sm_75\n.address_size 64\n";

std::string Refusal(std::string_view bytes) {
  const absl::StatusOr<Image> image = Examine(bytes);
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(image.status().message());
}

TEST(ImageTest, KindsAreToldApart) {
  EXPECT_EQ(Examine(kPtx)->kind, ImageKind::kPtx);
  EXPECT_EQ(Examine(std::string("// \xC3\xA4\n\n") + kPtx)->kind, ImageKind::kPtx);
  EXPECT_EQ(Examine(Cubin(90))->kind, ImageKind::kCubin);
  EXPECT_EQ(Examine(Cubin(90))->sm, 90);
  EXPECT_EQ(Examine(Cubin(120))->sm, 120);
  EXPECT_EQ(Examine(Cubin(86, /*abi_version=*/7))->sm, 86);
  EXPECT_EQ(Examine(Cubin(90, 8, 190, ET_REL))->kind, ImageKind::kRelocatable);
  EXPECT_EQ(Examine(Cubin(0, 0, EM_X86_64))->kind, ImageKind::kObject);
  EXPECT_EQ(Examine("!<arch>\n")->kind, ImageKind::kArchive);
  const std::string fatbin = Fatbin({{.sm = 75, .bytes = kPtx}, {.kind = 2, .sm = 90, .bytes = Cubin(90)}});
  const Image image = Examine(fatbin).value();
  EXPECT_EQ(image.kind, ImageKind::kFatbin);
  ASSERT_EQ(image.parts.size(), 2);
  EXPECT_EQ(image.parts[0].kind, ImageKind::kPtx);
  EXPECT_EQ(image.parts[0].sm, 75);
  EXPECT_EQ(image.parts[1].kind, ImageKind::kCubin);
  EXPECT_EQ(FatbinSize(fatbin.c_str()), fatbin.size());
  EXPECT_EQ(FatbinSize(kPtx), 0);
  EXPECT_TRUE(BeginsElf(ELFMAG));
  EXPECT_FALSE(BeginsElf("\x7F"));  // Looks at no byte behind the NUL.
}

TEST(ImageTest, WhatIsNoImage) {
  EXPECT_THAT(Refusal(""), HasSubstr("the image is empty"));
  EXPECT_THAT(Refusal("int main() {}"),
              HasSubstr("the image is neither PTX text (it has no .version directive), nor a "
                        "cubin or a fatbin; it has 13 bytes and begins with 'int main() {}'"));
  EXPECT_THAT(Refusal("BC\xC0\xDE...."), HasSubstr("the image is LLVM bitcode; give it to DeviceLibrary::FromBitcode"));
  EXPECT_THAT(Refusal("; ModuleID = 'k'"), HasSubstr("the image is LLVM IR; compile it to PTX"));
  EXPECT_THAT(Refusal("\x28\xB5\x2F\xFD"), HasSubstr("the image is compressed; unpack it first"));
  EXPECT_THAT(Refusal(std::string("\xB1\x43\x62\x46\x01\0\0\0", 8)), HasSubstr("points to a fatbin"));
  std::string narrow = Cubin(90);
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(Refusal(narrow), HasSubstr("an ELF file of 32 bits"));
}

// In memory of exactly that size, so that a sanitizer sees a read behind it.
TEST(ImageTest, CutOffAtEveryLength) {
  const std::string whole[] = {Cubin(90),
                               Fatbin({{.sm = 75, .bytes = kPtx}, {.kind = 2, .sm = 90, .bytes = Cubin(90)}})};
  for (const std::string& image : whole) {
    for (size_t size = 4; size < image.size(); ++size) {
      const std::unique_ptr<char[]> cut(new char[size]);
      std::memcpy(cut.get(), image.data(), size);
      EXPECT_THAT(Refusal({cut.get(), size}), HasSubstr("cut off")) << size;
    }
    EXPECT_TRUE(Examine(image).ok());
  }
}

// Every byte turned into others: whatever it says then, nothing is read that is not there.
TEST(ImageTest, DamagedBytesAreReadNoFurther) {
  for (const std::string& image : {Cubin(90), Fatbin({{.sm = 75, .bytes = kPtx}})}) {
    const std::unique_ptr<char[]> copy(new char[image.size()]);
    for (size_t i = 0; i < image.size(); ++i) {
      for (const char flip : {'\x01', '\x80', '\xFF'}) {
        std::memcpy(copy.get(), image.data(), image.size());
        copy[i] = static_cast<char>(copy[i] ^ flip);
        static_cast<void>(Examine({copy.get(), image.size()}));
      }
    }
  }
}

TEST(ImageTest, Architectures) {
  EXPECT_TRUE(RunsMachineCode(86, 80));
  EXPECT_FALSE(RunsMachineCode(80, 86));
  EXPECT_FALSE(RunsMachineCode(90, 80));
  const auto refusal = [](const std::string& bytes, int device) {
    const absl::Status status = CheckRunsOn(Examine(bytes).value(), device);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  EXPECT_THAT(refusal(Cubin(90), 75), HasSubstr("the image is a cubin for sm_90, and the device is sm_75: compile for "
                                                "it, or give PTX of an architecture that is no newer"));
  const std::string fatbin = Fatbin({{.sm = 90, .bytes = kPtx}, {.kind = 2, .sm = 80, .bytes = Cubin(80)}});
  EXPECT_THAT(refusal(fatbin, 75), HasSubstr("a fatbin of PTX for sm_90, a cubin for sm_80, and the device is sm_75"));
  EXPECT_THAT(refusal(Fatbin({}), 75), HasSubstr("a fatbin with nothing in it"));
  EXPECT_TRUE(CheckRunsOn(Examine(fatbin).value(), 86).ok());
  EXPECT_TRUE(CheckRunsOn(Examine(fatbin).value(), 120).ok());
}

}  // namespace
}  // namespace slipway
