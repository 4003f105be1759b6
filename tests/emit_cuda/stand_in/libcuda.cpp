// A stand-in for NVIDIA's driver, on a machine without a GPU: what PyCUDA and our graphs call.
//
// A "cubin" is the path of a library that emit_cuda.host has compiled, and a launch runs it on the
// processor. Memory is the processor's. Streams do nothing before somebody waits, and then the one that
// was made last begins, so that what does not wait for what it needs gets wrong values. There are two
// devices. It checks what a driver would: current contexts, whose memory it is, sizes of copies, known
// handles, and that a recording begins and ends on one stream.
#include "cuda/kernels.h"
#include "threads.h"

#include <dlfcn.h>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace cuda_on_host;
typedef unsigned long long Address;
typedef int Status;
enum { OK = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, INVALID_IMAGE = 200, NOT_FOUND = 500, INVALID_HANDLE = 400,
       ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719, COOPERATIVE_LAUNCH_TOO_LARGE = 720, UNSUPPORTED_CAPTURE = 900 };

struct Module { void *library; Kernel *kernels; };
struct Function { Module *module; Kernel *kernel; int most_shared = 48 << 10; };
// An action of a stream, or the end of its waiting for an event.
struct Action { std::function<Status()> act; struct Event *awaited; long turn; };
struct Graph {
    std::vector<std::function<Status()>> nodes;
    std::vector<unsigned *> conditions;
    const void *loose = nullptr;  // a node that the next one must be told to come after
    Status run() {
        for (auto &node : nodes)
            if (Status status = node()) return status;
        return OK;
    }
};
struct Stream { Graph *recording = nullptr; std::deque<Action> waiting; void *context = nullptr; };
struct Event { struct timespec time; long asked = 0, done = 0; Graph *recorded = nullptr; bool given_up = false; };
static Stream usual;
static std::vector<Stream *> streams{&usual};
static std::map<Address, std::pair<size_t, void *>> memory;   // what is allocated, and of which device
static std::recursive_mutex busy;
static thread_local std::vector<void *> contexts;
static int devices[2], failed;
#define API extern "C" __attribute__((visibility("default"))) Status
#define NEEDS_CONTEXT if (contexts.empty()) return INVALID_CONTEXT

// What was asked for, a letter a call: K a kernel, G a graph, R a copy to the processor, W a wait for an event.
static std::string calls;
static void log(char call) { std::lock_guard lock(busy); calls += call; }
extern "C" __attribute__((visibility("default"))) const char *stand_in_calls() {
    static std::string told;
    return told = std::move(calls), calls.clear(), told.c_str();
}

static Stream *stream_of(void *handle) { return handle ? (Stream *)handle : &usual; }
static Status later(void *handle, std::function<Status()> action) {
    std::lock_guard lock(busy);
    Stream *stream = stream_of(handle);
    if (stream->context && !contexts.empty() && stream->context != contexts.back()) return INVALID_HANDLE;
    if (stream->recording && stream->recording->loose) return UNSUPPORTED_CAPTURE;
    if (stream->recording) stream->recording->nodes.push_back(action);
    else stream->waiting.push_back({action, nullptr, 0});
    return OK;
}
// All that streams wait to do, the newest stream first.
static Status drain() {
    std::lock_guard lock(busy);
    for (bool found = true; found;) {
        found = false;
        for (size_t s = streams.size(); s-- && !found;) {
            auto &waiting = streams[s]->waiting;
            if (waiting.empty()) continue;
            Action next = waiting.front();
            if (next.awaited && next.awaited->done < next.turn) continue;
            waiting.pop_front();
            found = true;
            if (Status status = next.awaited ? OK : next.act()) failed = status;
        }
    }
    return failed;
}
static bool is_live(Address address, size_t bytes) {
    auto after = memory.upper_bound(address);
    if (after == memory.begin()) return false;
    --after;
    return address + bytes <= after->first + after->second.first;
}

