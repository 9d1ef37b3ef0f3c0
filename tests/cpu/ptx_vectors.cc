// Runs tables of expected instruction results on the translator behind the CPU device.
//
//   ptx_vectors --data tests/data/ptx-vectors [--minimum N] [--only TEXT] [--verbose]
//
// Prints a line an instruction form, "group form passed total" or "group form unsupported", then a summary. Exits with
// 1 if a case of a supported form is wrong or fewer than N forms are supported. The data's format: its README.
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "driver/cpu/program.h"

namespace slipway::cpu {
namespace {

constexpr size_t kFormsPerModule = 48;
constexpr size_t kMemoryPerThread = 32;

struct Column {
  std::string name;  // "f16x2", "s8:32"
  std::string type;  // "f16x2", "s8"
  int bits = 0;      // Of the register, and of a value in the data.
};

struct Form {
  std::string group, form, body, memory;
  std::vector<Column> in, out;
  bool warp = false;
  std::vector<uint64_t> inputs;       // threads x in
  std::vector<std::string> expected;  // threads x out; empty for what is undefined
  size_t threads = 0;
  bool supported = true;
  std::string reason;
  size_t passed = 0;
};

std::string ReadGzip(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  std::vector<char> buffer(1 << 20);
  for (int n; (n = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()))) > 0;)
    text.append(buffer.data(), n);
  gzclose(file);
  return text;
}

Column MakeColumn(const std::string& name) {
  Column column{name, name.substr(0, name.find(':')), 0};
  if (column.type == "pred") {
    column.bits = 32;
  } else if (name.find(':') != std::string::npos) {
    column.bits = std::stoi(name.substr(name.find(':') + 1));
  } else if (column.type.ends_with("x2")) {
    column.bits = 32;
  } else {
    column.bits = std::stoi(column.type.substr(column.type.find_first_of("0123456789")));
  }
  return column;
}

void AddCase(Form& form, const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (words.size() != form.in.size() + form.out.size()) {
    std::fprintf(stderr, "%s: a case of %zu words\n", form.form.c_str(), words.size());
    std::exit(2);
  }
  for (size_t i = 0; i < words.size(); ++i) {
    if (i < form.in.size()) {
      form.inputs.push_back(std::stoull(words[i], nullptr, 16));
    } else {
      form.expected.push_back(words[i] == "-" || words[i] == "x" ? "" : words[i]);
    }
  }
  ++form.threads;
}

Form MakeForm(const nlohmann::json& line) {
  Form form{line["group"], line["form"], line["body"], line.value("mem", "")};
  for (const std::string name : line["in"]) form.in.push_back(MakeColumn(name));
  for (const std::string name : line["out"]) form.out.push_back(MakeColumn(name));
  form.warp = line["kind"] == "warp";
  if (line["kind"] == "dense") {
    const std::string results = line["results"];
    const size_t width = results.size() / 65536;
    for (size_t i = 0; i < 65536; ++i) {
      form.inputs.push_back(i);
      form.expected.push_back(results.substr(i * width, width));
    }
    form.threads = 65536;
  } else {
    for (const nlohmann::json& item : line["cases"]) {
      if (item.is_string()) AddCase(form, item);
      if (item.is_array()) {
        for (const std::string lane : item) AddCase(form, lane);
      }
    }
  }
  return form;
}

