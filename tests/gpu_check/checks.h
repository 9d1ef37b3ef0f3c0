// The parts of the GPU check (tools/gpu_check, docs/gpu-check.md). Each runs on a device that it is given, and answers
// with what belongs into the report; an error means that the part could not be carried out, not that a device is wrong.
#ifndef SLIPWAY_TESTS_GPU_CHECK_CHECKS_H_
#define SLIPWAY_TESTS_GPU_CHECK_CHECKS_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "slipway/device.h"

namespace slipway::gpu_check {

using Json = nlohmann::ordered_json;  // Reports are read by people, too.

// Which device there is: {"device", "gpu": whether it is one, "why": why not, and its properties}.
Json DescribeDevice(const Device& device, const absl::Status& gpu);

// Runs the instruction forms of tests/data/ptx-vectors in `folder` by plain driver calls, and compares each result with
// the table's. {"forms", "refused": [...], "wrong": [{"form", "cases", "wrong", "first"}], "cases", "passed"}.
absl::StatusOr<Json> RunVectors(const Device& device, const std::string& folder);

// Runs kernels on both devices over the same values and compares what comes out, bit by bit, any NaN being like any
// other: every operator and cast over every dtype, formulas in text, embedded kernels; those alone whose names contain
// `only`. {"kernels", "values",
// "different": [{"kernel", "values", "different", "first"}], "failed": [{"kernel", "error"}]}.
absl::StatusOr<Json> CompareDevices(const Device& device, const Device& reference, const std::string& only);

// Bytes a second of a copy from device memory to device memory, of saxpy and of a sum, over `elements` float32 each.
// {"elements", "copy_gb_s", "saxpy_gb_s", "sum_gb_s"}; an error if one computes what is wrong.
absl::StatusOr<Json> MeasureBandwidth(const Device& device, int64_t elements);

// What launches cost, by the paths and cases of benchmarks/launch_cases: [{"path", "case", "ns"}]. Ends the process if
// a launch fails.
absl::StatusOr<Json> MeasureLaunches(const Device& device);

// One report of the JSON files in `folder`, each under its name. GoogleTest's, tests.json, is cut down to what failed.
absl::StatusOr<Json> MergeReports(const std::string& folder);
// The report as a table that people read.
std::string Table(const Json& report);

}  // namespace slipway::gpu_check

#endif  // SLIPWAY_TESTS_GPU_CHECK_CHECKS_H_