API cuInit(unsigned) { return OK; }
API cuDriverGetVersion(int *version) { return *version = 13000, OK; }
API cuGetErrorString(Status status, const char **text) {
    *text = status == INVALID_CONTEXT ? "invalid device context" : status == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
          : status == LAUNCH_FAILED ? "unspecified launch failure" : status == NOT_FOUND ? "named symbol not found" : "invalid argument";
    return OK;
}
API cuDeviceGetCount(int *count) { return *count = 2, OK; }
API cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal > 1 ? INVALID_VALUE : OK; }
API cuDeviceGetName(char *name, int bytes, int) { return snprintf(name, bytes, "stand-in"), OK; }
API cuDeviceComputeCapability(int *major, int *minor, int) { return *major = 9, *minor = 0, OK; }
API cuDeviceTotalMem_v2(size_t *bytes, int) { return *bytes = 1ull << 33, OK; }
API cuDeviceGetAttribute(int *value, int attribute, int) {
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 10 ? 32 : attribute == 16 ? 2 : 1024;
    return OK;
}
API cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &devices[device], OK; }
API cuDevicePrimaryCtxRelease_v2(int) { return OK; }
API cuCtxPushCurrent_v2(void *context) { return contexts.push_back(context), OK; }
API cuCtxPopCurrent_v2(void **context) {
    NEEDS_CONTEXT;
    *context = contexts.back();
    contexts.pop_back();
    return OK;
}
API cuCtxGetDevice(int *device) { NEEDS_CONTEXT; return *device = (int *)contexts.back() - devices, OK; }
API cuCtxGetApiVersion(void *, unsigned *version) { return *version = 3020, OK; }
static int contexts_awaited;
extern "C" __attribute__((visibility("default"))) int stand_in_contexts_awaited() { return contexts_awaited; }
API cuCtxSynchronize() { NEEDS_CONTEXT; ++contexts_awaited; return drain(); }

API cuMemAlloc_v2(Address *address, size_t bytes) {
    NEEDS_CONTEXT;
    void *made = aligned_alloc(256, (bytes + 255) & ~(size_t)255);
    memset(made, 0xff, bytes);
    std::lock_guard lock(busy);
    memory[*address = (Address)made] = {bytes, contexts.back()};
    return OK;
}
API cuMemFree_v2(Address address) {
    std::lock_guard lock(busy);
    drain();
    if (!memory.erase(address)) return INVALID_VALUE;
    free((void *)address);
    return OK;
}
API cuPointerGetAttribute(int *ordinal, int, Address address) {
    std::lock_guard lock(busy);
    if (!is_live(address, 1)) return INVALID_VALUE;
    return *ordinal = (int *)std::prev(memory.upper_bound(address))->second.second - devices, OK;
}
API cuMemGetInfo_v2(size_t *left, size_t *all) { return *left = *all = 1ull << 33, OK; }
API cuMemHostAlloc(void **made, size_t bytes, unsigned) { return *made = aligned_alloc(64, (bytes + 63) & ~(size_t)63), OK; }
API cuMemFreeHost(void *address) { drain(); return free(address), OK; }
static Status moved(void *to, const void *from, size_t bytes, Address first, Address second) {
    if ((first && !is_live(first, bytes)) || (second && !is_live(second, bytes))) return ILLEGAL_ADDRESS;
    memmove(to, from, bytes);
    return OK;
}
API cuMemcpyHtoD_v2(Address to, const void *from, size_t n) { NEEDS_CONTEXT; return drain(), moved((void *)to, from, n, to, 0); }
API cuMemcpyDtoH_v2(void *to, Address from, size_t n) { NEEDS_CONTEXT; return drain(), moved(to, (void *)from, n, from, 0); }
API cuMemcpyDtoD_v2(Address to, Address from, size_t n) { NEEDS_CONTEXT; return drain(), moved((void *)to, (void *)from, n, to, from); }
API cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t n, void *stream) {
    NEEDS_CONTEXT;
    return later(stream, [=] { return moved((void *)to, from, n, to, 0); });
}
API cuMemcpyDtoHAsync_v2(void *to, Address from, size_t n, void *stream) {
    NEEDS_CONTEXT;
    log('R');
    return later(stream, [=] { return moved(to, (void *)from, n, from, 0); });
}
API cuMemcpyDtoDAsync_v2(Address to, Address from, size_t n, void *stream) {
    NEEDS_CONTEXT;
    return later(stream, [=] { return moved((void *)to, (void *)from, n, to, from); });
}
API cuMemsetD8Async(Address to, unsigned char byte, size_t n, void *stream) {
    return later(stream, [=]() -> Status {
        if (!is_live(to, n)) return ILLEGAL_ADDRESS;
        memset((void *)to, byte, n);
        return OK;
    });
}