// A kernel whose every thread runs the form on a row of operands, 8 bytes each, and stores a row of results.
std::string Kernel(const Form& form, size_t index) {
  const std::string name = "form" + std::to_string(index);
  std::string text =
      ".visible .entry " + name + "(.param .b64 in, .param .b64 out, .param .b64 memory, .param .b32 threads)\n{\n";
  text +=
      ".reg .pred %p<9>; .reg .b8 %c<9>; .reg .b16 %h<9>, %z; .reg .b32 %r<9>; .reg .b64 %l<9>; .reg .b128 %q<9>;\n";
  text += ".reg .pred %done; .reg .b32 %thread<4>; .reg .b64 %in, %out, %m;\n";
  if (form.memory == "shared") text += ".shared .align 16 .b8 own[" + std::to_string(kMemoryPerThread) + "];\n";
  const auto declare = [&](const char* prefix, const std::vector<Column>& columns) {
    for (size_t i = 0; i < columns.size(); ++i) {
      text += ".reg .b" + std::to_string(columns[i].bits) + " %" + prefix + std::to_string(i) + ";\n";
    }
  };
  declare("a", form.in);
  declare("d", form.out);
  text +=
      "mov.u32 %thread1, %ctaid.x;\nmov.u32 %thread2, %ntid.x;\nmov.u32 %thread3, %tid.x;\n"
      "mad.lo.u32 %thread0, %thread1, %thread2, %thread3;\nld.param.u32 %thread1, [threads];\n"
      "setp.ge.u32 %done, %thread0, %thread1;\n@%done ret;\nmov.b16 %z, 0;\n";
  const auto row = [&](const char* to, const char* parameter, size_t bytes) {
    text += "ld.param.u64 %l0, [" + std::string(parameter) + "];\nmad.wide.u32 %" + to + ", %thread0, " +
            std::to_string(bytes) + ", %l0;\n";
  };
  row("in", "in", 8 * form.in.size());
  row("out", "out", 8 * form.out.size());
  if (form.memory == "global") row("m", "memory", kMemoryPerThread);
  if (form.memory == "shared") text += "mov.u64 %m, own;\n";
  for (size_t i = 0; i < form.in.size(); ++i) {
    text += "ld.global.b" + std::to_string(form.in[i].bits) + " %a" + std::to_string(i) + ", [%in+" +
            std::to_string(8 * i) + "];\n";
  }
  text += form.body + "\n";
  for (size_t i = 0; i < form.out.size(); ++i) {
    text += "st.global.b" + std::to_string(form.out[i].bits) + " [%out+" + std::to_string(8 * i) + "], %d" +
            std::to_string(i) + ";\n";
  }
  return text + "ret;\n}\n";
}

bool IsNan(const std::string& type, uint64_t bits) {
  struct Format {
    const char* type;
    uint64_t magnitude, infinity;
  };
  static constexpr Format kFormats[] = {{"f16", 0x7fff, 0x7c00},
                                        {"bf16", 0x7fff, 0x7f80},
                                        {"f32", 0x7fffffff, 0x7f800000},
                                        {"b32", 0x7fffffff, 0x7f800000},
                                        {"f64", 0x7fffffffffffffff, 0x7ff0000000000000}};
  for (const Format& format : kFormats) {
    if (type == format.type) return (bits & format.magnitude) > format.infinity;
  }
  return false;
}

bool Matches(const Column& column, const std::string& expected, uint64_t got) {
  if (expected.empty()) return true;
  const int lane_bits = column.type.ends_with("x2") ? 16 : column.bits;
  const std::string lane_type =
      column.type.ends_with("x2") ? column.type.substr(0, column.type.size() - 2) : column.type;
  const size_t digits = lane_bits / 4;
  const std::string padded =
      std::string(column.bits / 4 - std::min<size_t>(expected.size(), column.bits / 4), '0') + expected;
  for (size_t lane = 0; lane * lane_bits < static_cast<size_t>(column.bits); ++lane) {
    const std::string word = padded.substr(padded.size() - (lane + 1) * digits, digits);
    const uint64_t mask = lane_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << lane_bits) - 1;
    const uint64_t bits = got >> (lane * lane_bits) & mask;
    if (word[0] == 'n' ? !IsNan(lane_type, bits) : std::stoull(word, nullptr, 16) != bits) return false;
  }
  return true;
}

void RunForm(const CpuKernel& kernel, Form& form, bool verbose) {
  std::vector<uint64_t> out(form.threads * form.out.size());
  std::vector<uint64_t> memory(form.threads * kMemoryPerThread / 8 + 2);
  struct alignas(16) {
    const void *in, *out;
    uintptr_t memory;
    uint32_t threads;
  } params = {form.inputs.data(), out.data(), (reinterpret_cast<uintptr_t>(memory.data()) + 15) & ~uintptr_t{15},
              static_cast<uint32_t>(form.threads)};
  CpuLaunch launch;
  launch.params = reinterpret_cast<const std::byte*>(&params);
  launch.block[0] = form.warp ? 32 : 128;
  launch.grid[0] = static_cast<uint32_t>((form.threads + launch.block[0] - 1) / launch.block[0]);
  alignas(128) std::byte shared[1024];
  kernel.run(&launch, 0, launch.grid[0], shared);
  for (size_t t = 0; t < form.threads; ++t) {
    bool right = true;
    for (size_t i = 0; i < form.out.size(); ++i) {
      right &= Matches(form.out[i], form.expected[t * form.out.size() + i], out[t * form.out.size() + i]);
    }
    form.passed += right;
    if (right || !verbose || t - form.passed > 8) continue;
    std::printf("  wrong:");
    for (size_t i = 0; i < form.in.size(); ++i)
      std::printf(" %llx", static_cast<unsigned long long>(form.inputs[t * form.in.size() + i]));
    for (size_t i = 0; i < form.out.size(); ++i) {
      std::printf(" | wanted %s got %llx", form.expected[t * form.out.size() + i].c_str(),
                  static_cast<unsigned long long>(out[t * form.out.size() + i]));
    }
    std::printf("\n");
  }
}

