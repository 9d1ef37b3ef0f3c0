#include "driver/peer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "slipway/graph.h"

namespace slipway::internal {
namespace {

// Lets work in the context of `device` use memory of `peer`. Whether it comes to that makes copies fast or slow, never
// wrong, so no error is reported.
void Enable(const DeviceState& device, const DeviceState& peer) {
  const DriverApi& api = *device.api;
  const ScopedContext current(device);
  const RelaxedCapture relaxed(api);
  int can = 0;
  if (!current.ok() || api.DeviceCanAccessPeer(&can, device.device, peer.device) != CUDA_SUCCESS || can == 0) return;
  // Somebody else may have enabled it: an error that says so is as good.
  static_cast<void>(api.CtxEnablePeerAccess(peer.context, 0));
}

// Once for each pair of devices, by id: one that is opened anew has another id and another context.
void EnableOnce(const DeviceState& a, const DeviceState& b) {
  static auto* const mutex = new std::mutex;
  static auto* const enabled = new std::set<std::pair<uint16_t, uint16_t>>;
  {
    std::lock_guard<std::mutex> lock(*mutex);
    if (!enabled->insert(std::minmax(a.id, b.id)).second) return;
  }
  Enable(a, b);
  Enable(b, a);
}

std::string CopyText(const Place& from, const Place& to) {
  return absl::StrCat("cannot copy from ", from.device.Describe(), " to ", to.device.Describe());
}

}  // namespace

absl::Status QueueCopy(const Place& from, const Place& to, size_t bytes, const Stream& stream) {
  const DriverApi& api = stream.device().api();
  const bool peers = !(from.device == to.device);
  if (peers) EnableOnce(*from.device.state(), *to.device.state());
  const ScopedContext current(*stream.device().state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const CUresult result = peers ? api.MemcpyPeerAsync(to.address, to.device.context(), from.address,
                                                      from.device.context(), bytes, stream.handle())
                                : api.MemcpyDtoDAsync(to.address, from.address, bytes, stream.handle());
  return result == CUDA_SUCCESS ? absl::OkStatus() : DriverStatus(api, result, CopyText(from, to));
}

absl::Status CopyThroughHost(const Place& from, const Place& to, size_t bytes) {
  constexpr size_t kPieceBytes = size_t{16} << 20;
  const size_t piece_bytes = std::min(bytes, kPieceBytes);
  const std::unique_ptr<std::byte[]> piece(new std::byte[piece_bytes]);
  const DriverApi& source = from.device.api();
  const DriverApi& target = to.device.api();
  for (size_t done = 0; done < bytes; done += piece_bytes) {
    const size_t count = std::min(piece_bytes, bytes - done);
    const auto check = [&](const DriverApi& api, CUresult result) {
      return result == CUDA_SUCCESS ? absl::OkStatus() : DriverStatus(api, result, CopyText(from, to));
    };
    {
      const ScopedContext current(*from.device.state());
      SLIPWAY_RETURN_IF_ERROR(current.status());
      SLIPWAY_RETURN_IF_ERROR(check(source, source.MemcpyDtoH(piece.get(), from.address + done, count)));
    }
    const ScopedContext current(*to.device.state());
    SLIPWAY_RETURN_IF_ERROR(current.status());
    SLIPWAY_RETURN_IF_ERROR(check(target, target.MemcpyHtoD(to.address + done, piece.get(), count)));
    // Staged by then, perhaps, and not there yet: see DeviceMemory::CopyFromHost.
    SLIPWAY_RETURN_IF_ERROR(check(target, target.StreamSynchronize(kStreamLegacy)));
  }
  return absl::OkStatus();
}

}  // namespace slipway::internal
