// CUDA's threads on a processor.
//
// A block is its threads, taken one after another. A thread is called like a function. If it comes
// to its end, the next one is called on the same stack, so that a kernel without barriers is a plain
// loop. If it must wait, for its block or its warp, it stays where it is, and the next thread gets
// another stack: a fiber. It goes on when the last one that it waits for has come.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

// Last: its words for CUDA's are names of the system's headers, too.
#include "threads.h"

namespace cuda_on_host {

// ---- changing from one stack to another -------------------------------------------------------
constexpr size_t STACK_BYTES = 256 << 10;  // taken from the system only as far as it is used

#if defined(__x86_64__) && defined(__linux__)
// Leaves on the stack the registers that a function must keep for its caller, and takes those of
// another one.
asm(R"(
    .text
    .type cuda_on_host_switch, @function
    .hidden cuda_on_host_switch
    .globl cuda_on_host_switch
cuda_on_host_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq (%rsi), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size cuda_on_host_switch, . - cuda_on_host_switch
)");
extern "C" void cuda_on_host_switch(void **from, void *const *to);
struct Context {
    void *top;
    void start(char *stack, void (*entry)()) {
        void **p = (void **)(stack + STACK_BYTES - 24);
        *p = nullptr;               // nobody to return to; and after the call that never was,
        *--p = (void *)entry;       // the stack is aligned as a function finds it
        top = p - 6;
    }
    void change_to(Context &other) { cuda_on_host_switch(&top, &other.top); }
};
#else
}  // namespace cuda_on_host
#include <ucontext.h>
namespace cuda_on_host {
struct Context {
    ucontext_t context;
    void start(char *stack, void (*entry)()) {
        getcontext(&context);
        context.uc_stack.ss_sp = stack;
        context.uc_stack.ss_size = STACK_BYTES;
        context.uc_link = nullptr;
        makecontext(&context, entry, 0);
    }
    void change_to(Context &other) { swapcontext(&context, &other.context); }
};
#endif

struct Stack {
    Context context;
    char *memory;
};

// Stacks are handed from launch to launch, and from library to library: each is two of the mappings
// of which a process may have only so many.
// Where a process may have little address space, there are fewer: at least those of a block.
constexpr size_t MOST_STACKS = 1 << 14, LEAST_STACKS = 1 << 10;
struct Pool : Stacks {
    std::mutex lock;
    std::vector<Stack *> free;
    size_t made = 0;
};
static Pool own_pool, *pool = &own_pool;
const Stacks *stacks = pool;

std::atomic<bool> starved{false};

static Stack *take_stack() {
    std::lock_guard<std::mutex> hold(pool->lock);
    if (!pool->free.empty()) {
        Stack *stack = pool->free.back();
        pool->free.pop_back();
        return stack;
    }
    if (!pool->begin) {
        void *all = MAP_FAILED;
        size_t most = MOST_STACKS;
        for (; all == MAP_FAILED && most >= LEAST_STACKS; most /= 2)
            all = mmap(nullptr, most * STACK_BYTES, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED) return nullptr;
        pool->begin = (char *)all, pool->end = pool->begin + 2 * most * STACK_BYTES;
    }
    if (pool->begin + pool->made * STACK_BYTES == pool->end) return nullptr;
    char *memory = pool->begin + pool->made++ * STACK_BYTES;
    // The lowest page stays out of reach: who needs more than its stack ends there.
    if (mprotect(memory + 4096, STACK_BYTES - 4096, PROT_READ | PROT_WRITE)) return nullptr;
    return new Stack{{}, memory};
}

static void give_stack(Stack *stack) {
    std::lock_guard<std::mutex> hold(pool->lock);
    pool->free.push_back(stack);
}

// ---- subnormal numbers --------------------------------------------------------------------------
// The state in which a processor thread computes, for as long as one of these is there.
class Floats {
#if defined(__SSE2__)
    static constexpr unsigned FLUSHED = 0x8040;  // FTZ and DAZ
    unsigned before = __builtin_ia32_stmxcsr();
    static void set(unsigned state) { __builtin_ia32_ldmxcsr(state); }
#elif defined(__aarch64__)
    static constexpr uint64_t FLUSHED = 1 << 24;  // FZ of FPCR
    uint64_t before = get();
    static uint64_t get() {
        uint64_t state;
        asm volatile("mrs %0, fpcr" : "=r"(state));
        return state;
    }
    static void set(uint64_t state) { asm volatile("msr fpcr, %0" : : "r"(state)); }
#else
    static constexpr unsigned FLUSHED = 0, before = 0;  // not known: they are kept
    static void set(unsigned) {}
#endif
  public:
    explicit Floats(bool flushes) { set(flushes ? before | FLUSHED : before & ~FLUSHED); }
    ~Floats() { set(before); }
};

// ---- the threads of one block -----------------------------------------------------------------
__thread Here here;
__thread Thread *current;

static std::mutex findings_lock;

struct Order_ {  // a permutation of 0 to n - 1, by a seed
    std::vector<unsigned> at;
    void shuffle(unsigned n, uint64_t &state, bool mixed) {
        at.resize(n);
        for (unsigned i = 0; i < n; ++i) at[i] = i;
        for (unsigned i = n; mixed && i > 1; --i) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            std::swap(at[i - 1], at[(state >> 33) % i]);
        }
    }
};

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The blocks of a cooperative launch, each on a processor thread of its own. One of them runs at a
// time, until it ends or waits for the grid; then the next one does, in their order.
struct Turns {
    enum State : char { READY, WAITS, ENDED };
    std::mutex lock;
    std::condition_variable changed;
    std::vector<State> of;
    size_t turn = 0, waiting = 0, ended = 0;
    Spot last;                            // that waits

