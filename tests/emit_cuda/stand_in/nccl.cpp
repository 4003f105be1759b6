// A stand-in for NCCL: the functions that emit_cuda.libraries.nccl calls, on the processor.
//
// Nothing happens before the end of a group. Then every member of a communicator must have asked for the
// same collectives in the same order, and each message must have a sender and a receiver; else it refuses.
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

typedef int Status;
enum { OK = 0, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
struct Clique { int count; };
struct Comm { Clique *clique; int rank; };
struct Call {
    char kind;  // R all-reduce, S reduce-scatter, G all-gather, B broadcast, s send, r receive
    const char *from;
    char *to;
    size_t count;
    int type, operation, peer;
    Comm *comm;
    bool is_like(const Call &o) const {
        return kind == o.kind && count == o.count && type == o.type && operation == o.operation && peer == o.peer;
    }
};
static int depth;
static std::vector<Call> calls;
static const int BYTES[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

template <class T> static T folded(T x, T y, int operation) {
    return operation == 0 ? T(x + y) : operation == 1 ? T(x * y) : operation == 2 ? (x > y ? x : y) : (x < y ? x : y);
}
struct BFloat {
    uint16_t bits;
    operator float() const { uint32_t wide = (uint32_t)bits << 16; float value; return memcpy(&value, &wide, 4), value; }
    explicit BFloat(float value) {
        uint32_t wide;
        memcpy(&wide, &value, 4);
        bits = value != value ? (wide >> 16 | 64) : (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
    }
};
template <class T> static void reduce(const std::vector<Call> &all, char *to, size_t first, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        T sum = ((const T *)all[0].from)[first + i];
        for (size_t m = 1; m < all.size(); ++m) sum = folded<T>(sum, ((const T *)all[m].from)[first + i], all[0].operation);
        ((T *)to)[i] = sum;
    }
}
static void reduce_any(const std::vector<Call> &all, char *to, size_t first, size_t count) {
    switch (all[0].type) {
        case 0: return reduce<int8_t>(all, to, first, count);
        case 1: return reduce<uint8_t>(all, to, first, count);
        case 2: return reduce<int32_t>(all, to, first, count);
        case 3: return reduce<uint32_t>(all, to, first, count);
        case 4: return reduce<int64_t>(all, to, first, count);
        case 5: return reduce<uint64_t>(all, to, first, count);
        case 6: return reduce<_Float16>(all, to, first, count);
        case 7: return reduce<float>(all, to, first, count);
        case 8: return reduce<double>(all, to, first, count);
        case 9: return reduce<BFloat>(all, to, first, count);
    }
}
static Status together(const std::vector<Call> &all) {
    for (auto &call : all)
        if (!call.is_like(all[0])) return INVALID_USAGE;
    size_t bytes = all[0].count * BYTES[all[0].type], n = all.size();
    for (size_t m = 0; m < n; ++m) {
        if (all[0].kind == 'R') reduce_any(all, all[m].to, 0, all[0].count);
        if (all[0].kind == 'S') reduce_any(all, all[m].to, m * all[0].count, all[0].count);
        if (all[0].kind == 'B') memcpy(all[m].to, all[all[0].peer].from, bytes);
        for (size_t k = 0; k < n && all[0].kind == 'G'; ++k) memcpy(all[m].to + k * bytes, all[k].from, bytes);
    }
    return OK;
}
static Status run() {
    std::map<Clique *, std::vector<std::deque<Call>>> asked;
    std::map<std::pair<Comm *, int>, std::deque<Call>> sent;
    std::vector<Comm *> ranks;
    size_t mails = 0;
    for (auto &call : calls) {
        auto &rows = asked[call.comm->clique];
        rows.resize(call.comm->clique->count);
        if (call.kind == 's') sent[{call.comm, call.peer}].push_back(call), ++mails;
        else if (call.kind != 'r') rows[call.comm->rank].push_back(call);
    }
    for (auto &[clique, rows] : asked)
        while (!rows[0].empty()) {
            std::vector<Call> all;
            for (auto &row : rows) {
                if (row.empty()) return INVALID_USAGE;
                all.push_back(row.front());
                row.pop_front();
            }
            if (Status status = together(all)) return status;
        }
    for (auto &[clique, rows] : asked)
        for (auto &row : rows)
            if (!row.empty()) return INVALID_USAGE;
    for (auto &call : calls)
        if (call.kind == 'r') {
            bool found = false;
            for (auto &[ends, box] : sent) {
                auto &[from, to] = ends;
                if (from->clique != call.comm->clique || from->rank != call.peer || to != call.comm->rank || box.empty()) continue;
                if (box.front().count != call.count) return INVALID_USAGE;
                memcpy(call.to, box.front().from, call.count);
                box.pop_front();
                found = true, --mails;
                break;
            }
            if (!found) return INVALID_USAGE;
        }
    return mails ? INVALID_USAGE : OK;
}
static Status ask(Call call) {
    if (!call.comm) return INVALID_ARGUMENT;
    calls.push_back(call);
    return depth ? OK : INVALID_USAGE;  // one thread that asks for one device alone would wait for ever
}

extern "C" {
const char *ncclGetErrorString(Status status) { return status == INVALID_USAGE ? "invalid usage" : "invalid argument"; }
Status ncclCommInitAll(void **made, int count, const int *devices) {
    Clique *clique = new Clique{count};
    for (int i = 0; i < count; ++i) {
        for (int j = 0; j < i; ++j)
            if (devices[i] == devices[j]) return INVALID_USAGE;
        made[i] = new Comm{clique, i};
    }
    return OK;
}
Status ncclGroupStart() { return ++depth, OK; }
Status ncclGroupEnd() {
    if (--depth) return OK;
    Status status = run();
    return calls.clear(), status;
}
Status ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, Comm *comm, void *) {
    return ask({'R', (const char *)from, (char *)to, count, type, operation, 0, comm});
}
Status ncclReduceScatter(const void *from, void *to, size_t count, int type, int operation, Comm *comm, void *) {
    return ask({'S', (const char *)from, (char *)to, count, type, operation, 0, comm});
}
Status ncclAllGather(const void *from, void *to, size_t count, int type, Comm *comm, void *) {
    return ask({'G', (const char *)from, (char *)to, count, type, 0, 0, comm});
}
Status ncclBroadcast(const void *from, void *to, size_t count, int type, int root, Comm *comm, void *) {
    return ask({'B', (const char *)from, (char *)to, count, type, 0, root, comm});
}
Status ncclSend(const void *from, size_t count, int type, int peer, Comm *comm, void *) {
    return ask({'s', (const char *)from, nullptr, count, type, 0, peer, comm});
}
Status ncclRecv(void *to, size_t count, int type, int peer, Comm *comm, void *) {
    return ask({'r', nullptr, (char *)to, count, type, 0, peer, comm});
}
}
