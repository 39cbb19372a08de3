// Two simulated GPUs: a "cuda" tensor is in ordinary memory, separate from "cpu" tensors and from the other GPU, and the
// CPU's kernels compute its operators. As on a real GPU, operands on different devices are refused. There are no streams
// and there is no speed: tests with it show only that code for GPUs runs and computes the right values.
//
// Adding a device to torch takes a guard (current device and stream), an allocator, hooks (availability), the operators
// that allocate and copy memory, and a fallback for all other operators.

#include <ATen/EmptyTensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>
#include <torch/library.h>

#include <cstdlib>
#include <cstring>
#include <optional>

using at::Tensor;
using c10::Device, c10::DeviceIndex, c10::DeviceType, c10::OptionalDeviceGuard, c10::Stream;
using c10::SymInt, c10::SymIntArrayRef;

namespace {

constexpr DeviceIndex GPUS = 2;
thread_local DeviceIndex current = 0;

Device here() {
  return Device(DeviceType::CUDA, current);
}

// -- the device: the current one; it has one stream, whose work is always finished

struct Guard final : c10::impl::NoOpDeviceGuardImpl<DeviceType::CUDA> {
  Guard() = default;
  Device getDevice() const override {
    return here();
  }
  void setDevice(Device device) const override {
    current = std::max<DeviceIndex>(device.index(), 0);
  }
  void uncheckedSetDevice(Device device) const noexcept override {
    setDevice(device);
  }
  Device exchangeDevice(Device device) const override {
    Device before = here();
    setDevice(device);
    return before;
  }
  DeviceIndex deviceCount() const noexcept override {
    return GPUS;
  }
  Stream getStream(Device device) const noexcept override {
    return Stream(Stream::DEFAULT, device.has_index() ? device : here());
  }
  Stream getDefaultStream(Device device) const override {
    return getStream(device);
  }
  Stream getNewStream(Device device, int) const override {
    return getStream(device);
  }
  Stream exchangeStream(Stream stream) const noexcept override {
    return getStream(stream.device());
  }
  void record(void**, const Stream&, const DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override {
    return true;
  }
  void destroyEvent(void*, const DeviceIndex) const noexcept override {}
  bool queryStream(const Stream&) const override {
    return true;
  }
  void synchronizeStream(const Stream&) const override {}
  void synchronizeEvent(void*) const override {}
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard)

// -- memory

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* begin = nullptr;
    TORCH_CHECK(bytes == 0 || posix_memalign(&begin, 64, bytes) == 0, "out of memory");
    return {begin, begin, &std::free, here()};
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return &std::free;
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
} memory;

// -- hooks: whether a GPU is available

struct Hooks final : at::CUDAHooksInterface {
  explicit Hooks(at::CUDAHooksArgs) {
    c10::SetAllocator(DeviceType::CUDA, &memory, /*priority=*/9);
  }
  void init() const override {}
  bool hasCUDA() const override {
    return true;
  }
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  bool hasPrimaryContext(DeviceIndex) const override {
    return true;
  }
  DeviceIndex deviceCount() const override {
    return GPUS;
  }
  DeviceIndex getCurrentDevice() const override {
    return current;
  }
  DeviceIndex current_device() const override {
    return current;
  }
  int getNumGPUs() const override {
    return GPUS;
  }
  at::Allocator* getCUDADeviceAllocator() const override {
    return &memory;
  }
};

// -- operators

using Type = std::optional<at::ScalarType>;
using Layout = std::optional<at::Layout>;
using OptionalDevice = std::optional<Device>;
using Pinned = std::optional<bool>;
using Format = std::optional<at::MemoryFormat>;

const c10::DispatchKeySet KEYS(c10::DispatchKey::CUDA);

// A CPU tensor on the same memory.
Tensor as_cpu(const Tensor& tensor) {
  if (!tensor.is_cuda()) {
    return tensor;
  }
  void* begin = tensor.numel() ? tensor.data_ptr() : nullptr;
  return at::from_blob(begin, tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
}

Tensor empty(SymIntArrayRef size, Type type, Layout, OptionalDevice device, Pinned, Format format) {
  OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &memory, KEYS, c10::dtype_or_default(type), format);
}

Tensor empty_strided(SymIntArrayRef size, SymIntArrayRef stride, Type type, Layout, OptionalDevice device, Pinned) {
  OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(
      C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &memory, KEYS, c10::dtype_or_default(type));
}

Tensor& copy(Tensor& to, const Tensor& from, bool) {
  as_cpu(to).copy_(as_cpu(from));
  return to;
}

Tensor copy_from(const Tensor& from, const Tensor& to, bool) {
  as_cpu(to).copy_(as_cpu(from));
  return to;
}

const Tensor& resize(const Tensor& self, SymIntArrayRef size, Format) {
  auto sizes = C10_AS_INTARRAYREF_SLOW(size);
  if (self.sizes() == sizes) {
    return self;
  }
  size_t bytes = (c10::multiply_integers(sizes) + self.storage_offset()) * self.dtype().itemsize();
  auto storage = self.storage();
  if (bytes > storage.nbytes()) {
    auto grown = memory.allocate(bytes);
    if (storage.nbytes()) {
      std::memcpy(grown.get(), storage.data(), storage.nbytes());
    }
    storage.set_data_ptr(std::move(grown));
    storage.set_nbytes(bytes);
  }
  self.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return self;
}

Tensor copy_from_and_resize(const Tensor& from, const Tensor& to) {
  resize(to, from.sym_sizes(), {});
  return copy_from(from, to, false);
}

Tensor as_strided(const Tensor& self, SymIntArrayRef size, SymIntArrayRef stride, std::optional<SymInt> offset) {
  auto begins = offset ? std::optional<int64_t>(offset->expect_int()) : std::nullopt;
  return at::native::as_strided_tensorimpl(
      self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), begins);
}