    void begin(size_t place, const std::atomic<bool> &stop);
    bool pass(size_t place, State now);
};

struct Worker {
    Launch *launch = nullptr;
    std::atomic<bool> *stop = nullptr;
    Turns *turns = nullptr;               // of a cooperative launch
    size_t place = 0;                     // of its block among them
    std::vector<Thread> threads;
    std::vector<Warp> warps;
    Order_ order;
    uint64_t random = 0;
    unsigned block = 0;
    unsigned next = 0, finished = 0;      // in `order`: threads that have not begun; how many ended
    std::vector<Thread *> ready;          // may go on, the first at `first_ready`
    size_t first_ready = 0;
    std::vector<Thread *> at_barrier, at_part;  // of all threads, of the first ones
    Votes votes{0, 1, 0}, counted{0, 1, 0};
    Context outside;                      // of the worker itself
    Stack *stack = nullptr;               // on which the worker is now
    std::vector<Stack *> spare;
    void *python = nullptr;               // the state with which this worker may call Python
    bool asks = false;                    // the thread on `stack` asks whether to stop
    int64_t polls = 0;                    // between two looks at the clock
    Clock::time_point asked{};

    void run_block(unsigned number);
    void run_threads();
    void wait();
    void go_on();
    void finish(Thread &);
    void wake(Thread *thread) { ready.push_back(thread); }
    void pass_barrier();
    void wait_for_blocks();
    void give_turn(Turns::State);
    void close(Warp &, Meeting &);
    void explain_deadlock();
    void give_up();
    bool is_interrupted();
};
static __thread Worker *worker;

static void fiber() {
    worker->run_threads();
    __builtin_unreachable();
}

// Calls threads until one waits, which then keeps this stack; the others are called on another one.
void Worker::run_threads() {
    for (;;) {
        while (next < threads.size() && !*stop) {
            Thread &thread = threads[order.at[next++]];
            current = &thread;
            here.thread = thread.index;
            here.lane = thread.number & 31;
            launch->run(launch->arguments);
            finish(thread);
        }
        current = nullptr;
        spare.push_back(stack);
        go_on();
    }
}

