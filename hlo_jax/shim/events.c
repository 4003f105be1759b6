// What must not be Python, or must be fast: errors, events, buffers, and calls of compiled code.
//
// Three things can't be done in Python. An array may die while an exception of Python is pending,
// or after Python has ended; a callback into Python would then crash the process. So every function
// that frees something is here. What JAX asks about each result of each call is here as well,
// because a callback takes a microsecond and JAX asks a dozen questions. And so is the call of a
// function that was compiled to C: from the buffers to its arguments, and from its results to
// buffers.
//
// The structs (PJRT_..._Args, Buffer, Executable ...) are declared by Python, from the tables that
// Python itself reads them by, in front of this text; so is devices.h, of compiled modules. After it
// comes a line ASKS_PYTHON(name) for each function that Python may answer.
//
// This file has errors, calls of Python's functions, and events.

enum { INVALID_ARGUMENT = 3, RESOURCE_EXHAUSTED = 8, CANCELLED = 1, ABORTED = 10, UNAVAILABLE = 14 };
enum { ALIGNMENT = 64, ON_STACK = 64 };
enum { CODE_ALIGNMENT = 16 };     // that compiled code expects of arrays
enum { IMMUTABLE_ZERO_COPY = 2 };  // PJRT_HostBufferSemantics

Hooks hooks;

Error *make_error(int code, const char *message, size_t length) {
  Error *error = malloc(sizeof *error + length + 1);
  error->code = code;
  error->length = length;
  memcpy(error + 1, message, length);
  ((char *)(error + 1))[length] = 0;
  return error;
}

static Error *simple_error(int code, const char *message) {
  return make_error(code, message, strlen(message));
}

static Error *no_memory_for(int64_t bytes, const char *what) {
  char text[128];
  snprintf(text, sizeof text, "no memory for the %lld bytes of %s", (long long)bytes, what);
  return simple_error(RESOURCE_EXHAUSTED, text);
}

void PJRT_Error_Destroy(PJRT_Error_Destroy_Args *args) { free(args->error); }

void PJRT_Error_Message(PJRT_Error_Message_Args *args) {
  Error *error = args->error;
  args->message = error + 1;
  args->message_size = error->length;
}

void *PJRT_Error_GetCode(PJRT_Error_GetCode_Args *args) {
  args->code = ((Error *)args->error)->code;
  return NULL;
}

// Errors carry nothing else. The function must be there all the same: a framework that has an error
// for an answer asks again for what that error carries.
void *PJRT_Error_ForEachPayload(PJRT_Error_ForEachPayload_Args *args) {
  (void)args;
  return NULL;
}

// ------------------------------------------------------------------- functions of Python

// What a function of Python gives when it is done; else it is an error, or 0 if it never began.
enum { DONE = 1 };

// Call a function of Python; NULL stands for one that ended with Python.
//
// If a signal came, its handler would run before the function's first line, where nobody catches
// what it raises, and C would go on with results that are none. So handlers run before the call, and
// the signal is sent anew after it.
static void *ask_python(void *function, void *args) {
  if (!function) return simple_error(UNAVAILABLE, "Python has ended, and PyHLO's backend with it");
  int state = ((int (*)(void))hooks.ensure)();
  bool signalled = ((int (*)(void))hooks.check)();
  if (signalled) ((void (*)(void))hooks.clear)();
  uintptr_t answer = ((uintptr_t (*)(void *))function)(args);
  ((void (*)(int))hooks.release)(state);
  if (signalled) ((void (*)(void))hooks.interrupt)();
  if (answer == DONE) return NULL;
  return answer ? (void *)answer : simple_error(CANCELLED, "a signal came");
}

#define ASKS_PYTHON(name) \
  void *asked_##name;     \
  void *ask_##name(void *args) { return ask_python(asked_##name, args); }

void *ask_PJRT_Client_BufferFromHostBuffer(void *args);
void *ask_PJRT_Client_Compile(void *args);
void *ask_PJRT_LoadedExecutable_Execute(void *args);
void *ask_raised(void *args);
void *ask_out_of_memory(void *executable);
void *ask_fits_memory(void *executable);
void *ask_start_workers(void *nothing);
void *ask_run_in_python(void *call);
static void unwanted(Event *event);
static void let_others_work(void);

// --------------------------------------------------------------------------------- events

