// A stand-in for NVIDIA's driver, on a machine without a GPU: what PyCUDA and our graphs call.
//
// A "cubin" is the path of a library that emit_cuda.host has compiled, and a launch runs it on the
// processor. Memory is the processor's. Streams do everything at once, unless they record a graph.
// It checks what a driver would: current contexts, live memory, sizes of copies, known handles.
#include "threads.h"

#include <dlfcn.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace cuda_on_host;
typedef unsigned long long Address;
typedef int Status;
enum { OK = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_IMAGE = 200, NOT_FOUND = 500, INVALID_HANDLE = 400,
       ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719, UNSUPPORTED_CAPTURE = 900 };

struct Module { void *library; Kernel *kernels; };
struct Function { Module *module; Kernel *kernel; int most_shared = 48 << 10; };
struct Graph { std::vector<std::function<Status()>> nodes; };
struct Stream { Graph *recording = nullptr; };
struct Event { struct timespec time; };
static Stream usual;
static std::map<Address, size_t> memory;   // what is allocated
static thread_local std::vector<void *> contexts;
static int only_context, failed;
#define API extern "C" __attribute__((visibility("default"))) Status
#define NEEDS_CONTEXT if (contexts.empty()) return INVALID_CONTEXT

static Stream *stream_of(void *handle) { return handle ? (Stream *)handle : &usual; }
static Status at_once_or_later(void *handle, std::function<Status()> action) {
    Stream *stream = stream_of(handle);
    if (!stream->recording) return action();
    stream->recording->nodes.push_back(action);
    return OK;
}
static bool is_live(Address address, size_t bytes) {
    auto after = memory.upper_bound(address);
    if (after == memory.begin()) return false;
    --after;
    return address + bytes <= after->first + after->second;
}

API cuInit(unsigned) { return OK; }
API cuDriverGetVersion(int *version) { return *version = 13000, OK; }
API cuGetErrorString(Status status, const char **text) {
    *text = status == INVALID_CONTEXT ? "invalid device context" : status == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
          : status == LAUNCH_FAILED ? "unspecified launch failure" : status == NOT_FOUND ? "named symbol not found" : "invalid argument";
    return OK;
}
API cuDeviceGetCount(int *count) { return *count = 1, OK; }
API cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal ? INVALID_VALUE : OK; }
API cuDeviceGetName(char *name, int bytes, int) { return snprintf(name, bytes, "stand-in"), OK; }
API cuDeviceComputeCapability(int *major, int *minor, int) { return *major = 9, *minor = 0, OK; }
API cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = 1ull << 33, OK; }
API cuDeviceGetAttribute(int *value, int attribute, int) {
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 10 ? 32 : 1024;
    return OK;
}
API cuDevicePrimaryCtxRetain(void **context, int) { return *context = &only_context, OK; }
API cuDevicePrimaryCtxRelease_v2(int) { return OK; }
API cuCtxPushCurrent_v2(void *context) { return contexts.push_back(context), OK; }
API cuCtxPopCurrent_v2(void **context) {
    NEEDS_CONTEXT;
    *context = contexts.back();
    contexts.pop_back();
    return OK;
}
API cuCtxGetDevice(int *device) { NEEDS_CONTEXT; return *device = 0, OK; }
API cuCtxGetApiVersion(void *, unsigned *version) { return *version = 3020, OK; }
API cuCtxSynchronize() { NEEDS_CONTEXT; return failed; }

API cuMemAlloc_v2(Address *address, size_t bytes) {
    NEEDS_CONTEXT;
    void *made = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
    memset(made, 0xff, bytes);
    memory[*address = (Address)made] = bytes;
    return OK;
}
API cuMemFree_v2(Address address) {
    if (!memory.erase(address)) return INVALID_VALUE;
    free((void *)address);
    return OK;
}
API cuMemGetInfo_v2(size_t *left, size_t *all) { return *left = *all = 1ull << 33, OK; }
API cuMemHostAlloc(void **made, size_t bytes, unsigned) { return *made = aligned_alloc(64, (bytes + 63) & ~(size_t)63), OK; }
API cuMemFreeHost(void *address) { return free(address), OK; }
static Status moved(void *to, const void *from, size_t bytes, Address first, Address second) {
    NEEDS_CONTEXT;
    if ((first && !is_live(first, bytes)) || (second && !is_live(second, bytes))) return ILLEGAL_ADDRESS;
    memmove(to, from, bytes);
    return OK;
}
API cuMemcpyHtoD_v2(Address to, const void *from, size_t n) { return moved((void *)to, from, n, to, 0); }
API cuMemcpyDtoH_v2(void *to, Address from, size_t n) { return moved(to, (void *)from, n, from, 0); }
API cuMemcpyDtoD_v2(Address to, Address from, size_t n) { return moved((void *)to, (void *)from, n, to, from); }
API cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t n, void *stream) {
    return at_once_or_later(stream, [=] { return moved((void *)to, from, n, to, 0); });
}
API cuMemcpyDtoHAsync_v2(void *to, Address from, size_t n, void *stream) {
    return at_once_or_later(stream, [=] { return moved(to, (void *)from, n, from, 0); });
}
API cuMemcpyDtoDAsync_v2(Address to, Address from, size_t n, void *stream) {
    return at_once_or_later(stream, [=] { return moved((void *)to, (void *)from, n, to, from); });
}
API cuMemsetD8Async(Address to, unsigned char byte, size_t n, void *stream) {
    return at_once_or_later(stream, [=]() -> Status {
        if (!is_live(to, n)) return ILLEGAL_ADDRESS;
        memset((void *)to, byte, n);
        return OK;
    });
}