// Leaves this stack for a thread that may go on, for one that has not begun, or for the worker.
void Worker::go_on() {
    Stack *from = stack;
    if (first_ready < ready.size() && !*stop) {
        Thread *thread = ready[first_ready++];
        if (first_ready == ready.size()) ready.clear(), first_ready = 0;
        stack = thread->stack;
        if (stack != from) from->context.change_to(stack->context);
    } else if (next < threads.size() && !*stop) {
        Stack *fresh = nullptr;
        if (!spare.empty()) {
            fresh = spare.back();
            spare.pop_back();
        } else if (!(fresh = take_stack())) {
            *stop = starved = true;
        }
        if (fresh) {
            if (fresh == from) return;  // only from run_threads, whose loop calls the next thread
            fresh->context.start(fresh->memory, fiber);
            stack = fresh;
        }
        from->context.change_to(fresh ? fresh->context : outside);
    } else {
        from->context.change_to(outside);
    }
}

void Worker::wait() {
    Thread &thread = *current;
    thread.stack = stack;
    go_on();
    thread.stack = nullptr;
    current = &thread;
    here.thread = thread.index;
    here.lane = thread.number & 31;
}

void Worker::finish(Thread &thread) {
    thread.finished = true;
    ++finished;
    if (checked) checker_finishes(thread);
    Warp &warp = warps[thread.number / 32];
    warp.alive &= ~(1u << (thread.number & 31));
    for (Meeting &meeting : warp.meetings)
        if (meeting.open && !(meeting.mask & warp.alive & ~meeting.lanes)) close(warp, meeting);
    if (!at_barrier.empty() && at_barrier.size() + finished == threads.size()) pass_barrier();
}

// All that are left have come. A GPU lets them go on where others have ended; CUDA's rule is that
// all come to the same barrier or none does.
void Worker::pass_barrier() {
    if (checked && at_barrier.size() < threads.size()) {
        Finding finding{DIVERGENT, -3, 0, 0, {}, {}, ""};
        Thread *runs = current;
        current = at_barrier[0];
        finding.here = spot(current->barrier_line);
        current = runs;
        Thread *ended = nullptr;
        for (Thread &thread : threads)
            if (thread.finished) ended = ended ? ended : &thread;
        current = ended;
        finding.other = spot(0);
        current = runs;
        snprintf(finding.text, sizeof finding.text, "%zu of %zu threads wait at a barrier, the others have ended",
                 at_barrier.size(), threads.size());
        report(finding, false);
    }
    for (Thread *thread : at_barrier)
        if (checked && thread->barrier_line != at_barrier[0]->barrier_line) {
            Finding finding{DIVERGENT, -3, 0, 0, {}, {}, "threads of a block wait at different barriers"};
            Thread *runs = current;
            current = at_barrier[0];
            finding.here = spot(current->barrier_line);
            current = thread;
            finding.other = spot(thread->barrier_line);
            current = runs;
            report(finding, false);
            break;
        }
    votes = counted;
    counted = {0, 1, 0};
    bool for_grid = at_barrier[0]->for_grid;
    if (for_grid && turns) turns->last = spot(at_barrier[0]->barrier_line);
    for (Thread *thread : at_barrier) {
        thread->barrier_line = 0, thread->for_grid = false;
        if (thread != current) wake(thread);
    }
    at_barrier.clear();
    if (checked) checker_passes_barrier();
    if (for_grid) wait_for_blocks();
}

Votes barrier(int vote, int line) {
    Worker &w = *worker;
    w.counted.count += vote != 0;
    w.counted.all &= vote != 0;
    w.counted.any |= vote != 0;
    current->barrier_line = line;
    w.at_barrier.push_back(current);
    if (w.at_barrier.size() + w.finished == w.threads.size())
        w.pass_barrier();
    else
        w.wait();
    return w.votes;
}

