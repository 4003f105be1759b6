// Checked mode: looks at every access of a kernel to memory.
//
// The compiler is told to call a function before each access (-fsanitize=thread), and where an
// index or a sum leaves its range (-fsanitize=bounds,signed-integer-overflow,alignment). Usually a
// library of the compiler answers these calls; here this file does, which knows of blocks.
//
// Every four bytes of memory have a cell, which remembers the last write and two reads. Two accesses
// of which one writes are a race unless one happens before the other: in one thread; on two sides of
// a barrier of their block; on two sides of a __syncwarp that both took part in; or in two blocks of
// which the later one has seen, by an atomic operation, a store of the earlier one before a fence; or
// on two sides of a barrier of the grid. Blocks run one after another, so that all earlier accesses
// are known when the next one comes.
#include "threads.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>

namespace cuda_on_host {
const bool checked = true;

// ---- the memory of a cell ------------------------------------------------------------------------
struct Access {
    uint32_t epoch;    // the stretch between two barriers of a block; 0 is never
    uint16_t thread;   // in its block
    uint16_t atomic;
    uint32_t step;     // of the lane, counted by __syncwarp
    uint32_t code;     // where, in the library; of atomics the line
};
struct Cell {
    Access write, read, read_too;
};
constexpr int SHARED = -1, DYNAMIC = -2, NOWHERE = -3, IMAGE = -4;
struct Shadow {
    uint64_t begin, end;
    int region;
    bool by_bytes = false;   // once an access was narrower than four bytes, every byte has its cell
    Cell *cells = nullptr;   // of byte or word k at index k; zero pages until they are written
    bool is_shared() const { return region == SHARED || region == DYNAMIC; }
    size_t mapped() const { return (end - begin) * sizeof(Cell); }
    Cell *cell(uint64_t address) {
        if (!cells) {
            void *all = mmap(nullptr, mapped(), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (all == MAP_FAILED) {
                starved = true;
                return nullptr;
            }
            cells = (Cell *)all;
        }
        return cells + (address - begin);
    }
    void split_words() {
        by_bytes = true;
        if (cells)
            for (uint64_t k = 0; k < end - begin; ++k)
                if (k % 4 && cells[k - k % 4].write.epoch + cells[k - k % 4].read.epoch) cells[k] = cells[k - k % 4];
    }
};

// ---- the state of a launch ----------------------------------------------------------------------
struct Pending {             // a read that is a race unless a compare-and-swap follows
    unsigned thread;
    uint64_t address;
    Finding finding;
};
static std::vector<Shadow> shadows;          // in the order of their addresses
static size_t last_shadow;
static std::vector<unsigned> block_of_epoch;
static uint32_t epoch, grid_epoch;           // now; the last one before a barrier of the grid
static std::vector<char> fenced;             // threads of this block that passed a fence
static std::unordered_map<uint64_t, std::vector<unsigned>> released;  // blocks, by address of an atomic
static std::vector<char> acquired;           // blocks whose writes this one may look at
static std::vector<Pending> pending;
static Launch *launched;

extern "C" {
extern char __start_cuda_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_cuda_shared[] __attribute__((weak, visibility("hidden")));
extern char cuda_dynamic_shared[] __attribute__((weak, visibility("hidden")));
extern char __ehdr_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));
}

// Nobody's bytes after the shared variables: this file is linked after those that have some.
__attribute__((section("cuda_shared"), used)) static char behind_shared[4096];

static void forget() {
    for (Shadow &shadow : shadows)
        if (shadow.cells) munmap(shadow.cells, shadow.mapped());
    shadows.clear();
}

