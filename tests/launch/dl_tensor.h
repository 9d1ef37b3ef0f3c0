// A DLTensor as dlpack.h of any version declares it: a struct without a name.
#ifndef SLIPWAY_TESTS_LAUNCH_DL_TENSOR_H_
#define SLIPWAY_TESTS_LAUNCH_DL_TENSOR_H_

#include <cstdint>

typedef struct {
  void* data;
  struct {
    int device_type;
    int32_t device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} TestTensor;

#endif  // SLIPWAY_TESTS_LAUNCH_DL_TENSOR_H_