void barrier_of_first(unsigned threads, int line) {
    Worker &w = *worker;
    current->barrier_line = line;
    w.at_part.push_back(current);
    if (w.at_part.size() < threads) return w.wait();
    for (Thread *thread : w.at_part) {
        thread->barrier_line = 0;
        if (thread != current) w.wake(thread);
    }
    w.at_part.clear();
    if (checked) checker_passes_barrier();
}

// ---- a barrier of all blocks ---------------------------------------------------------------------
void Turns::begin(size_t place, const std::atomic<bool> &stop) {
    std::unique_lock<std::mutex> hold(lock);
    while (turn != place && !stop) changed.wait_for(hold, milliseconds(20));
}

// Gives the turn to the next block that can go on; false if there is none, but some wait.
bool Turns::pass(size_t place, State now) {
    std::lock_guard<std::mutex> hold(lock);
    of[place] = now;
    ++(now == WAITS ? waiting : ended);
    while (++place < of.size() && of[place] != READY) {}
    if (place == of.size()) {
        if (waiting && ended) return false;
        place = waiting = 0;
        for (State &each : of) each = each == WAITS ? READY : each;
        if (checked) checker_passes_grid();
    }
    turn = place;
    changed.notify_all();
    return true;
}

void Worker::wait_for_blocks() {
    if (checked) checker_leaves_block();
    give_turn(Turns::WAITS);
    turns->begin(place, *stop);
    if (*stop) give_up();
    if (checked) checker_enters_block();
}

void Worker::give_turn(Turns::State now) {
    if (turns->pass(place, now)) return;
    Finding finding{DIVERGENT, -3, 0, 0, turns->last, {}, ""};
    memset(finding.other.block, 0xff, sizeof finding.other.block);
    snprintf(finding.text, sizeof finding.text, "%zu of %zu blocks wait at a barrier of the grid, the others have ended",
             turns->waiting, turns->of.size());
    report(finding, false);
    *stop = true;
}

void grid_barrier(int line) {
    if (!worker->turns) fail("a grid waits that was not launched as cooperative", line);
    current->for_grid = true;
    barrier(0, line);
}

// ---- warps --------------------------------------------------------------------------------------
void Worker::close(Warp &warp, Meeting &meeting) {
    meeting.open = false;
    meeting.reading = meeting.lanes;
    unsigned ended = meeting.mask & warp.exists & ~meeting.lanes;
    if (checked && ended) {
        Finding finding{ABSENT, -3, 0, 0, {}, {}, ""};
        unsigned first = __builtin_ctz(meeting.lanes), other = __builtin_ctz(ended);
        Thread *runs = current;
        current = &threads[meeting.begin + first];
        finding.here = spot(meeting.line);
        current = &threads[meeting.begin + other];
        finding.other = spot(0);
        current = runs;
        snprintf(finding.text, sizeof finding.text, "%s names lane %u in its mask, which has ended", meeting.what,
                 other);
        report(finding, false);
    }
    for (unsigned lane = 0; lane < 32; ++lane)
        if (meeting.lanes >> lane & 1) {
            Thread &thread = threads[meeting.begin + lane];
            if (&thread != current) wake(&thread);
            thread.meeting = nullptr;
        }
    if (checked) checker_meets(meeting);
}