// An event is what a buffer or a call is waited for by: of a result that is being computed, or of
// memory of the host that is read until a buffer dies. What is done when a function returns has the
// event `ready`, which is always ready and never freed.
Event ready = {.is_ready = true};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // of all events, and of the queue
static pthread_cond_t happened = PTHREAD_COND_INITIALIZER;  // an event, or a change of the queue

typedef struct Listener {
  struct Listener *next;
  void (*call)(Error *error, void *user);
  void *user;
} Listener;

static Event *new_event(void) {
  Event *made = calloc(1, sizeof *made);
  if (made) made->references = 1;
  return made;
}

static Event *share_event(Event *event) {
  if (event != &ready) __atomic_add_fetch(&event->references, 1, __ATOMIC_RELAXED);
  return event;
}

static void drop_event(Event *event) {
  if (!event || event == &ready) return;
  if (__atomic_sub_fetch(&event->references, 1, __ATOMIC_ACQ_REL)) return;
  free(event->error);
  free(event);
}

static bool has_happened(Event *event) {
  return !event || __atomic_load_n(&event->is_ready, __ATOMIC_ACQUIRE);
}

static Error *copy_of(const Error *error) {
  return error ? make_error(error->code, (const char *)(error + 1), error->length) : NULL;
}

// Let an event happen, and tell who listens; the error, if there is one, is the event's.
static void happen(Event *event, Error *error) {
  pthread_mutex_lock(&lock);
  event->error = error;
  Listener *listener = event->listeners;
  event->listeners = NULL;
  __atomic_store_n(&event->is_ready, true, __ATOMIC_RELEASE);
  pthread_cond_broadcast(&happened);
  pthread_mutex_unlock(&lock);
  while (listener) {
    Listener *next = listener->next;
    listener->call(copy_of(error), listener->user);
    free(listener);
    listener = next;
  }
}

// Let Python's handlers of signals run, if this is the main thread; whether one raised an exception,
// which is dropped, for the signal is sent anew when C++ returns.
static bool interrupts(void) {
  int state = ((int (*)(void))hooks.ensure)();
  bool signalled = ((int (*)(void))hooks.check)();
  if (signalled) {
    ((void (*)(void))hooks.clear)();
    ((void (*)(void))hooks.interrupt)();
  }
  ((void (*)(int))hooks.release)(state);
  return signalled;
}

static void sleep_until_something_happens(void) {
  enum { SLICE = 50000000 };  // ns, after which signals are looked for
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += SLICE;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&happened, &lock, &until);
}

// Wait for an event; what computes it may need Python's lock. False after Ctrl-C: the caller returns
// an error, and Python raises KeyboardInterrupt when C++ returns to it.
static bool wait_for(Event *event) {
  if (has_happened(event)) return true;
  let_others_work();
  void *thread = NULL;
  if (((int (*)(void))hooks.has_lock)()) thread = ((void *(*)(void))hooks.unlock)();
  for (bool stopped = false; !stopped && !has_happened(event); stopped = interrupts()) {
    pthread_mutex_lock(&lock);
    if (!has_happened(event)) sleep_until_something_happens();
    pthread_mutex_unlock(&lock);
  }
  if (thread) ((void (*)(void *))hooks.relock)(thread);
  return has_happened(event);
}

void *PJRT_Event_Destroy(PJRT_Event_Destroy_Args *args) {
  drop_event(args->event);
  return NULL;
}

void *PJRT_Event_Error(PJRT_Event_Error_Args *args) { return copy_of(((Event *)args->event)->error); }

void *PJRT_Event_Await(PJRT_Event_Await_Args *args) {
  wait_for(args->event);
  return copy_of(((Event *)args->event)->error);
}

void *PJRT_Event_IsReady(PJRT_Event_IsReady_Args *args) {
  args->is_ready = has_happened(args->event);
  return NULL;
}

void *PJRT_Event_OnReady(PJRT_Event_OnReady_Args *args) {
  void (*call)(Error *, void *) = (void (*)(Error *, void *))args->callback;
  Event *event = args->event;
  if (!has_happened(event)) let_others_work();
  pthread_mutex_lock(&lock);
  bool later = !event->is_ready;
  if (later) {
    Listener *made = malloc(sizeof *made);
    *made = (Listener){event->listeners, call, args->user_arg};
    event->listeners = made;
  }
  pthread_mutex_unlock(&lock);
  if (!later) call(copy_of(event->error), args->user_arg);
  return NULL;
}

