#include "launch/strided_copy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "launch/byte_range.h"
#include "slipway/array.h"
#include "slipway/graph.h"

namespace slipway {
namespace internal {
namespace {

// Most dimensions of a copy: those of an array, and the parts of complex elements.
constexpr int kDims = kMaxRank + 1;
// Dimensions beyond the two that threads run along; their indices are found by division.
constexpr int kRest = kDims - 2;

// The launch buffer. Strides in bytes; dimension 0 is the innermost.
struct Params {
  uint64_t to, from;
  int64_t count_x, count_y, count_rest;
  int64_t to_x, from_x, to_y, from_y;
  struct {
    int64_t extent, to, from;
  } rest[kRest];
  uint32_t rank_rest;
};
constexpr size_t kParamBytes = offsetof(Params, rank_rest) + sizeof(uint32_t);

// One entry for each width of what is moved at a time: 1, 2, 4 and 8 bytes.
constexpr int kWidths = 4;
std::string EntryName(int log2_width) { return absl::StrCat("slipway_copy_b", 8 << log2_width); }

// Threads run along x, in blocks that may be several rows of y high; all three dimensions of the grid stride, because
// none of them reaches as far as an array may.
constexpr char kHead[] = R"(.version 6.3
.target sm_50
.address_size 64
)";
constexpr char kEntry[] = R"(
.visible .entry $NAME(.param .u64 to, .param .u64 from, .param .u64 nx, .param .u64 ny, .param .u64 nz,
  .param .u64 to_x, .param .u64 from_x, .param .u64 to_y, .param .u64 from_y, .param .align 8 .b8 rest[$REST_BYTES],
  .param .u32 rank)
{
  .reg .pred %p<5>;
  .reg .b16 %h<2>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<40>;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [from];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  ld.param.u64 %rd3, [nx];
  ld.param.u64 %rd4, [ny];
  ld.param.u64 %rd5, [nz];
  ld.param.u64 %rd6, [to_x];
  ld.param.u64 %rd7, [from_x];
  ld.param.u64 %rd8, [to_y];
  ld.param.u64 %rd9, [from_y];
  ld.param.u32 %r1, [rank];
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %tid.x;
  mul.wide.u32 %rd10, %r3, %r2;
  cvt.u64.u32 %rd11, %r4;
  add.s64 %rd10, %rd10, %rd11;
  mov.u32 %r5, %nctaid.x;
  mul.wide.u32 %rd12, %r5, %r2;
  mov.u32 %r6, %ntid.y;
  mov.u32 %r7, %ctaid.y;
  mov.u32 %r8, %tid.y;
  mul.wide.u32 %rd13, %r7, %r6;
  cvt.u64.u32 %rd14, %r8;
  add.s64 %rd13, %rd13, %rd14;
  mov.u32 %r9, %nctaid.y;
  mul.wide.u32 %rd15, %r9, %r6;
  mov.u32 %r10, %ctaid.z;
  cvt.u64.u32 %rd16, %r10;
  mov.u32 %r11, %nctaid.z;
  cvt.u64.u32 %rd17, %r11;
$NAME_z:
  setp.ge.u64 %p1, %rd16, %rd5;
  @%p1 bra $NAME_end;
  mov.u64 %rd18, %rd16;
  mov.u64 %rd19, %rd1;
  mov.u64 %rd20, %rd2;
$REST$NAME_found:
  mov.u64 %rd21, %rd13;
$NAME_y:
  setp.ge.u64 %p2, %rd21, %rd4;
  @%p2 bra $NAME_next_z;
  mad.lo.s64 %rd22, %rd21, %rd8, %rd19;
  mad.lo.s64 %rd23, %rd21, %rd9, %rd20;
  mov.u64 %rd24, %rd10;
$NAME_x:
  setp.ge.u64 %p3, %rd24, %rd3;
  @%p3 bra $NAME_next_y;
  mad.lo.s64 %rd25, %rd24, %rd6, %rd22;
  mad.lo.s64 %rd26, %rd24, %rd7, %rd23;
  ld.global.$TYPE $VALUE, [%rd26];
  st.global.$TYPE [%rd25], $VALUE;
  add.s64 %rd24, %rd24, %rd12;
  bra $NAME_x;
$NAME_next_y:
  add.s64 %rd21, %rd21, %rd15;
  bra $NAME_y;
$NAME_next_z:
  add.s64 %rd16, %rd16, %rd17;
  bra $NAME_z;
$NAME_end:
  ret;
}
)";
constexpr char kRestDimension[] = R"(  setp.le.u32 %p4, %r1, $K;
  @%p4 bra $NAME_found;
  ld.param.u64 %rd27, [rest+$EXTENT];
  ld.param.u64 %rd28, [rest+$TO];
  ld.param.u64 %rd29, [rest+$FROM];
  rem.u64 %rd30, %rd18, %rd27;
  div.u64 %rd18, %rd18, %rd27;
  mad.lo.s64 %rd19, %rd30, %rd28, %rd19;
  mad.lo.s64 %rd20, %rd30, %rd29, %rd20;
)";