Tensor view(const Tensor& self, SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

Tensor reshape_alias(const Tensor& self, SymIntArrayRef size, SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

at::Scalar number(const Tensor& tensor) {
  return as_cpu(tensor).item();
}

// Refuses operands on different devices, as a GPU does; single numbers and indices may be elsewhere.
void check_same_device(const c10::OperatorHandle& op, const std::vector<Tensor>& operands) {
  std::optional<Device> common;
  for (const Tensor& tensor : operands) {
    if (tensor.defined() && tensor.dim() > 0) {
      TORCH_CHECK(
          tensor.device() == common.value_or(tensor.device()) && tensor.is_cuda(),
          "Expected all tensors to be on the same device: ", op.schema());
      common = tensor.device();
    }
  }
}

void on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  bool indexes = op.schema().name().find("index") != std::string::npos;
  std::vector<Tensor> operands;
  for (auto& value : torch::jit::last(stack, op.schema().arguments().size())) {
    if (value.isTensor()) {
      operands.push_back(value.toTensor());
    } else if (value.isTensorList() && !indexes) {
      for (const Tensor& tensor : value.toTensorVector()) {
        operands.push_back(tensor);
      }
    }
  }
  check_same_device(op, operands);
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("copy_", copy);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("resize_", resize);
  library.impl("as_strided", as_strided);
  library.impl("view", view);
  library.impl("_reshape_alias", reshape_alias);
  library.impl("_local_scalar_dense", number);
}

}  // namespace

namespace at {
C10_REGISTER_TYPED_CLASS(CUDAHooksRegistry, "CUDAHooks", Hooks)
}

// DistributedDataParallel times its own work and needs a timer for the device; this one measures nothing.
namespace c10d {
struct NoTimer final : Timer {
  explicit NoTimer(c10::Device) {}
  std::optional<int64_t> measureDifference(Event, Event) override {
    return 0;
  }
};
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kCUDA, NoTimer)
}  // namespace c10d