const Exchange &meet(unsigned mask, uint64_t word, const char *what, int line, Order order) {
    Worker &w = *worker;
    Warp &warp = w.warps[current->number / 32];
    unsigned me = 1u << here.lane;
    if (checked && !(mask & me)) {
        Finding finding{ABSENT, -3, 0, 0, spot(line), {}, ""};
        memset(finding.other.block, 0xff, sizeof finding.other.block);
        snprintf(finding.text, sizeof finding.text, "%s is called by lane %u, which its mask 0x%x does not name",
                 what, here.lane, mask);
        report(finding, false);
    }
    mask |= me;
    Meeting *found = nullptr;
    for (Meeting &meeting : warp.meetings) {
        if (meeting.open && meeting.mask == mask && !(meeting.lanes & me)) {
            found = &meeting;
            break;
        }
        if (!found && !meeting.open && !meeting.reading) found = &meeting;
    }
    if (!found->open) {
        found->mask = mask, found->lanes = 0, found->reading = 0, found->open = true;
        found->order = order, found->what = what, found->line = line;
        found->begin = current->number & ~31u;
    } else if (checked && strcmp(found->what, what)) {
        Finding finding{DIVERGENT, -3, 0, 0, spot(line), spot(found->line), ""};
        unsigned begin = current->number & ~31u;
        memcpy(finding.other.thread, &w.threads[begin + __builtin_ctz(found->lanes)].index, sizeof(uint3));
        snprintf(finding.text, sizeof finding.text, "%s meets %s in one warp", what, found->what);
        report(finding, false);
    }
    found->word[here.lane] = word;
    found->lanes |= me;
    if (mask & warp.alive & ~found->lanes) {
        current->meeting = found;
        w.wait();
    } else {
        w.close(warp, *found);
    }
    return *found;
}

void leave(const Exchange &exchange) {
    Meeting &meeting = (Meeting &)exchange;
    meeting.reading &= ~(1u << here.lane);
}

void absent(unsigned lane, const char *what, int line) {
    if (!checked) return;
    Finding finding{ABSENT, -3, 0, 0, spot(line), {}, ""};
    memset(finding.other.block, 0xff, sizeof finding.other.block);
    snprintf(finding.text, sizeof finding.text, "%s takes the value of lane %u, which takes no part", what, lane);
    report(finding, false);
}

// ---- copies to shared memory ---------------------------------------------------------------------
__thread uintptr_t shared_place;

void begin_copy(const Copy &copy) { current->copies.push_back({copy, current->copy_group}); }

void end_copies() { ++current->copy_group; }

bool finished_copy(unsigned but_for, Copy &copy) {
    Thread &thread = *current;
    if (thread.first_copy == thread.copies.size()) {
        thread.copies.clear(), thread.first_copy = 0;
        return false;
    }
    const Begun &begun = thread.copies[thread.first_copy];
    if (begun.group + but_for >= thread.copy_group) return false;
    ++thread.first_copy;
    copy = begun;
    return true;
}