void checker_begins(Launch &launch) {
    forget();
    launched = &launch;
    for (int i = 0; i < launch.region_count; ++i)
        if (launch.regions[i].bytes)
            shadows.push_back({launch.regions[i].address, launch.regions[i].address + launch.regions[i].bytes, i});
    auto add = [](const void *begin, const void *end, int region) {
        if (begin != end) shadows.push_back({(uint64_t)begin, (uint64_t)end, region});
    };
    const char *shared = __start_cuda_shared, *shared_end = behind_shared;
    const char *dynamic = cuda_dynamic_shared, *image = __ehdr_start;
    // The memory between the other parts of the library: constants and __device__ variables.
    std::vector<std::pair<const char *, const char *>> parts;
    add(shared, shared_end, SHARED);
    parts.push_back({shared, __stop_cuda_shared});
    if (dynamic) {
        add(dynamic, dynamic + launch.shared_bytes, DYNAMIC);
        parts.push_back({dynamic, dynamic + CUDA_MOST_SHARED});
    }
    std::sort(parts.begin(), parts.end());
    for (auto &part : parts) add(image, part.first, IMAGE), image = part.second;
    add(image, _end, IMAGE);
    std::sort(shadows.begin(), shadows.end(), [](auto &x, auto &y) { return x.begin < y.begin; });
    last_shadow = 0;
    epoch = grid_epoch = 0;
    block_of_epoch.assign(1, 0);
    released.clear();
    pending.clear();
    acquired.assign((size_t)launch.grid[0] * launch.grid[1] * launch.grid[2], 0);
}

static void next_epoch() {
    ++epoch;
    block_of_epoch.push_back(block_number());
}

static void begin_stretch() {
    next_epoch();
    if (!released.empty()) std::fill(acquired.begin(), acquired.end(), 0);
    fenced.assign((size_t)launched->block[0] * launched->block[1] * launched->block[2], 0);
}

void checker_begins_block(unsigned) {
    begin_stretch();
    // Nothing may rely on values that an earlier block has left in shared memory.
    for (Shadow &shadow : shadows)
        if (shadow.is_shared()) memset((void *)shadow.begin, 0xff, shadow.end - shadow.begin);
}

static void flush(unsigned thread, bool all) {
    for (Pending &each : pending)
        if (all || each.thread == thread) report(each.finding, false);
    pending.erase(std::remove_if(pending.begin(), pending.end(),
                                 [=](Pending &each) { return all || each.thread == thread; }),
                  pending.end());
}

void checker_passes_barrier() {
    if (!pending.empty()) flush(0, true);
    next_epoch();
}

// The shared memory of a block while others run, with what is known of it.
struct Kept {
    std::vector<std::vector<char>> bytes;
    std::vector<Shadow> shadows;
    ~Kept() {
        for (Shadow &shadow : shadows)
            if (shadow.cells) munmap(shadow.cells, shadow.mapped());
    }
};
static thread_local Kept kept;

void checker_leaves_block() {
    for (Shadow &shadow : shadows)
        if (shadow.is_shared()) {
            kept.bytes.emplace_back((char *)shadow.begin, (char *)shadow.end);
            kept.shadows.push_back(shadow);
            shadow.cells = nullptr, shadow.by_bytes = false;
        }
}

void checker_enters_block() {
    size_t k = 0;
    for (Shadow &shadow : shadows)
        if (shadow.is_shared()) {
            if (shadow.cells) munmap(shadow.cells, shadow.mapped());
            shadow = kept.shadows[k];
            memcpy((void *)shadow.begin, kept.bytes[k++].data(), shadow.end - shadow.begin);
        }
    kept.shadows.clear(), kept.bytes.clear();
    begin_stretch();
}

void checker_passes_grid() {
    grid_epoch = epoch;
    released.clear();
    std::fill(acquired.begin(), acquired.end(), 0);
}

void checker_finishes(Thread &thread) {
    if (!pending.empty()) flush(thread.number, false);
}

void checker_ends() {
    forget();
    launched = nullptr;
}

void checker_fences() { fenced[current->number] = 1; }

// Each lane that met now knows all that any of them knew.
void checker_meets(const Meeting &meeting) {
    if (meeting.order != ORDERS_MEMORY) return;
    unsigned begin = 0, known[32] = {}, lane;
    begin = meeting.begin;
    for (unsigned rest = meeting.lanes; rest; rest &= rest - 1) {
        lane = __builtin_ctz(rest);
        Thread *thread = thread_numbered(begin + lane);
        ++thread->clock[lane];
        for (int i = 0; i < 32; ++i) known[i] = std::max(known[i], thread->clock[i]);
    }
    for (unsigned rest = meeting.lanes; rest; rest &= rest - 1)
        memcpy(thread_numbered(begin + __builtin_ctz(rest))->clock, known, sizeof known);
}