std::string CopyPtx() {
  constexpr std::array<std::pair<const char*, const char*>, kWidths> kTypes = {
      {{"u8", "%h1"}, {"u16", "%h1"}, {"u32", "%r12"}, {"u64", "%rd31"}}};
  std::string ptx = kHead;
  for (int width = 0; width < kWidths; ++width) {
    std::string rest;
    for (int k = 0; k < kRest; ++k) {
      absl::StrAppend(&rest, absl::StrReplaceAll(kRestDimension, {{"$K", absl::StrCat(k)},
                                                                  {"$EXTENT", absl::StrCat(24 * k)},
                                                                  {"$TO", absl::StrCat(24 * k + 8)},
                                                                  {"$FROM", absl::StrCat(24 * k + 16)}}));
    }
    const std::string entry = absl::StrReplaceAll(kEntry, {{"$REST_BYTES", absl::StrCat(24 * kRest)},
                                                           {"$REST", rest},
                                                           {"$TYPE", kTypes[static_cast<size_t>(width)].first},
                                                           {"$VALUE", kTypes[static_cast<size_t>(width)].second}});
    absl::StrAppend(&ptx, absl::StrReplaceAll(entry, {{"$NAME", EntryName(width)}}));
  }
  return ptx;
}

// The functions on one device, which keeps them as long as it is open.
struct CopyFunctions {
  explicit CopyFunctions(const DeviceState& on) : state(on) {}
  ~CopyFunctions() {
    const ScopedContext current(state);
    if (current.ok()) static_cast<void>(state.api->ModuleUnload(module));
  }
  CopyFunctions(const CopyFunctions&) = delete;
  CopyFunctions& operator=(const CopyFunctions&) = delete;

  const DeviceState& state;  // Outlives them.
  CUmodule module = nullptr;
  CUfunction by_width[kWidths] = {};
};

// The context is current.
absl::StatusOr<const CopyFunctions*> FunctionsOf(const DeviceState& state) {
  std::lock_guard<std::mutex> lock(state.copy_mutex);
  if (state.copy_functions != nullptr) return static_cast<const CopyFunctions*>(state.copy_functions.get());
  const DriverApi& api = *state.api;
  const RelaxedCapture relaxed(api);  // The first copy may be in a capture.
  constexpr std::string_view kWhat = "cannot load Slipway's kernel for strided copies";
  CUmodule module = nullptr;
  SLIPWAY_RETURN_IF_ERROR(
      DriverStatus(api, api.ModuleLoadDataEx(&module, CopyPtx().c_str(), 0, nullptr, nullptr), kWhat));
  auto functions = std::make_shared<CopyFunctions>(state);
  functions->module = module;
  for (int width = 0; width < kWidths; ++width) {
    SLIPWAY_RETURN_IF_ERROR(
        DriverStatus(api, api.ModuleGetFunction(&functions->by_width[width], module, EntryName(width).c_str()), kWhat));
  }
  state.copy_functions = functions;
  return functions.get();
}

struct Dimension {
  int64_t extent, to, from;  // Strides in bytes.
};

// What there is to do, with as few dimensions as it takes, the innermost first.
struct Plan {
  uint64_t to, from;
  int64_t width;  // Bytes that are moved at a time.
  int rank = 0;
  Dimension dims[kDims];
};

Plan MakePlan(const AnyArrayView& to, const AnyArrayView& from) {
  Plan plan = {.to = to.Address(), .from = from.Address(), .width = static_cast<int64_t>(AlignOf(to.dtype()))};
  const auto size = static_cast<int64_t>(SizeOf(to.dtype()));
  // Parts of complex elements lie side by side, and need not be aligned as a whole.
  if (size != plan.width) plan.dims[plan.rank++] = {size / plan.width, plan.width, plan.width};
  for (size_t d = 0; d < to.shape().size(); ++d) {
    if (to.shape()[d] == 1) continue;
    Dimension dim = {to.shape()[d], to.strides()[d] * size, from.strides()[d] * size};
    if (dim.to < 0) {  // Forward, so that it may merge with others.
      plan.to += static_cast<uint64_t>(dim.to * (dim.extent - 1));
      plan.from += static_cast<uint64_t>(dim.from * (dim.extent - 1));
      dim.to = -dim.to, dim.from = -dim.from;
    }
    plan.dims[plan.rank++] = dim;
  }
  // Neighbours in the target next to each other.
  std::stable_sort(plan.dims, plan.dims + plan.rank,
                   [](const Dimension& a, const Dimension& b) { return a.to < b.to; });
  int merged = 0;
  for (int d = 0; d < plan.rank; ++d) {
    Dimension& last = plan.dims[std::max(merged - 1, 0)];
    const Dimension& next = plan.dims[d];
    if (merged > 0 && next.to == last.to * last.extent && next.from == last.from * last.extent) {
      last.extent *= next.extent;
    } else {
      plan.dims[merged++] = next;
    }
  }
  plan.rank = merged;
  // Runs that are whole words on both sides go by words.
  if (plan.rank > 0 && plan.dims[0].to == plan.width && plan.dims[0].from == plan.width) {
    uint64_t bits = plan.to | plan.from | static_cast<uint64_t>(plan.dims[0].extent * plan.width) | 8;
    for (int d = 1; d < plan.rank; ++d) {
      bits |= static_cast<uint64_t>(plan.dims[d].to) | static_cast<uint64_t>(plan.dims[d].from);
    }
    const int64_t word = int64_t{1} << std::countr_zero(bits);
    plan.dims[0] = {plan.dims[0].extent * plan.width / word, word, word};
    plan.width = word;
  }
  return plan;
}

}  // namespace

