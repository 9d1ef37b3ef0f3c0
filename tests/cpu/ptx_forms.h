// The tables of expected instruction results (tests/data/ptx-vectors): reading them, the kernel that runs a form, and
// whether a result is right. How kernels are run is for those who include this.
#ifndef SLIPWAY_TESTS_CPU_PTX_FORMS_H_
#define SLIPWAY_TESTS_CPU_PTX_FORMS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace slipway::ptx_forms {

// Forms that are loaded as one module.
inline constexpr size_t kFormsPerModule = 48;
// Bytes of memory that each thread of a form with operands in memory has for itself.
inline constexpr size_t kMemoryPerThread = 32;

struct Column {
  std::string name;  // "f16x2", "s8:32"
  std::string type;  // "f16x2", "s8"
  int bits = 0;      // Of the register, and of a value in the data.
};

struct Form {
  std::string group, form, body;
  std::string memory;  // The state space of %m, "" if the body does not use it.
  std::vector<Column> in, out;
  bool warp = false;                  // A case is a whole warp.
  std::vector<uint64_t> inputs;       // threads x in
  std::vector<std::string> expected;  // threads x out; empty for what is undefined
  size_t threads = 0;
};

// The forms of each *.jsonl.gz in `folder`, a list a file, those only whose names contain `only`. Empty if there is no
// such file; ends the process on data that is not as its README says.
std::vector<std::vector<Form>> ReadForms(const std::string& folder, const std::string& only);

// A kernel `form<index>` whose every thread runs the form on a row of operands, 8 bytes each, and stores a row of
// results. Parameters: the operands' address, the results', the memory's (kMemoryPerThread bytes a thread), and the
// number of threads as 32 bits.
std::string Kernel(const Form& form, size_t index);

// Kernels `form0`, `form1` and so on of a module for `target` ("sm_90"). `first_lines` receives the line on which each
// begins.
std::string Module(const std::vector<const Form*>& forms, const std::string& target, std::vector<long>* first_lines);

// Whether thread `thread` of the form gave what was expected; `results` is threads x out.
bool IsRight(const Form& form, size_t thread, const std::vector<uint64_t>& results);

// "1 2 | wanted 3 got 4": a thread's operands and results.
std::string Show(const Form& form, size_t thread, const std::vector<uint64_t>& results);

}  // namespace slipway::ptx_forms

#endif  // SLIPWAY_TESTS_CPU_PTX_FORMS_H_
