// A Python module for check.py: arrays of Slipway as objects with __dlpack__, made from other libraries' capsules.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "slipway/array.h"
#include "slipway/cpu_device.h"
#include "slipway/dlpack.h"
#include "slipway/elementwise.h"

namespace py = pybind11;
namespace sw = slipway;

namespace {

template <class T>
T Value(absl::StatusOr<T> value) {
  if (!value.ok()) throw py::value_error(std::string(value.status().message()));
  return *std::move(value);
}
void Check(const absl::Status& status) {
  if (!status.ok()) throw py::value_error(std::string(status.message()));
}

const sw::Device& TheDevice() {
  static const sw::Device device = sw::Device::Open("cpu").value();
  return device;
}
const sw::Stream& TheStream() {
  static const sw::Stream stream = TheDevice().CreateStream().value();
  return stream;
}

class Capsules {
 public:
  explicit Capsules(sw::AnyArray array) : array_(std::move(array)) {}

  // Takes a capsule over, as the protocol says: it is renamed, so that its own destructor leaves the tensor alone.
  static Capsules From(const py::object& producer) {
    py::object capsule;
    try {
      capsule = producer.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(1, 0));
    } catch (py::error_already_set& error) {
      if (!error.matches(PyExc_TypeError)) throw;  // Producers from before DLPack 1.0 do not know the argument.
      capsule = producer.attr("__dlpack__")();
    }
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
      auto* const tensor =
          static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
      Capsules taken(Value(sw::FromDLPack(TheDevice(), tensor)));
      PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
      return taken;
    }
    auto* const tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    if (tensor == nullptr) throw py::error_already_set();
    Capsules taken(Value(sw::FromDLPack(TheDevice(), tensor)));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    return taken;
  }

  py::capsule Export(const py::object& stream, const py::object& max_version) const {
    Check(sw::WaitFor(TheStream(), stream.is_none() ? 1 : stream.cast<int64_t>()));
    if (max_version.is_none() || max_version.cast<std::pair<int, int>>().first < 1) {
      return py::capsule(Value(sw::ToDLPack(array_)), "dltensor", [](PyObject* capsule) {
        if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
        Drop(static_cast<Head*>(PyCapsule_GetPointer(capsule, "dltensor")));
      });
    }
    return py::capsule(Value(sw::ToDLPackVersioned(array_)), "dltensor_versioned", [](PyObject* capsule) {
      if (PyCapsule_IsValid(capsule, "dltensor_versioned") == 0) return;
      DropVersioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    });
  }

  py::tuple Device() const {
    const sw::DlpackDevice device = Value(sw::DlpackDeviceOf(array_.device()));
    return py::make_tuple(device.type, device.id);
  }

  // A formula over arrays, in their order of appearance.
  static Capsules Evaluate(const std::string& text, const std::vector<Capsules>& inputs) {
    const sw::Elementwise formula = Value(sw::Elementwise::Parse(text));
    std::vector<sw::Arg> args;
    for (const Capsules& input : inputs) args.emplace_back(input.array_);
    std::vector<sw::AnyArray> outputs = Value(formula.Evaluate(TheStream(), absl::Span<const sw::Arg>(args)));
    Check(TheStream().Synchronize());
    return Capsules(std::move(outputs[0]));
  }

  Capsules Transposed() const { return Capsules(Value(array_.Transposed())); }
  uint64_t Address() const { return array_.view().Address(); }
  bool ReadOnly() const { return array_.view().read_only(); }
  std::string Text() const { return sw::Describe(array_.view()); }

 private:
  // What stands in front of each form, for the deleters.
  struct Head;
  static void Drop(Head* head);
  static void DropVersioned(void* tensor);

  sw::AnyArray array_;
};

// The public layout of both forms, as far as the deleters.
struct Tensor {
  void* data;
  int32_t device[2];
  int32_t ndim, dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct Capsules::Head {
  Tensor tensor;
  void* context;
  void (*deleter)(Head*);
};
void Capsules::Drop(Head* head) { head->deleter(head); }
void Capsules::DropVersioned(void* tensor) {
  struct Versioned {
    uint32_t version[2];
    void* context;
    void (*deleter)(void*);
  };
  static_cast<Versioned*>(tensor)->deleter(tensor);
}

}  // namespace

PYBIND11_MODULE(slipway_dlpack, module) {
  py::class_<Capsules>(module, "Array")
      .def_static("from_dlpack", &Capsules::From)
      .def_static("evaluate", &Capsules::Evaluate)
      .def("__dlpack__", &Capsules::Export, py::arg("stream") = py::none(), py::arg("max_version") = py::none())
      .def("__dlpack_device__", &Capsules::Device)
      .def("transposed", &Capsules::Transposed)
      .def_property_readonly("address", &Capsules::Address)
      .def_property_readonly("read_only", &Capsules::ReadOnly)
      .def("__repr__", &Capsules::Text);
}