API cuStreamCreate(void **stream, unsigned) { NEEDS_CONTEXT; return *stream = new Stream, OK; }
API cuStreamDestroy_v2(void *stream) { return delete (Stream *)stream, OK; }
API cuStreamSynchronize(void *stream) { NEEDS_CONTEXT; return stream_of(stream)->recording ? UNSUPPORTED_CAPTURE : failed; }
API cuStreamQuery(void *) { return failed; }
API cuStreamWaitEvent(void *, void *, unsigned) { return OK; }
API cuEventCreate(void **event, unsigned) { NEEDS_CONTEXT; return *event = new Event, OK; }
API cuEventDestroy_v2(void *event) { return delete (Event *)event, OK; }
API cuEventRecord(void *event, void *) { return clock_gettime(CLOCK_MONOTONIC, &((Event *)event)->time), OK; }
API cuEventQuery(void *) { return OK; }
API cuEventSynchronize(void *) { return OK; }
API cuEventElapsedTime_v2(float *milliseconds, void *begin, void *end) {
    struct timespec &b = ((Event *)begin)->time, &e = ((Event *)end)->time;
    *milliseconds = (e.tv_sec - b.tv_sec) * 1e3f + (e.tv_nsec - b.tv_nsec) * 1e-6f;
    return OK;
}

API cuModuleLoadDataEx(void **module, const void *image, unsigned, void *, void *) {
    NEEDS_CONTEXT;
    void *library = dlopen((const char *)image, RTLD_NOW | RTLD_LOCAL);
    if (!library) return INVALID_IMAGE;
    *module = new Module{library, (Kernel *)dlsym(library, "cuda_on_host_kernels")};
    return OK;
}
API cuModuleLoadData(void **module, const void *image) { return cuModuleLoadDataEx(module, image, 0, 0, 0); }
API cuModuleUnload(void *module) { return delete (Module *)module, OK; }
API cuModuleGetFunction(void **function, void *module, const char *name) {
    for (Kernel *kernel = ((Module *)module)->kernels; kernel->name; ++kernel)
        if (!strcmp(kernel->name, name)) return *function = new Function{(Module *)module, kernel}, OK;
    return NOT_FOUND;
}
API cuFuncSetAttribute(void *function, int attribute, int value) {
    if (attribute == 8) ((Function *)function)->most_shared = value;
    return OK;
}
API cuFuncSetBlockShape(void *, int, int, int) { return OK; }  // PyCUDA tells it, and again at the launch
API cuFuncSetSharedSize(void *, unsigned) { return OK; }
API cuFuncGetAttribute(int *value, int, void *) { return *value = 0, OK; }

API cuLaunchKernel(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **given, void **extra) {
    NEEDS_CONTEXT;
    Function *function = (Function *)handle;
    Kernel *kernel = function->kernel;
    if ((int)shared > function->most_shared) return INVALID_VALUE;
    // The arguments as one buffer, each at a multiple of its size; or one pointer each.
    const char *packed = nullptr;
    for (void **each = extra; each && *each; each += 2)
        if (*each == (void *)1) packed = (const char *)each[1];
    std::string bytes;
    std::vector<size_t> places;
    size_t at = 0;
    for (int i = 0; i < kernel->count; ++i) {
        size_t size = kernel->parameters[i].bytes;
        at = (at + size - 1) / size * size;
        places.push_back(bytes.size());
        bytes.append(packed ? packed + at : (const char *)given[i], size);
        bytes.append((16 - size % 16) % 16, 0);
        at += size;
    }
    auto run = (int (*)(Launch *))dlsym(function->module->library, "cuda_on_host_launch");
    return at_once_or_later(stream, [=]() mutable -> Status {
        std::vector<void *> values;
        for (size_t place : places) values.push_back(&bytes[place]);
        values.push_back(nullptr);
        Finding findings[4];
        Launch launch{kernel->run, values.data(), {gx, gy, gz}, {bx, by, bz}, shared, 0, 1, 4, 0, 0, nullptr, findings};
        if (run(&launch)) failed = LAUNCH_FAILED;
        return OK;
    });
}

API cuStreamBeginCapture_v2(void *stream, int) { return stream_of(stream)->recording = new Graph, OK; }
API cuStreamEndCapture(void *stream, void **graph) {
    *graph = stream_of(stream)->recording;
    stream_of(stream)->recording = nullptr;
    return *graph ? OK : INVALID_HANDLE;
}
API cuGraphInstantiateWithFlags(void **made, void *graph, unsigned long long) { return *made = graph, OK; }
API cuGraphLaunch(void *graph, void *) {
    for (auto &node : ((Graph *)graph)->nodes)
        if (Status status = node()) return status;
    return OK;
}
API cuGraphExecDestroy(void *) { return OK; }
API cuGraphDestroy(void *graph) { return delete (Graph *)graph, OK; }