// ---- the order of accesses -----------------------------------------------------------------------
enum Kind { READS, WRITES, ATOMIC, SWAPS };

static Access access_of_self(Kind kind, uint32_t code) {
    return {epoch, (uint16_t)current->number, (uint16_t)(kind >= ATOMIC), current->clock[here.lane], code};
}

static bool is_of_this_block(const Access &access) { return block_of_epoch[access.epoch] == block_number(); }

static bool happened_before(const Access &access) {
    if (access.epoch <= grid_epoch) return true;
    if (!is_of_this_block(access)) return acquired[block_of_epoch[access.epoch]];
    if (access.epoch < epoch || access.thread == current->number) return true;
    return access.thread / 32 == current->number / 32 && current->clock[access.thread % 32] > access.step;
}

// ---- findings -----------------------------------------------------------------------------------
static void locate(Finding &finding, uint64_t address) {
    finding.region = NOWHERE, finding.offset = (int64_t)address;
    uint64_t nearest = 1 << 20;
    for (Shadow &shadow : shadows) {
        if (shadow.region == IMAGE) continue;
        uint64_t far = address < shadow.begin ? shadow.begin - address
                       : address >= shadow.end ? address - shadow.end : 0;
        if (far < nearest)
            nearest = far, finding.region = shadow.region, finding.offset = (int64_t)(address - shadow.begin);
    }
}

static Spot spot_of(const Access &access) {
    Spot made{{0, 0, 0}, {0, 0, 0}, access.atomic ? (int)access.code : 0, access.atomic ? 2 : 0,
              access.atomic ? 0 : access.code};
    uint3 index = thread_numbered(access.thread)->index;
    memcpy(made.thread, &index, sizeof made.thread);
    unsigned block = block_of_epoch[access.epoch], x = launched->grid[0], y = launched->grid[1];
    made.block[0] = block % x, made.block[1] = block / x % y, made.block[2] = block / x / y;
    return made;
}

static Spot spot_here(Kind kind, uint32_t code) {
    Spot made = spot(kind >= ATOMIC ? (int)code : 0, nullptr, kind >= ATOMIC ? 2 : kind == WRITES);
    if (kind < ATOMIC) made.code = code;
    return made;
}

static Finding finding_of(Fault fault, uint64_t address, size_t bytes, Kind kind, uint32_t code) {
    Finding finding{fault, NOWHERE, (int64_t)address, (int)bytes, spot_here(kind, code), {}, ""};
    memset(finding.other.block, 0xff, sizeof finding.other.block);
    locate(finding, address);
    return finding;
}

// ---- one access ---------------------------------------------------------------------------------
static Shadow *shadow_of(uint64_t address) {
    if (last_shadow < shadows.size() && shadows[last_shadow].begin <= address && address < shadows[last_shadow].end)
        return &shadows[last_shadow];
    size_t low = 0, high = shadows.size();
    while (low < high) {
        size_t middle = (low + high) / 2;
        (shadows[middle].begin <= address ? low = middle + 1 : high = middle);
    }
    if (!low || address >= shadows[low - 1].end) return nullptr;
    last_shadow = low - 1;
    return &shadows[last_shadow];
}

static void race(const Access &other, bool other_writes, uint64_t address, size_t bytes, Kind kind, uint32_t code) {
    Finding finding = finding_of(is_of_this_block(other) ? RACE : BETWEEN_BLOCKS, address, bytes, kind, code);
    finding.other = spot_of(other);
    if (!other.atomic) finding.other.writes = other_writes;
    if (kind == READS && other.atomic)
        pending.push_back({current->number, address, finding});
    else
        report(finding, false);
}

static bool by_self(const Access &access) {
    return access.epoch == epoch && access.thread == current->number;
}