absl::Status QueueStridedCopy(const Stream& stream, const AnyArrayView& to, const AnyArrayView& from) {
  const DeviceState& state = *stream.device().state();
  const DriverApi& api = *state.api;
  const ScopedContext current(state);
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const Plan plan = MakePlan(to, from);
  const auto contiguous = [&](const Dimension& dim) { return dim.to == plan.width && dim.from == plan.width; };
  if (plan.rank == 0 || (plan.rank == 1 && contiguous(plan.dims[0]))) {
    const int64_t bytes = plan.width * (plan.rank == 0 ? 1 : plan.dims[0].extent);
    return DriverStatus(api, api.MemcpyDtoDAsync(plan.to, plan.from, static_cast<size_t>(bytes), stream.handle()),
                        "cannot copy an array");
  }
  SLIPWAY_ASSIGN_OR_RETURN(const CopyFunctions* functions, FunctionsOf(state));
  Params params = {.to = plan.to, .from = plan.from, .count_x = plan.dims[0].extent, .count_y = 1, .count_rest = 1};
  params.to_x = plan.dims[0].to, params.from_x = plan.dims[0].from;
  if (plan.rank > 1) {
    params.count_y = plan.dims[1].extent, params.to_y = plan.dims[1].to, params.from_y = plan.dims[1].from;
  }
  for (int d = 2; d < plan.rank; ++d) {
    params.rest[params.rank_rest++] = {plan.dims[d].extent, plan.dims[d].to, plan.dims[d].from};
    params.count_rest *= plan.dims[d].extent;
  }
  constexpr int64_t kThreads = 256, kMostBlocks = 65535;
  const auto block_x =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(params.count_x, 1, kThreads))));
  const int64_t block_y = kThreads / block_x;
  const auto blocks = [&](int64_t count, int64_t block) {
    return static_cast<unsigned>(std::min((count - 1) / block + 1, kMostBlocks));
  };
  size_t bytes = kParamBytes;
  void* extra[] = {kLaunchParamBufferPointer, &params, kLaunchParamBufferSize, &bytes, kLaunchParamEnd};
  return DriverStatus(api,
                      api.LaunchKernel(functions->by_width[std::countr_zero(static_cast<uint64_t>(plan.width))],
                                       blocks(params.count_x, block_x), blocks(params.count_y, block_y),
                                       blocks(params.count_rest, 1), static_cast<unsigned>(block_x),
                                       static_cast<unsigned>(block_y), 1, 0, stream.handle(), nullptr, extra),
                      "cannot copy an array of these strides");
}

}  // namespace internal

absl::Status Copy(const Stream& stream, const AnyArrayView& to, const AnyArrayView& from) {
  SLIPWAY_RETURN_IF_ERROR(stream.CheckUsable());
  const auto error = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("Copy: ", Describe(from), " cannot be copied into ", Describe(to), ": ", AsAbsl(why)));
  };
  if (from.dtype() != to.dtype()) return error("the dtypes differ; convert it by a kernel, as Elementwise y = x is");
  for (const AnyArrayView* view : {&to, &from}) {
    if (facts::DeviceOf(view->facts()) != stream.device().id()) {
      return error(absl::StrCat(view == &to ? "the target" : "the source", " is not of ", stream.device().Describe(),
                                ", which the stream is of"));
    }
    if ((view->facts() & facts::kValid) == 0) {
      return error(absl::StrCat(view == &to ? "the target" : "the source",
                                " has elements at a null or misaligned address, or a negative extent"));
    }
  }
  if ((to.facts() & facts::kWritable) == 0) {
    return error(to.read_only() ? "the target is a view of const elements"
                                : "elements of the target share addresses, so it cannot be written");
  }
  absl::StatusOr<AnyArrayView> source = from.BroadcastTo(to.shape());
  if (!source.ok()) return error("from the last dimension on, extents have to be equal, or 1 in the source");
  if (to.size() == 0) return absl::OkStatus();
  const internal::AddressRange reads = internal::BytesTouched(*source), writes = internal::BytesTouched(to);
  if (reads.first > writes.last || writes.first > reads.last) {
    return internal::QueueStridedCopy(stream, to, *source);
  }
  if (to.data() == source->data() && to.strides() == source->strides()) return absl::OkStatus();
  // By way of other memory, which is given back in the stream's order.
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray between, AnyArray::Empty(stream, from.dtype(), from.shape()));
  if (from.size() > 0) SLIPWAY_RETURN_IF_ERROR(internal::QueueStridedCopy(stream, between.view(), from));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView broadcast, between.view().BroadcastTo(to.shape()));
  return internal::QueueStridedCopy(stream, to, broadcast);
}

}  // namespace slipway
