// Objects that may not be destroyed where their last owner goes: because the device still uses them, or because that is
// on a thread of the driver's, which must not call the driver.
#ifndef SLIPWAY_DRIVER_RETIRED_H_
#define SLIPWAY_DRIVER_RETIRED_H_

#include <memory>

#include "slipway/stream.h"

namespace slipway::internal {

// Destroys `object` once what was queued before `event` was last recorded has finished: at once if it has, else in a
// later Reap. An event that was never recorded has.
void DestroyAfter(std::shared_ptr<const Event> event, std::shared_ptr<const void> object);

// Destroys `object` in a later Reap. Calls no driver, so it may be called by a host function.
void DestroyLater(std::shared_ptr<const void> object);

// Destroys what is due. Called where a program may expect that memory is given back: before an allocation, after a
// wait. Costs one load where nothing is retired; does nothing inside a host function.
void Reap();

// Marks the calling thread as running a host function while it lives.
class InHostFunction {
 public:
  InHostFunction();
  ~InHostFunction();
  InHostFunction(const InHostFunction&) = delete;
  InHostFunction& operator=(const InHostFunction&) = delete;

 private:
  bool outer_;
};

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_RETIRED_H_