static void visit(Cell &cell, Shadow &shadow, uint64_t address, size_t bytes, Kind kind, uint32_t code) {
    Access mine = access_of_self(kind, code);
    if (shadow.is_shared()) {  // another block's is another memory
        if (!is_of_this_block(cell.write)) cell.write = {};
        if (!is_of_this_block(cell.read)) cell.read = {};
        if (!is_of_this_block(cell.read_too)) cell.read_too = {};
        if (!cell.write.epoch && kind != WRITES)
            report(finding_of(UNINITIALISED, address, bytes, kind, code), false);
    }
    bool both_atomic = kind >= ATOMIC && cell.write.atomic;
    if (!both_atomic && !happened_before(cell.write)) race(cell.write, true, address, bytes, kind, code);
    if (kind == READS) {
        (happened_before(cell.read) ? cell.read : cell.read_too) = mine;
        return;
    }
    if (kind == SWAPS) {  // the plain read before it was a guess, which the swap has verified
        if (by_self(cell.read)) cell.read = cell.read_too, cell.read_too = {};
        if (by_self(cell.read_too)) cell.read_too = {};
    }
    if (!happened_before(cell.read)) race(cell.read, false, address, bytes, kind, code);
    else if (!happened_before(cell.read_too)) race(cell.read_too, false, address, bytes, kind, code);
    cell.write = mine;
}

static void access(const volatile void *where, size_t bytes, Kind kind, uint32_t code, size_t alignment) {
    uint64_t address = (uint64_t)where;
    if (!current || (address >= (uint64_t)stacks->begin && address < (uint64_t)stacks->end)) return;
    if (address - (uint64_t)&here < sizeof here) return;
    Shadow *shadow = shadow_of(address);
    if (!shadow || address + bytes > shadow->end) {
        report(finding_of(OUT_OF_BOUNDS, address, bytes, kind, code), true);
        return;
    }
    if (address % alignment) {
        report(finding_of(MISALIGNED, address, bytes, kind, code), true);
        return;
    }
    if (shadow->region == IMAGE && kind == READS && !shadow->cells) return;
    if (!shadow->by_bytes && (bytes % 4 || (address - shadow->begin) % 4)) shadow->split_words();
    size_t step = shadow->by_bytes ? 1 : 4;
    for (size_t k = 0; k < bytes; k += step)
        if (Cell *cell = shadow->cell(address + k)) visit(*cell, *shadow, address, bytes, kind, code);
}

void atomic_access(const volatile void *address, size_t size, Update kind, int line) {
    access(address, size, kind == COMPARE_AND_SWAP ? SWAPS : ATOMIC, (uint32_t)line, size);
    uint64_t at = (uint64_t)address;
    if (kind == COMPARE_AND_SWAP && !pending.empty())
        pending.erase(std::remove_if(pending.begin(), pending.end(),
                                     [=](Pending &p) { return p.thread == current->number && p.address == at; }),
                      pending.end());
    auto found = released.find(at);
    if (found != released.end())
        for (unsigned block : found->second) acquired[block] = 1;
    if (fenced[current->number]) {
        std::vector<unsigned> &blocks = released[at];
        if (blocks.empty() || blocks.back() != block_number()) blocks.push_back(block_number());
    }
}
}  // namespace cuda_on_host

// ---- functions that the compiler calls -----------------------------------------------------------
using namespace cuda_on_host;
#define CODE (uint32_t)((const char *)__builtin_return_address(0) - __ehdr_start)
#define HOOKS(N)                                                                                        \
    void __tsan_read##N(void *p) { access(p, N, READS, CODE, N); }                                      \
    void __tsan_write##N(void *p) { access(p, N, WRITES, CODE, N); }                                    \
    void __tsan_unaligned_read##N(void *p) { access(p, N, READS, CODE, 1); }                            \
    void __tsan_unaligned_write##N(void *p) { access(p, N, WRITES, CODE, 1); }                          \
    void __tsan_volatile_read##N(void *p) { access(p, N, READS, CODE, N); }                             \
    void __tsan_volatile_write##N(void *p) { access(p, N, WRITES, CODE, N); }                           \
    void __tsan_unaligned_volatile_read##N(void *p) { access(p, N, READS, CODE, 1); }                   \
    void __tsan_unaligned_volatile_write##N(void *p) { access(p, N, WRITES, CODE, 1); }                 \
    void __tsan_read_write##N(void *p) { access(p, N, READS, CODE, N), access(p, N, WRITES, CODE, N); } \
    void __tsan_unaligned_read_write##N(void *p) { access(p, N, READS, CODE, 1), access(p, N, WRITES, CODE, 1); }