API cuStreamCreate(void **made, unsigned) {
    NEEDS_CONTEXT;
    std::lock_guard lock(busy);
    Stream *stream = new Stream;
    stream->context = contexts.back();
    streams.push_back(stream);
    return *made = stream, OK;
}
API cuStreamDestroy_v2(void *stream) {
    std::lock_guard lock(busy);
    drain();
    std::erase(streams, (Stream *)stream);
    return delete (Stream *)stream, OK;
}
API cuStreamSynchronize(void *stream) { NEEDS_CONTEXT; return stream_of(stream)->recording ? UNSUPPORTED_CAPTURE : drain(); }
API cuStreamQuery(void *) { return drain(); }
API cuEventCreate(void **event, unsigned) { NEEDS_CONTEXT; return *event = new Event, OK; }
static void end(Event *event) { if (event->given_up && event->done == event->asked) delete event; }
API cuEventDestroy_v2(void *event) {
    std::lock_guard lock(busy);
    ((Event *)event)->given_up = true;
    drain();
    return end((Event *)event), OK;
}
API cuEventRecord(void *handle, void *stream) {
    std::lock_guard lock(busy);
    Event *event = (Event *)handle;
    event->recorded = stream_of(stream)->recording;
    if (event->recorded) return OK;
    long turn = ++event->asked;
    return later(stream, [=] {
        clock_gettime(CLOCK_MONOTONIC, &event->time);
        return event->done = turn, OK;
    });
}
API cuStreamWaitEvent(void *stream, void *handle, unsigned) {
    std::lock_guard lock(busy);
    Event *event = (Event *)handle;
    // A stream that waits for what is recorded is recorded, too; the order of recording is one of those allowed.
    if (event->recorded) return stream_of(stream)->recording = event->recorded, OK;
    stream_of(stream)->waiting.push_back({nullptr, event, event->asked});
    return OK;
}
API cuEventQuery(void *) { return drain(), OK; }
API cuEventSynchronize(void *) { return log('W'), drain(); }
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

static Status launched(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, void *stream, void **given, void **extra, int cooperative) {
    NEEDS_CONTEXT;
    Function *function = (Function *)handle;
    Kernel *kernel = function->kernel;
    if ((int)shared > function->most_shared) return INVALID_VALUE;
    if (!stream_of(stream)->recording) log('K');
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
    return later(stream, [=]() mutable -> Status {
        std::vector<void *> values;
        for (size_t place : places) values.push_back(&bytes[place]);
        values.push_back(nullptr);
        Finding findings[4];
        Launch launch{kernel->run, values.data(), {gx, gy, gz}, {bx, by, bz}, shared, 0, 1, 4, 0, 0, nullptr, findings, nullptr, cooperative};
        return run(&launch) ? LAUNCH_FAILED : OK;
    });
}
API cuLaunchKernel(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **given, void **extra) {
    return launched(handle, gx, gy, gz, bx, by, bz, shared, stream, given, extra, false);
}
// Two blocks on each of two multiprocessors.
static int cooperative_launches;
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int threads, size_t) { return *blocks = 2, threads > 0 ? OK : INVALID_VALUE; }
API cuLaunchCooperativeKernel(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                              unsigned shared, void *stream, void **given) {
    if (gx * gy * gz > 4) return COOPERATIVE_LAUNCH_TOO_LARGE;
    ++cooperative_launches;
    return launched(handle, gx, gy, gz, bx, by, bz, shared, stream, given, nullptr, true);
}
extern "C" __attribute__((visibility("default"))) int stand_in_cooperative_launches() { return cooperative_launches; }

