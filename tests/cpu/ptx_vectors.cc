// Runs tables of expected instruction results on the translator behind the CPU device.
//
//   ptx_vectors --data tests/data/ptx-vectors [--minimum N] [--only TEXT] [--verbose]
//
// Prints a line an instruction form, "group form passed total" or "group form unsupported", then a summary. Exits with
// 1 if a case of a supported form is wrong or fewer than N forms are supported. The data's format: its README.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "driver/cpu/program.h"
#include "tests/cpu/ptx_forms.h"

namespace slipway::cpu {
namespace {

using ptx_forms::Form;
using ptx_forms::kFormsPerModule;
using ptx_forms::kMemoryPerThread;

// A form and how it went.
struct Outcome {
  const Form* form;
  bool supported = true;
  std::string reason;
  size_t passed = 0;
};

void RunForm(const CpuKernel& kernel, Outcome& outcome, bool verbose) {
  const Form& form = *outcome.form;
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
    const bool right = ptx_forms::IsRight(form, t, out);
    outcome.passed += right;
    if (right || !verbose || t - outcome.passed > 8) continue;
    std::printf("  wrong: %s\n", ptx_forms::Show(form, t, out).c_str());
  }
}

// Loads the forms as one module, leaving out those that are refused; says which by the line of the refusal.
std::unique_ptr<Program> Load(std::vector<Outcome*>& outcomes) {
  while (!outcomes.empty()) {
    std::vector<const Form*> forms;
    for (const Outcome* outcome : outcomes) forms.push_back(outcome->form);
    std::vector<long> first_line;
    absl::StatusOr<std::unique_ptr<Program>> program = Program::Load(ptx_forms::Module(forms, "sm_90", &first_line));
    if (program.ok()) return *std::move(program);
    const std::string message(program.status().message());
    if (message.rfind("line ", 0) != 0) {
      std::fprintf(stderr, "%s\n", message.c_str());
      std::exit(2);
    }
    const long line = std::atol(message.c_str() + 5);
    size_t refused = 0;
    while (refused + 1 < outcomes.size() && first_line[refused + 1] <= line) ++refused;
    outcomes[refused]->supported = false;
    outcomes[refused]->reason = message;
    outcomes.erase(outcomes.begin() + static_cast<std::ptrdiff_t>(refused));
  }
  return nullptr;
}

int Run(const std::string& data, size_t minimum, const std::string& only, bool verbose) {
  const std::vector<std::vector<Form>> files = ptx_forms::ReadForms(data, only);
  if (files.empty()) {
    std::fprintf(stderr, "no *.jsonl.gz in '%s'\n", data.c_str());
    return 2;
  }
  size_t total = 0, supported = 0, cases = 0, passed = 0, wrong_forms = 0;
  for (const std::vector<Form>& forms : files) {
    std::vector<Outcome> outcomes;
    for (const Form& form : forms) outcomes.push_back({&form});
    for (size_t at = 0; at < outcomes.size(); at += kFormsPerModule) {
      std::vector<Outcome*> batch;
      for (size_t i = at; i < std::min(at + kFormsPerModule, outcomes.size()); ++i) batch.push_back(&outcomes[i]);
      const std::unique_ptr<Program> program = Load(batch);
      for (size_t i = 0; i < batch.size(); ++i)
        RunForm(*program->FindKernel("form" + std::to_string(i)), *batch[i], verbose);
    }
    for (const Outcome& outcome : outcomes) {
      const Form& form = *outcome.form;
      ++total;
      if (!outcome.supported) {
        std::printf("%s %s unsupported%s%s\n", form.group.c_str(), form.form.c_str(), verbose ? ": " : "",
                    verbose ? outcome.reason.c_str() : "");
        continue;
      }
      ++supported;
      cases += form.threads;
      passed += outcome.passed;
      wrong_forms += outcome.passed != form.threads;
      std::printf("%s %s %zu %zu\n", form.group.c_str(), form.form.c_str(), outcome.passed, form.threads);
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