// Loads the forms as one module, leaving out those that are refused; says which by the line of the refusal.
std::unique_ptr<Program> Load(std::vector<Form*>& forms) {
  while (!forms.empty()) {
    std::string text = ".version 8.8\n.target sm_90\n.address_size 64\n";
    std::vector<long> first_line;
    for (size_t i = 0; i < forms.size(); ++i) {
      first_line.push_back(std::count(text.begin(), text.end(), '\n') + 1);
      text += Kernel(*forms[i], i);
    }
    absl::StatusOr<std::unique_ptr<Program>> program = Program::Load(text);
    if (program.ok()) return *std::move(program);
    const std::string message(program.status().message());
    if (message.rfind("line ", 0) != 0) {
      std::fprintf(stderr, "%s\n", message.c_str());
      std::exit(2);
    }
    const long line = std::atol(message.c_str() + 5);
    size_t refused = 0;
    while (refused + 1 < forms.size() && first_line[refused + 1] <= line) ++refused;
    forms[refused]->supported = false;
    forms[refused]->reason = message;
    forms.erase(forms.begin() + static_cast<std::ptrdiff_t>(refused));
  }
  return nullptr;
}

int Run(const std::string& data, size_t minimum, const std::string& only, bool verbose) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(data, error)) {
    if (entry.path().extension() == ".gz") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fprintf(stderr, "no *.jsonl.gz in '%s'\n", data.c_str());
    return 2;
  }
  size_t total = 0, supported = 0, cases = 0, passed = 0, wrong_forms = 0;
  for (const std::filesystem::path& file : files) {
    std::vector<Form> forms;
    const std::string text = ReadGzip(file.string());
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const nlohmann::json line = nlohmann::json::parse(text.substr(at, end - at), nullptr, false);
      at = end + 1;
      if (!line.is_object()) continue;
      Form form = MakeForm(line);
      if (form.form.find(only) != std::string::npos) forms.push_back(std::move(form));
    }
    for (size_t at = 0; at < forms.size(); at += kFormsPerModule) {
      std::vector<Form*> batch;
      for (size_t i = at; i < std::min(at + kFormsPerModule, forms.size()); ++i) batch.push_back(&forms[i]);
      const std::unique_ptr<Program> program = Load(batch);
      for (size_t i = 0; i < batch.size(); ++i)
        RunForm(*program->FindKernel("form" + std::to_string(i)), *batch[i], verbose);
    }
    for (const Form& form : forms) {
      ++total;
      if (!form.supported) {
        std::printf("%s %s unsupported%s%s\n", form.group.c_str(), form.form.c_str(), verbose ? ": " : "",
                    verbose ? form.reason.c_str() : "");
        continue;
      }
      ++supported;
      cases += form.threads;
      passed += form.passed;
      wrong_forms += form.passed != form.threads;
      std::printf("%s %s %zu %zu\n", form.group.c_str(), form.form.c_str(), form.passed, form.threads);
    }
  }
  std::printf("total: %zu forms, %zu supported, %zu of those wrong; %zu of %zu cases passed\n", total, supported,
              wrong_forms, passed, cases);
  if (supported < minimum) std::printf("FAILED: at least %zu forms were supported before\n", minimum);
  return wrong_forms == 0 && supported >= minimum ? 0 : 1;
}

}  // namespace
}  // namespace slipway::cpu

int main(int argc, char** argv) {
  std::string data, only;
  size_t minimum = 0;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--verbose") {
      verbose = true;
    } else if (argument == "--data" && i + 1 < argc) {
      data = argv[++i];
    } else if (argument == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else if (argument == "--minimum" && i + 1 < argc) {
      minimum = std::strtoul(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: ptx_vectors --data DIR [--minimum N] [--only TEXT] [--verbose]\n");
      return 2;
    }
  }
  return slipway::cpu::Run(data, minimum, only, verbose);
}