// Graphs that were recorded and not yet given back.
static int graphs_alive;
extern "C" __attribute__((visibility("default"))) int stand_in_graphs_alive() { return graphs_alive; }
API cuStreamBeginCapture_v2(void *stream, int) {
    std::lock_guard lock(busy);
    ++graphs_alive;
    return stream_of(stream)->recording = new Graph, OK;
}
API cuStreamEndCapture(void *stream, void **graph) {
    std::lock_guard lock(busy);
    Graph *recorded = stream_of(stream)->recording;
    for (Stream *each : streams)
        if (each->recording == recorded) each->recording = nullptr;
    *graph = recorded;
    return recorded ? OK : INVALID_HANDLE;
}
// A graph with conditions. A node after none of what comes before it would run too early: that is refused.
struct Node { int type, reserved[3]; unsigned long long handle; int kind; unsigned size; void **graphs, *context; long long rest[26]; };
static char last_node;
static int conditional_nodes;
API cuCtxGetCurrent(void **context) { return *context = contexts.empty() ? nullptr : contexts.back(), OK; }
API cuGraphCreate(void **graph, unsigned) { return *graph = new Graph, OK; }
API cuStreamBeginCaptureToGraph(void *stream, void *graph, const void *, const void *, size_t count, int) {
    std::lock_guard lock(busy);
    if (stream_of(stream)->recording || count) return INVALID_VALUE;
    return stream_of(stream)->recording = (Graph *)graph, OK;
}
API cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *, void **graph, const void ***nodes, size_t *count) {
    static const void *last = &last_node;
    Graph *recorded = stream_of(stream)->recording;
    if (!recorded) return INVALID_HANDLE;
    return *status = 1, *graph = recorded, *nodes = &last, *count = !recorded->nodes.empty(), OK;
}
API cuGraphConditionalHandleCreate(unsigned long long *handle, void *graph, void *context, unsigned value, unsigned flags) {
    if (!graph || !context || value || flags != 1) return INVALID_VALUE;
    unsigned *condition = new unsigned(value);
    ((Graph *)graph)->conditions.push_back(condition);
    return *handle = (unsigned long long)condition, OK;
}
API cuGraphAddNode(void **node, void *graph, void *const *before, size_t count, Node *params) {
    Graph *outer = (Graph *)graph, *inner = new Graph;
    if (sizeof(Node) != 256 || params->type != 13 || params->size != 1 || params->kind > 1 || !params->context) return INVALID_VALUE;
    if (count != 1 || before[0] != &last_node || outer->loose) return INVALID_VALUE;
    unsigned *condition = (unsigned *)params->handle;
    bool repeats = params->kind == 1;
    ++conditional_nodes;
    outer->nodes.push_back([=]() -> Status {
        while (*condition) {
            if (Status status = inner->run()) return status;
            if (!repeats) break;
        }
        return OK;
    });
    return *node = (void *)(outer->loose = &last_node), params->graphs = new void *[1]{inner}, OK;
}
API cuStreamUpdateCaptureDependencies(void *stream, void *const *nodes, size_t count, unsigned flags) {
    Graph *recorded = stream_of(stream)->recording;
    if (!recorded || count != 1 || flags != 1 || nodes[0] != recorded->loose) return INVALID_VALUE;
    return recorded->loose = nullptr, OK;
}
extern "C" __attribute__((visibility("default"))) int stand_in_conditional_nodes() { return conditional_nodes; }

API cuGraphInstantiateWithFlags(void **made, void *graph, unsigned long long) { return *made = graph, OK; }
static int graphs_launched;
API cuGraphLaunch(void *graph, void *stream) {
    ++graphs_launched;
    log('G');
    return later(stream, [=]() -> Status {
        for (unsigned *condition : ((Graph *)graph)->conditions) *condition = 0;
        return ((Graph *)graph)->run();
    });
}
extern "C" __attribute__((visibility("default"))) int stand_in_graphs() { return graphs_launched; }
API cuGraphExecDestroy(void *) { drain(); return OK; }
API cuGraphDestroy(void *graph) { return --graphs_alive, delete (Graph *)graph, OK; }
