#include "slipway/generic_kernel.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "driver/log.h"
#include "driver/status_macros.h"
#include "launch/run_all.h"
#include "launch/type_words.h"

namespace slipway {
namespace {

// So many specialisations of one kernel make it likely that one more will come with every call.
constexpr size_t kManyVariants = 32;

// What all arrays of a call have or do not: chosen together, so that a call of n arrays is one of a few kinds, not of
// 2^n.
constexpr Facts kAligned = facts::kVector | facts::kVectorRows;
constexpr Facts kForm = facts::kIndex32 | kAligned;
Facts FormOf(absl::Span<const Arg> args) {
  Facts form = kForm;
  for (const Arg& arg : args) {
    if (arg.is_array()) form &= arg.facts();
  }
  return form;
}

// What a maker is told of an array beside its kind, dtype and rank.
void SetForm(ParamSpec& spec, bool contiguous, Facts form) {
  spec.layout = contiguous ? Layout::kContiguous : Layout::kStrided;
  spec.index = form & facts::kIndex32 ? IndexWidth::kIndex32 : IndexWidth::kIndex64;
  // Elements that are apart from each other are accessed one by one, wherever they lie.
  spec.vector = contiguous && spec.rank > 0 && (form & facts::kVector) != 0;
  spec.vector_rows = contiguous && spec.rank > 1 && (form & facts::kVectorRows) != 0;
}

// What a maker is told of an argument of a call of that form.
ParamSpec SpecOf(Facts word, Facts form) {
  if (word & facts::kScalar) return {.name = {}, .kind = ParamKind::kScalar, .dtype = facts::DTypeOf(word)};
  if (word & facts::kStruct) {
    return {.name = {},
            .kind = ParamKind::kStruct,
            .struct_size = static_cast<uint32_t>(word >> facts::kStructSizeShift),
            .struct_align = uint32_t{1} << ((word & facts::kAlignMask) >> facts::kAlignShift)};
  }
  ParamSpec spec{.name = {}, .dtype = facts::DTypeOf(word), .read_only = (word & facts::kReadOnly) != 0};
  if (word & facts::kPointer) {
    spec.kind = ParamKind::kPointer;
    return spec;
  }
  spec.kind = ParamKind::kArray;
  spec.rank = facts::RankOf(word);
  SetForm(spec, (word & facts::kContiguous) != 0, form);
  return spec;
}

// The bits of a facts word that choose the specialisation, beside those of the form.
constexpr Facts kChoice =
    facts::kDTypeMask | facts::kRankMask | facts::kContiguous | facts::kScalar | facts::kPointer | facts::kStruct;
uint64_t ChoiceOf(Facts word) {
  if (word & facts::kStruct) return word;
  if (word & facts::kScalar) return word & (facts::kScalar | facts::kDTypeMask);
  return word & kChoice;
}

// The same of what a caller says that arguments will be.
uint64_t ChoiceOf(const ParamSpec& spec) {
  switch (spec.kind) {
    case ParamKind::kScalar:
      return ChoiceOf(facts::OfScalar(spec.dtype));
    case ParamKind::kStruct:
      return ChoiceOf(facts::OfStruct(spec.struct_size, spec.struct_align));
    case ParamKind::kPointer:
      return ChoiceOf(facts::OfPointer(spec.dtype, spec.read_only, /*address=*/0));
    case ParamKind::kArray:
      break;
  }
  const bool contiguous = spec.layout == Layout::kContiguous || spec.rank == 0;
  return static_cast<Facts>(spec.dtype) | static_cast<Facts>(spec.rank) << facts::kRankShift |
         (contiguous ? facts::kContiguous : 0);
}

using Key = absl::InlinedVector<uint64_t, 16>;
Key KeyOf(const Device& device, Facts form) { return {facts::OfDevice(device.id()) | form}; }

// The forms of calls whose arguments a caller describes so. What is not said of alignment may be either way.
absl::InlinedVector<Facts, 3> FormsOf(const Signature& signature) {
  Facts form = kForm, said = kAligned;
  bool has_rows = false;
  for (const ParamSpec& spec : signature) {
    if (spec.kind != ParamKind::kArray) continue;
    if (spec.index != IndexWidth::kIndex32) form &= ~facts::kIndex32;
    if (!spec.vector) said = 0;
    if (!spec.vector_rows && spec.rank > 1) said &= ~facts::kVectorRows;
    has_rows |= spec.rank > 1;
  }
  absl::InlinedVector<Facts, 3> forms = {form};
  if (has_rows && (said & facts::kVectorRows) == 0) forms.push_back(form & ~facts::kVectorRows);
  if ((said & facts::kVector) == 0) forms.push_back(form & ~kAligned);
  return forms;
}

Signature SignatureOf(absl::Span<const Arg> args, Facts form) {
  Signature signature;
  for (const Arg& arg : args) signature.push_back(SpecOf(arg.facts(), form));
  return signature;
}

// Whether a parameter is of the kind, dtype and rank that it was made for, or an address of such an array: room for it
// is made in the launch buffer before anything is compared. What else it asks for, each launch looks at.
bool Takes(const ParamSpec& made, const ParamSpec& asked) {
  const bool address_of_array = made.kind == ParamKind::kPointer && asked.kind == ParamKind::kArray;
  if (made.kind != asked.kind && !address_of_array) return false;
  const bool untyped = made.kind == ParamKind::kPointer && (made.dtype == DType::kVoid || asked.dtype == DType::kVoid);
  if (made.dtype != asked.dtype && !untyped) return false;
  return address_of_array ||
         (made.rank == asked.rank && made.struct_size == asked.struct_size && made.struct_align == asked.struct_align);
}

// Where two signatures differ, of those of `earlier` that one is most like: "argument #2 was float32[:] and is
// float64[:]". Kernels of other devices are not compared.
std::string Difference(const Device& device, const Signature& now, const std::vector<Kernel>& earlier) {
  size_t fewest = SIZE_MAX;
  std::string text = "the device is another";
  for (const Kernel& kernel : earlier) {
    if (!(kernel.device() == device)) continue;
    if (fewest == SIZE_MAX) text = "the number of arguments is another";
    const Signature& then = kernel.signature();
    if (then.size() != now.size()) continue;
    size_t count = 0;
    std::string differences;
    for (size_t i = 0; i < now.size(); ++i) {
      ParamSpec was = then[i], is = now[i];
      was.name = is.name = {};
      was.read_only = is.read_only = false;
      if (was == is) continue;
      ++count;
      absl::StrAppend(&differences, differences.empty() ? "" : ", ", "argument #", i + 1, " was ", Describe(was),
                      " and is ", Describe(is));
    }
    if (count == 0 || count >= fewest) continue;
    fewest = count;
    text = std::move(differences);
  }
  return text;
}

// What plain calls are asked, of a kernel that was made for `asked` in that form. None where its arrays, or those that
// it was made for, are of both layouts, or where it takes addresses for arrays.
internal::PlainDemand PlainDemandOf(const Kernel& kernel, const Signature& asked, Facts form) {
  const Signature& made = kernel.signature();
  const BufferLayout natural = LayOut(made);
  if (asked.size() > 64) return {};
  Facts given = facts::kContiguous | facts::kStrided;
  bool takes[2] = {true, true};  // By layout.
  internal::PlainDemand demand = {.mask = 0, .want = form & facts::kIndex32};
  for (size_t i = 0; i < asked.size(); ++i) {
    if (made[i].kind != asked[i].kind || kernel.params()[i].offset != natural.offsets[i]) return {};
    if (asked[i].kind != ParamKind::kArray) continue;
    given &= asked[i].layout == Layout::kContiguous ? facts::kContiguous : facts::kStrided;
    if (made[i].rank > 0) takes[made[i].layout == Layout::kStrided] = false;
    if (!made[i].read_only) demand.written |= uint64_t{1} << i;
    demand.want |= kernel.params()[i].demand.want;
  }
  if (given == 0 || !(takes[0] || takes[1])) return {};
  demand.layout = takes[static_cast<int>(Layout::kContiguous)] ? Layout::kContiguous : Layout::kStrided;
  if (given != (facts::kContiguous | facts::kStrided)) demand.want |= given;  // There are arrays.
  demand.want &= ~(facts::kDTypeMask | facts::kRankMask);                     // Which are in the words of the types.
  demand.mask = demand.want | (kForm & ~form);
  return demand;
}

}  // namespace

constinit const GenericKernel::TypeTable GenericKernel::none_;
constinit GenericKernel::Launched GenericKernel::unused_;

GenericKernel::State& GenericKernel::MakeState() const {
  auto made = std::make_unique<State>(
      recipe_.name, recipe_.make_maker == nullptr ? nullptr : recipe_.make_maker(recipe_.name, recipe_.kept));
  Launched* used = &unused_;
  if (used_.compare_exchange_strong(used, made.get(), std::memory_order_acq_rel)) return *made.release();
  return static_cast<State&>(*used);  // Another thread's.
}

void GenericKernel::Adopt(std::string name, Maker maker) {
  used_.store(new State(std::move(name), std::move(maker)), std::memory_order_relaxed);
}

void GenericKernel::Disown() {
  auto* const state = static_cast<State*>(used_.load(std::memory_order_relaxed));
  if (state->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete state;
}

GenericKernel::GenericKernel(const GenericKernel& other) {
  State& state = other.state();
  state.owners.fetch_add(1, std::memory_order_relaxed);
  used_.store(&state, std::memory_order_relaxed);
}

GenericKernel& GenericKernel::operator=(GenericKernel other) noexcept {
  Launched* const used = used_.load(std::memory_order_relaxed);
  used_.store(other.used_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  other.used_.store(used, std::memory_order_relaxed);
  std::swap(recipe_, other.recipe_);
  return *this;
}

absl::StatusOr<GenericKernel::Variant> GenericKernel::Make(const Device& device, const Signature& signature,
                                                           Facts form) const {
  State& state = this->state();
  if (!state.maker) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel '", state.name, "': its maker is empty; give a function that makes kernels"));
  }
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    if (std::find(state.devices.begin(), state.devices.end(), device) == state.devices.end()) {
      state.devices.push_back(device);
    }
  }
  SLIPWAY_ASSIGN_OR_RETURN(Kernel kernel, state.maker(device, signature));
  const Signature& made = kernel.signature();
  if (!(kernel.device() == device) ||
      !std::equal(made.begin(), made.end(), signature.begin(), signature.end(), Takes)) {
    return absl::InternalError(absl::StrCat("kernel '", state.name, "': its maker was asked for ", Describe(signature),
                                            " on ", device.Describe(), " and made ", Describe(kernel.signature()),
                                            " on ", kernel.device().Describe(), "; mend the maker"));
  }
  Variant variant(kernel);
  variant.device = device.state().get();
  variant.type_words = internal::TypeWordsOf(signature);
  for (size_t i = 0; i < signature.size(); ++i) {
    const ParamSpec& spec = signature[i];
    Variant::Param param{.demand = kernel.params()[i].demand, .offset = kernel.params()[i].offset};
    if (spec.kind == ParamKind::kArray) {
      // Contiguous if and only if it was made for that, or demands it; 32-bit indices where it was made for those.
      param.demand.mask |= facts::kContiguous;
      if (spec.layout == Layout::kContiguous) param.demand.want |= facts::kContiguous;
      param.demand.mask |= form & facts::kIndex32;
      param.demand.want |= form & facts::kIndex32;
    }
    variant.params.push_back(param);
  }
  // A kernel that was told of aligned arrays and asks for none serves the others, too.
  variant.forbidden = kForm & ~form;
  variant.plain = PlainDemandOf(kernel, signature, form);

  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.variants.size() + 1 == kManyVariants) {
    LogWarning(absl::StrCat(
        "kernel '", state.name, "' has been specialised ", kManyVariants,
        " times; compared with the one most like it, in the last one ", Difference(device, signature, state.variants),
        ". Each specialisation is compiled and kept: give it fewer kinds of arguments if that is not "
        "meant. (Said once.)"));
  }
  state.variants.push_back(std::move(kernel));
  return variant;
}