struct Place {
    const char *file;
    unsigned line, column;
};
struct Type {
    unsigned short kind, info;
    char name[1];
};
struct Overflow {
    Place place;
    const Type *type;
};
struct Bounds {
    Place place;
    const Type *array, *index;
};
struct Mismatch {
    Place place;
    const Type *type;
    unsigned char log_alignment, access;
};

static Finding ubsan(Fault fault, const Place &place, uint32_t code) {
    // The functions of CUDA are in headers beside this file, which the compiler names with their path.
    const char here[] = __FILE__, headers[] = "cuda/";
    size_t folder = strrchr(here, '/') + 1 - here;
    bool is_own = !strncmp(place.file, here, folder) &&
                  !strncmp(place.file + folder, headers, sizeof headers - 1);
    Finding finding{fault, -3, 0, 0, spot(is_own ? 0 : (int)place.line), {}, ""};
    finding.here.code = code;
    memset(finding.other.block, 0xff, sizeof finding.other.block);
    return finding;
}

static long long value(const Type *type, uint64_t word) {
    unsigned width = 1u << (type->info >> 1);
    if (width > 64) return (long long)*(__int128 *)word;
    return type->info & 1 ? (long long)(word << (64 - width)) >> (64 - width) : (long long)word;
}

static void overflow(const Overflow *data, uint64_t x, char sign, uint64_t y, uint32_t code) {
    if (!current) return;
    Finding finding = ubsan(OVERFLOW_, data->place, code);
    snprintf(finding.text, sizeof finding.text, "%lld %c %lld does not fit in %s", value(data->type, x), sign,
             value(data->type, y), data->type->name);
    report(finding, false);
}

extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void *p, size_t n) { access(p, n, READS, CODE, 1); }
void __tsan_write_range(void *p, size_t n) { access(p, n, WRITES, CODE, 1); }
void *__tsan_memcpy(void *to, const void *from, size_t n) {
    access(from, n, READS, CODE, 1), access(to, n, WRITES, CODE, 1);
    return memcpy(to, from, n);
}
void *__tsan_memmove(void *to, const void *from, size_t n) {
    access(from, n, READS, CODE, 1), access(to, n, WRITES, CODE, 1);
    return memmove(to, from, n);
}
void *__tsan_memset(void *to, int byte, size_t n) {
    access(to, n, WRITES, CODE, 1);
    return memset(to, byte, n);
}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_init() {}
void __tsan_vptr_update(void *, void *) {}
void __tsan_vptr_read(void *) {}

void __ubsan_handle_add_overflow(Overflow *d, uint64_t x, uint64_t y) { overflow(d, x, '+', y, CODE); }
void __ubsan_handle_sub_overflow(Overflow *d, uint64_t x, uint64_t y) { overflow(d, x, '-', y, CODE); }
void __ubsan_handle_mul_overflow(Overflow *d, uint64_t x, uint64_t y) { overflow(d, x, '*', y, CODE); }
void __ubsan_handle_negate_overflow(Overflow *d, uint64_t x) { overflow(d, 0, '-', x, CODE); }
void __ubsan_handle_out_of_bounds(Bounds *data, uint64_t index) {
    if (!current) return;
    Finding finding = ubsan(OUT_OF_BOUNDS, data->place, CODE);
    snprintf(finding.text, sizeof finding.text, "index %lld of an array of type %s", value(data->index, index),
             data->array->name);
    report(finding, true);
}
void __ubsan_handle_type_mismatch_v1(Mismatch *data, uint64_t address) {
    if (!current || !address) return;
    Finding finding = ubsan(MISALIGNED, data->place, CODE);
    locate(finding, address);
    snprintf(finding.text, sizeof finding.text, "the address of a %s must be a multiple of %d", data->type->name,
             1 << data->log_alignment);
    report(finding, true);
}
}