void fence() {
    if (checked) checker_fences();
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// ---- findings -----------------------------------------------------------------------------------
Spot spot(int line, const void *code, int writes) {
    extern char library_begin asm("__ehdr_start") __attribute__((visibility("hidden")));
    Spot made{{0, 0, 0}, {0, 0, 0}, line, writes, code ? (uint64_t)((const char *)code - &library_begin) : 0};
    if (current) memcpy(made.thread, &current->index, sizeof made.thread);
    memcpy(made.block, &here.block, sizeof made.block);
    return made;
}

void report(const Finding &finding, bool ends_the_launch) {
    Worker &w = *worker;
    {
        std::lock_guard<std::mutex> hold(findings_lock);
        Launch &launch = *w.launch;
        bool known = false;
        for (int i = 0; i < launch.found && !known; ++i) {
            const Finding &f = launch.findings[i];
            known = f.fault == finding.fault && f.here.line == finding.here.line &&
                    f.here.code == finding.here.code && f.other.line == finding.other.line &&
                    f.other.code == finding.other.code;
        }
        if (!known && launch.found < launch.capacity) launch.findings[launch.found++] = finding;
    }
    if (ends_the_launch) {
        *w.stop = true;
        w.give_up();
    }
}

// Leaves the thread that runs for ever; its stack can be taken again.
void Worker::give_up() {
    if (!stack) return;
    spare.push_back(stack);
    stack->context.change_to(outside);
}

// Whether Python raised an exception, on its way to a function that does nothing.
bool Worker::is_interrupted() {
    if (!python) return false;
    const Python &calls = *launch->python;
    Floats usual(false);
    calls.restore(python);
    void *made = calls.call(calls.nothing);
    if (made) calls.drop(made);
    python = calls.save();
    return !made;
}

// Turns may take nanoseconds or minutes. Their number between two looks at the clock is doubled
// while little time has passed, and halved while too much has.
void look_for_stop() {
    Worker &w = *worker;
    Clock::time_point now = Clock::now();
    bool first = w.asked == Clock::time_point{};
    auto passed = now - w.asked;
    if (first || passed < milliseconds(10))
        w.polls = 2 * w.polls + 1;
    else if (passed > milliseconds(40))
        w.polls /= 2;
    here.polls = w.polls;
    if (!first && passed < milliseconds(10)) return;
    w.asked = now;
    if (first) return;
    w.asks = true;  // from outside: Python needs the stack that it knows
    w.stack->context.change_to(w.outside);
    if (*w.stop) w.give_up();
}

void fail(const char *what, int line) {
    Finding finding{FAILED, -3, 0, 0, spot(line), {}, ""};
    memset(finding.other.block, 0xff, sizeof finding.other.block);
    snprintf(finding.text, sizeof finding.text, "%s", what);
    report(finding, true);
    __builtin_unreachable();
}

// Everybody waits for somebody.
void Worker::explain_deadlock() {
    std::vector<Thread *> &waiting = at_barrier.empty() ? at_part : at_barrier;
    Thread *in_block = waiting.empty() ? nullptr : waiting[0], *in_warp = nullptr;
    for (Thread &thread : threads)
        if (!thread.finished && thread.meeting && !in_warp) in_warp = &thread;
    Finding finding{DIVERGENT, -3, 0, 0, {}, {}, ""};
    memset(finding.other.block, 0xff, sizeof finding.other.block);
    if (in_warp) {
        current = in_warp;
        finding.here = spot(in_warp->meeting->line);
        unsigned missing = in_warp->meeting->mask & ~in_warp->meeting->lanes;
        snprintf(finding.text, sizeof finding.text, "%s waits for lanes 0x%x for ever", in_warp->meeting->what,
                 missing);
    }
    if (in_block) {
        current = in_block;
        (in_warp ? finding.other : finding.here) = spot(in_block->barrier_line);
        if (!in_warp)
            snprintf(finding.text, sizeof finding.text, "%zu of %zu threads wait at a barrier for ever",
                     waiting.size(), threads.size());
    }
    current = nullptr;
    report(finding, false);
}

// ---- blocks and launches ------------------------------------------------------------------------
Thread *thread_numbered(unsigned number) { return &worker->threads[number]; }
unsigned block_number() { return worker->block; }

void Worker::run_block(unsigned number) {
    const unsigned *grid = launch->grid, *size = launch->block;
    block = number;
    here.block = {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
    here.block_size = {size[0], size[1], size[2]};
    here.grid_size = {grid[0], grid[1], grid[2]};
    unsigned count = size[0] * size[1] * size[2];
    if (threads.size() != count) {
        threads.resize(count);
        warps.resize((count + 31) / 32);
        for (unsigned i = 0; i < count; ++i) {
            threads[i].index = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
            threads[i].number = i;
        }
        for (Warp &warp : warps) memset(&warp, 0, sizeof warp);
    }
    for (unsigned i = 0; i < warps.size(); ++i) {
        unsigned lanes = count - 32 * i;
        warps[i].exists = warps[i].alive = lanes >= 32 ? ~0u : (1u << lanes) - 1;
    }
    for (Thread &thread : threads) {
        thread.finished = false, thread.stack = nullptr;
        thread.meeting = nullptr, thread.barrier_line = 0, thread.for_grid = false;
        thread.copies.clear(), thread.first_copy = 0, thread.copy_group = 0;
        if (checked) memset(thread.clock, 0, sizeof thread.clock);
    }
    if (order.at.size() != count || launch->seed) order.shuffle(count, random, launch->seed != 0);
    next = finished = 0;
    counted = {0, 1, 0};
    at_barrier.clear(), at_part.clear(), ready.clear(), first_ready = 0;
    if (checked) checker_begins_block(number);

    Stack *mine = spare.empty() ? take_stack() : spare.back();
    if (!mine) {
        *stop = starved = true;
        return;
    }
    if (!spare.empty()) spare.pop_back();
    mine->context.start(mine->memory, fiber);
    stack = mine;
    do {
        asks = false;
        outside.change_to(stack->context);
        if (asks && is_interrupted()) *stop = true;
    } while (asks);
    stack = nullptr;
    current = nullptr;
    if (finished < threads.size() && !*stop) {
        explain_deadlock();
        *stop = true;
    }
    if (*stop)  // waiting threads are given up
        for (Thread &thread : threads)
            if (!thread.finished && thread.stack) spare.push_back(thread.stack);
}
}  // namespace cuda_on_host

using namespace cuda_on_host;

// The stacks of this library, which others may take as well; it must then stay loaded.
extern "C" __attribute__((visibility("default"))) void *cuda_on_host_pool() { return pool; }

extern "C" __attribute__((visibility("default"))) void cuda_on_host_share(void *other) {
    stacks = pool = (Pool *)other;
}

// Runs all blocks of a launch; gives how many findings there are, or -1 if there was not enough
// memory for stacks, or for the record of accesses.
extern "C" __attribute__((visibility("default"))) int cuda_on_host_launch(Launch *launch) {
    unsigned blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
    std::atomic<unsigned> next_block{0};
    std::atomic<bool> stop{false};
    launch->found = 0;
    starved = false;
    if (checked) checker_begins(*launch);
    Turns turns;
    if (launch->cooperative) turns.of.assign(blocks, Turns::READY);
    uint64_t random = launch->seed;
    Order_ order;
    order.shuffle(launch->seed ? blocks : 0, random, true);
    auto work = [&](Worker &w) {
        Floats floats(launch->flushes);
        w.launch = launch, w.stop = &stop, w.random = random;
        worker = &w, here.polls = 0;
        auto run = [&](unsigned i) { w.run_block(launch->seed ? order.at[i] : i); };
        if (w.turns) {
            turns.begin(w.place, stop);
            if (!stop) run(w.place);
            w.give_turn(Turns::ENDED);
        } else {
            for (unsigned i; !stop && (i = next_block++) < blocks;) run(i);
        }
        for (Stack *each : w.spare) give_stack(each);
        worker = nullptr;
    };
    // The caller runs no block that waits for others: it looks whether the program is interrupted.
    int workers = launch->cooperative ? blocks + 1 : launch->workers < (int)blocks ? launch->workers : (int)blocks;
    std::vector<std::thread> others;
    std::mutex lock;
    std::condition_variable ended;
    int running = workers - 1;
    for (int i = 1; i < workers; ++i)
        others.emplace_back([&, i] {
            Worker w;
            if (launch->cooperative) w.turns = &turns, w.place = i - 1;
            work(w);
            std::lock_guard<std::mutex> hold(lock);
            if (!--running) ended.notify_one();
        });
    Worker caller;
    caller.launch = launch;
    if (launch->python) caller.python = launch->python->save();
    if (!launch->cooperative) work(caller);
    for (std::unique_lock<std::mutex> hold(lock); running;) {
        ended.wait_for(hold, milliseconds(20));
        if (running && !stop && caller.is_interrupted()) stop = true;
    }
    for (std::thread &other : others) other.join();
    if (launch->python) launch->python->restore(caller.python);
    if (checked) checker_ends();
    fflush(stdout);  // the output of kernels' printf
    return starved ? -1 : launch->found;
}
