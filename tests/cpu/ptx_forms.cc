#include "tests/cpu/ptx_forms.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace slipway::ptx_forms {
namespace {

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
  const size_t given = form.in.size() - (form.warp ? 1 : 0);
  if (words.size() != given + form.out.size()) {
    std::fprintf(stderr, "%s: a case of %zu words\n", form.form.c_str(), words.size());
    std::exit(2);
  }
  for (size_t i = 0; i < words.size(); ++i) {
    if (form.warp && i == given) form.inputs.push_back(words[i] != "-");
    if (i < given) {
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
  if (form.warp) form.in.push_back(MakeColumn("b32"));  // Whether the lane executes the instruction.
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

}  // namespace

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
  if (form.warp) text += "setp.eq.u32 %done, %a" + std::to_string(form.in.size() - 1) + ", 0;\n@%done bra WITHOUT;\n";
  text += form.body + "\n";
  if (form.warp) text += "WITHOUT:\n";
  for (size_t i = 0; i < form.out.size(); ++i) {
    text += "st.global.b" + std::to_string(form.out[i].bits) + " [%out+" + std::to_string(8 * i) + "], %d" +
            std::to_string(i) + ";\n";
  }
  return text + "ret;\n}\n";
}

std::vector<std::vector<Form>> ReadForms(const std::string& folder, const std::string& only) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".gz") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::vector<Form>> lists;
  for (const std::filesystem::path& file : files) {
    std::vector<Form>& forms = lists.emplace_back();
    const std::string text = ReadGzip(file.string());
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const nlohmann::json line = nlohmann::json::parse(text.substr(at, end - at), nullptr, false);
      at = end + 1;
      if (!line.is_object()) continue;
      Form form = MakeForm(line);
      if (form.form.find(only) != std::string::npos) forms.push_back(std::move(form));
    }
  }
  return lists;
}

std::string Module(const std::vector<const Form*>& forms, const std::string& target, std::vector<long>* first_lines) {
  std::string text = ".version 8.8\n.target " + target + "\n.address_size 64\n";
  for (size_t i = 0; i < forms.size(); ++i) {
    if (first_lines != nullptr) first_lines->push_back(std::count(text.begin(), text.end(), '\n') + 1);
    text += Kernel(*forms[i], i);
  }
  return text;
}

bool IsRight(const Form& form, size_t thread, const std::vector<uint64_t>& results) {
  for (size_t i = 0; i < form.out.size(); ++i) {
    const size_t at = thread * form.out.size() + i;
    if (!Matches(form.out[i], form.expected[at], results[at])) return false;
  }
  return true;
}

std::string Show(const Form& form, size_t thread, const std::vector<uint64_t>& results) {
  std::string text;
  char digits[20];
  const auto hexadecimal = [&](uint64_t value) {
    std::snprintf(digits, sizeof(digits), "%llx", static_cast<unsigned long long>(value));  // NOLINT
    return std::string(digits);
  };
  for (size_t i = 0; i < form.in.size(); ++i) {
    text += (i > 0 ? " " : "") + hexadecimal(form.inputs[thread * form.in.size() + i]);
  }
  for (size_t i = 0; i < form.out.size(); ++i) {
    const size_t at = thread * form.out.size() + i;
    text += " | wanted " + form.expected[at] + " got " + hexadecimal(results[at]);
  }
  return text;
}

}  // namespace slipway::ptx_forms