absl::StatusOr<const GenericKernel::Variant*> GenericKernel::Find(const Device& device,
                                                                  absl::Span<const Arg> args) const {
  const Facts form = FormOf(args);
  Key key = KeyOf(device, form);
  for (const Arg& arg : args) key.push_back(ChoiceOf(arg.facts()));
  if (const Variant* variant = state().cache.Find(key)) return variant;

  // Nothing is compiled for arguments that no kernel could take.
  const Signature signature = SignatureOf(args, form);
  for (size_t i = 0; i < args.size(); ++i) {
    ParamSpec readable = signature[i];
    readable.read_only = true;
    const Facts word = args[i].facts();
    if (DemandOf(readable, device.id()).MisfitOfAny(word) == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel '", state().name, "': ", ExplainMismatch(readable, static_cast<int>(i), device.id(), word)));
  }
  return MakeOnce(device, key, signature, form);
}

absl::StatusOr<const GenericKernel::Variant*> GenericKernel::MakeOnce(const Device& device,
                                                                      absl::Span<const uint64_t> key,
                                                                      const Signature& signature, Facts form) const {
  return state().cache.GetOrMake(key, [&] { return Make(device, signature, form); });
}

absl::Status GenericKernel::Precompile(const Device& device, absl::Span<const Signature> signatures) const {
  if (device.state() == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", state().name, "': the device was moved from"));
  }
  return internal::RunAll(signatures.size(), [&](size_t i) -> absl::Status {
    for (const ParamSpec& spec : signatures[i]) {
      if (spec.kind != ParamKind::kArray || (spec.rank >= 0 && spec.rank <= kMaxRank)) continue;
      return absl::InvalidArgumentError(absl::StrCat("kernel '", state().name, "': signature #", i + 1,
                                                     " has an array of rank ", spec.rank, "; 0 to ", kMaxRank,
                                                     " are possible"));
    }
    for (const Facts form : FormsOf(signatures[i])) {
      Signature signature = signatures[i];
      Key key = KeyOf(device, form);
      for (ParamSpec& spec : signature) {
        key.push_back(ChoiceOf(spec));
        // As SpecOf says it of an argument.
        spec.name.clear();
        if (spec.kind == ParamKind::kArray) SetForm(spec, spec.layout == Layout::kContiguous || spec.rank == 0, form);
      }
      SLIPWAY_RETURN_IF_ERROR(MakeOnce(device, key, signature, form).status());
    }
    return absl::OkStatus();
  });
}

void GenericKernel::Remember(const Variant* variant, Facts all) const {
  const uint64_t hash = HashCall(variant->type_words, all);
  // The slot that has it for such calls, or the empty one where it would be. The hashes are of who has the lock.
  const auto place_in = [](const TypeTable& table, const Variant* variant, uint64_t hash) {
    for (uint64_t at = hash;; ++at) {
      const Variant* const there = table.slots[at & table.mask].load(std::memory_order_acquire);
      if (there == nullptr || there == variant) return at & table.mask;
    }
  };
  const auto has = [&](const TypeTable& table) {
    return table.slots[place_in(table, variant, hash)].load(std::memory_order_relaxed) != nullptr;
  };
  State& state = this->state();
  if (has(*state.by_types.load(std::memory_order_acquire))) return;
  const std::lock_guard lock(state.mutex);
  if (!state.tables.empty() && has(*state.tables.back())) return;  // Another thread's doing.
  const auto put = [&](const TypeTable& table, const Variant* variant, uint64_t hash) {
    const size_t at = place_in(table, variant, hash);
    table.hashes[at] = hash;
    table.slots[at].store(variant, std::memory_order_release);
  };
  const size_t capacity = state.tables.empty() ? 0 : state.tables.back()->mask + 1;
  if (8 * ++state.launched > capacity) {
    // The new table is filled before anybody can see it.
    auto larger = std::make_unique<const TypeTable>(std::max<size_t>(2 * capacity, 16));
    for (size_t i = 0; i < capacity; ++i) {
      const TypeTable& table = *state.tables.back();
      const Variant* const each = table.slots[i].load(std::memory_order_relaxed);
      if (each != nullptr) put(*larger, each, table.hashes[i]);
    }
    state.tables.push_back(std::move(larger));
  }
  put(*state.tables.back(), variant, hash);
  state.by_types.store(state.tables.back().get(), std::memory_order_release);
}

void GenericKernel::Clear() const {
  State& state = this->state();
  state.by_types.store(&none_, std::memory_order_release);
  state.cache.Clear();
  const std::lock_guard lock(state.mutex);
  state.tables.clear();
  state.launched = 0;
  state.variants.clear();
  state.devices.clear();
}

absl::Status GenericKernel::Launch(const Stream& stream, const LaunchConfig& config, absl::Span<const Arg> args) const {
  if (stream.device().state() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel '", state().name, "': the stream was moved from or destroyed; launch on one that lives"));
  }
  SLIPWAY_ASSIGN_OR_RETURN(const Variant* variant, Find(stream.device(), args));
  Facts all = ~Facts{0};
  for (const Arg& arg : args) {
    if (arg.is_array()) all &= arg.facts();
  }
  Remember(variant, all);
  return variant->kernel.Launch(stream, config, args);
}

absl::StatusOr<Kernel> GenericKernel::For(const Device& device, absl::Span<const Arg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Variant* variant, Find(device, args));
  return variant->kernel;
}

std::vector<Kernel> GenericKernel::variants() const {
  State& state = this->state();
  const std::lock_guard lock(state.mutex);
  return state.variants;
}

}  // namespace slipway
