#include "examples/jagged/call.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {

Arg Call::Argument(std::string_view name) {
  for (const NamedArg& argument : arguments_) {
    if (argument.name == name) return argument.arg;
  }
  status_.Update(absl::NotFoundError(absl::StrCat("the call has no argument '", std::string(name), "'")));
  return Arg(int64_t{0});
}

int64_t Call::operator[](std::string_view name) {
  const Arg argument = Argument(name);
  if (argument.is_array()) return argument.view().size();
  if (argument.dtype() == DType::kInt64) return argument.scalar_as<int64_t>();
  status_.Update(absl::InvalidArgumentError(
      absl::StrCat("argument '", std::string(name), "' is ", Describe(argument), "; wanted int64 or an array")));
  return 0;
}

int64_t Call::LongestArgument() const {
  int64_t longest = 0;
  for (const NamedArg& argument : arguments_) {
    if (!argument.arg.is_scalar() && argument.arg.rank() == 1) longest = std::max(longest, argument.arg.shape()[0]);
  }
  return longest;
}

const AnyArray& Call::Temporary(int64_t size, DType dtype) {
  absl::StatusOr<AnyArray> array = AnyArray::Empty(stream_, dtype, {size});
  if (!array.ok()) {
    status_.Update(array.status());
    array = AnyArray::Empty(stream_, dtype, {0});  // Nothing is queued after a failure, so nothing looks at it.
  }
  temporaries_.push_back(std::make_unique<const AnyArray>(*std::move(array)));
  return *temporaries_.back();
}

void Call::Queue(const GenericKernel& kernel, const LaunchConfig& config, absl::Span<const Arg> arguments) {
  if (!status_.ok() || config.size == 0) return;
  status_ = kernel.Launch(stream_, config, arguments);
  ++launches_;
}

void Call::Launch(const GenericKernel& kernel, int64_t size, absl::Span<const Arg> temporaries) {
  std::vector<Arg> all(temporaries.begin(), temporaries.end());
  for (const NamedArg& argument : arguments_) all.push_back(argument.arg);
  if (record_ != nullptr) all.emplace_back(*record_);
  Queue(kernel, ForSize(size), all);
}

void Call::LaunchWith(const GenericKernel& kernel, const LaunchConfig& config, std::initializer_list<Arg> arguments) {
  Queue(kernel, config, absl::MakeConstSpan(arguments.begin(), arguments.size()));
}

void Call::Copy(const Arg& to, const Arg& from) {
  if (status_.ok()) status_ = slipway::Copy(stream_, to.view(), from.view());
}

void Call::Fill(const Arg& array, int64_t value) {
  static const GenericKernel kFill = MakeGenericKernel("fill", [](Any array, Int count, Int value) {
    ForEach(count, [&](Int i) { array[i] = Cast(array.dtype(), value); });
  });
  const int64_t count = array.view().size();
  LaunchWith(kFill, ForSize(count), {array, count, value});
}

void Call::SetFirst(std::string_view name, int64_t value) {
  static const GenericKernel kSetFirst =
      MakeGenericKernel("set_first", [](Any array, Int value) { array[0] = Cast(array.dtype(), value); });
  LaunchWith(kSetFirst, LaunchConfig{.grid = {1}, .block = {1}}, {Argument(name), value});
}

}  // namespace slipway::jagged
