// Handlers of XLA's FFI, as a user of JAX writes them. Built by test_ffi.py with jaxlib's headers.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

// result = scale * x + weights[i % size] + options.shift, and the length of a text.
ffi::Error Scaled(ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Buffer<ffi::F32>> result,
                  ffi::Result<ffi::BufferR0<ffi::S32>> length, float scale, std::string_view text,
                  ffi::Span<const int64_t> weights, ffi::Dictionary options) {
  auto shift = options.get<float>("shift");
  auto negative = options.get<bool>("negative");
  if (shift.has_error()) return shift.error();
  if (negative.has_error()) return negative.error();
  for (size_t i = 0; i < x.element_count(); i++) {
    float value = scale * x.typed_data()[i] + weights[i % weights.size()] + *shift;
    result->typed_data()[i] = *negative ? -value : value;
  }
  *length->typed_data() = text.size();
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(scaled, Scaled,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::BufferR0<ffi::S32>>()
                                  .Attr<float>("scale")
                                  .Attr<std::string_view>("text")
                                  .Attr<ffi::Span<const int64_t>>("weights")
                                  .Attr<ffi::Dictionary>("options"));

ffi::Error Fails(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer>) {
  if (x.dimensions()[0] > 2) return ffi::Error::InvalidArgument("at most two, if you please");
  return ffi::Error(ffi::ErrorCode::kDataLoss, "lost");
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(fails, Fails,
                              ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// A state that is made with the program, and counts the calls.
struct Counter {
  static ffi::TypeId id;
  static int64_t alive;
  int64_t calls;
  explicit Counter(int64_t start) : calls(start) { alive++; }
  ~Counter() { alive--; }
};
ffi::TypeId Counter::id = {};
int64_t Counter::alive = 0;

extern "C" XLA_FFI_TypeId *counter_id() { return &Counter::id; }
extern "C" const XLA_FFI_TypeInfo *counter_info() {
  static const XLA_FFI_TypeInfo info = ffi::MakeTypeInfo<Counter>();
  return &info;
}
extern "C" int64_t counters_alive() { return Counter::alive; }

ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter(int64_t start) {
  if (start < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("counts from 0"));
  return std::make_unique<Counter>(start);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(make_counter, MakeCounter,
                              ffi::Ffi::BindInstantiate().Attr<int64_t>("start"));

ffi::Error Count(Counter *counter, ffi::Result<ffi::BufferR0<ffi::S32>> calls, int64_t) {
  *calls->typed_data() = ++counter->calls;
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(count, Count,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::State<Counter>>()
                                  .Ret<ffi::BufferR0<ffi::S32>>()
                                  .Attr<int64_t>("start"));

// Column-major in and out, in memory that is taken for the call; ends on another thread.
ffi::Future RunningSums(ffi::ThreadPool threads, ffi::ScratchAllocator scratch, ffi::RunId run,
                        ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Buffer<ffi::F32>> sums) {
  ffi::Promise promise;
  ffi::Future future(promise);
  if (run.run_id == 0 || threads.num_threads() < 1 || !scratch.Allocate(64, 64)) {
    promise.SetError(ffi::Error::Internal("no run, no thread or no memory"));
    return future;
  }
  threads.Schedule([promise = std::move(promise), from = x.typed_data(), to = sums->typed_data(),
                    count = x.element_count()]() mutable {
    float sum = 0;
    for (size_t i = 0; i < count; i++) to[i] = sum += from[i];
    promise.SetAvailable();
  });
  return future;
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(running_sums, RunningSums,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .Ctx<ffi::RunId>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

// The result lies where the operand did.
ffi::Error AddOneInPlace(ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Buffer<ffi::F32>> result) {
  if (x.typed_data() != result->typed_data()) return ffi::Error::Internal("not in place");
  for (size_t i = 0; i < x.element_count(); i++) result->typed_data()[i] += 1;
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    add_one_in_place, AddOneInPlace,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
