// The queue: calls that return before their results are there, and the threads that make them.
//
// Calls are taken in their order, and one runs at a time. Each waits for the calls that compute its
// arguments. More threads than one take calls only if the one that runs may wait for another: it has
// run for long, or is inside a function of Python's that asks for a result.

enum {
  WORKERS = 4,
  MOST_WAITING = 32,      // calls in the queue; who makes more waits
  LONG = 200000000,       // ns that a call has run, after which others need not wait for it
  SHORT = 100000,         // ns of the last run of a call that is not worth a queue
  TURN = 50000000,        // ns between two looks at how long a call has run
};

typedef struct Task {
  struct Task *next;
  Executable *self;
  Event *event;            // of all of its results
  Event **waits;           // of the arguments, or NULL
  Buffer **given, **made;
  Lists lists;
  int wanted;              // results that somebody has, and calls that wait for it
  bool is_python;          // Python makes it
  bool cancelled;
  int64_t begun;           // 0 while it waits
} Task;

static struct {
  Task *first, *last;      // that wait for a thread
  Task *running[WORKERS];
  int waiting, workers;
  bool is_blocked;         // a function of Python's, which a call has called, waits for another call
  bool is_closed;          // Python ends
} queue;

static const char NOT_WANTED[] = "the call was stopped, as nobody had its results any more";

static _Thread_local Task *current;  // the call that this thread makes

// Nobody has one of a call's results any more, nor waits for it. Once that is so for all, the call
// need not go on; but its effects are wanted always.
// Called with the lock.
static void unwanted(Event *event) {
  Task *task = event->task;
  if (task && --task->wanted == 0 && !task->self->has_effects) {
    __atomic_store_n(&task->cancelled, true, __ATOMIC_RELAXED);
  }
}

// What loops of compiled code ask now and then: whether to stop.
int asked_to_stop(void) {
  if (current && __atomic_load_n(&current->cancelled, __ATOMIC_RELAXED)) return 1;
  return hooks.question ? ((int (*)(void))hooks.question)() : 0;
}

static void free_task(Task *task) {
  for (size_t i = 0; i < task->self->input_count; i++) {
    if (!task->waits[i]) continue;
    pthread_mutex_lock(&lock);
    unwanted(task->waits[i]);
    pthread_mutex_unlock(&lock);
    drop_event(task->waits[i]);
  }
  for (size_t i = 0; i < task->self->input_count; i++) settle(task->given[i], 0, 1, false);
  for (size_t k = 0; k < task->self->output_count; k++) settle(task->made[k], 0, 1, false);
  release_executable(task->self);
  drop_event(task->event);
  free(task);
}

static Error *run_code(Task *task) {
  Workspace work = take_workspace(task->self);
  if (!work.arena) return ask_out_of_memory(task->self);
  copy_donated(task->self, task->lists);
  int status = compute(task->self, work, task->lists);
  Error *error = error_of(task->self, status, work);
  give_arena(task->self, work.arena);
  if (status != HLO_INTERRUPTED) return error;
  free(error);
  return simple_error(ABORTED, NOT_WANTED);
}

static Error *run_in_python(Task *task) {
  PythonCall call = {task->self, task->given, task->lists.in, task->lists.out, &task->cancelled};
  Error *error = ask_run_in_python(&call);
  if (!error || !task->cancelled) return error;
  free(error);
  return simple_error(ABORTED, NOT_WANTED);
}

// The error of an argument, or of the call itself.
static Error *run_task(Task *task) {
  for (size_t i = 0; i < task->self->input_count; i++) {
    Event *event = task->waits[i];
    if (!event) continue;
    pthread_mutex_lock(&lock);
    while (!event->is_ready) pthread_cond_wait(&happened, &lock);
    pthread_mutex_unlock(&lock);
    if (event->error) return copy_of(event->error);
  }
  if (task->cancelled) return simple_error(ABORTED, NOT_WANTED);
  return task->is_python ? run_in_python(task) : run_code(task);
}

static void perform(Task *task) {
  current = task;
  Error *error = run_task(task);
  current = NULL;
  pthread_mutex_lock(&lock);
  for (size_t k = 0; k < task->self->output_count; k++) task->made[k]->pending = 0;
  task->event->task = NULL;
  pthread_mutex_unlock(&lock);
  happen(task->event, error);
}

// Whether a thread may take the first call of the queue.
static bool may_take(void) {
  if (!queue.first) return false;
  bool idle = true, slow = true;
  for (int i = 0; i < WORKERS; i++) {
    if (!queue.running[i]) continue;
    idle = false;
    slow &= nanoseconds() - queue.running[i]->begun > LONG;
  }
  return idle || slow || queue.is_blocked;
}

static void wait_for_turn(void) {
  if (!queue.first) {
    pthread_cond_wait(&happened, &lock);
    return;
  }
  sleep_until_something_happens();
}

// What a thread of the queue does until Python ends.
void work(int number) {
  pthread_mutex_lock(&lock);
  while (!queue.is_closed) {
    if (!may_take()) {
      wait_for_turn();
      continue;
    }
    Task *task = queue.first;
    queue.first = task->next;
    queue.waiting--;
    queue.is_blocked = false;
    queue.running[number] = task;
    task->begun = nanoseconds();
    pthread_cond_broadcast(&happened);
    pthread_mutex_unlock(&lock);
    perform(task);
    pthread_mutex_lock(&lock);
    queue.running[number] = NULL;
    pthread_cond_broadcast(&happened);
    pthread_mutex_unlock(&lock);
    free_task(task);
    pthread_mutex_lock(&lock);
  }
  pthread_mutex_unlock(&lock);
}

// A function of Python's that a call has called is about to wait for another call.
static void let_others_work(void) {
  if (!current) return;
  pthread_mutex_lock(&lock);
  queue.is_blocked = true;
  pthread_cond_broadcast(&happened);
  pthread_mutex_unlock(&lock);
}

static Task *new_task(Executable *self) {
  size_t in = self->input_count, out = self->output_count;
  Task *task = calloc(1, sizeof *task + (3 * in + 3 * out) * sizeof(void *));
  Event *event = task ? new_event() : NULL;
  if (!event) {
    free(task);
    return NULL;
  }
  task->self = self;
  task->event = event;
  task->given = (Buffer **)(task + 1);
  task->made = task->given + in;
  task->waits = (Event **)(task->made + out);
  task->lists = lists_at(self, task->waits + in);
  return task;
}

static void put(Task *task) {
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < task->self->input_count; i++) {
    Task *maker = task->waits[i] ? task->waits[i]->task : NULL;
    if (maker) maker->wanted++;
  }
  if (queue.first) {
    queue.last->next = task;
  } else {
    queue.first = task;
  }
  queue.last = task;
  queue.waiting++;
  pthread_cond_broadcast(&happened);
  pthread_mutex_unlock(&lock);
}

// Make a call later. Its results are pending, and its arguments are kept until then.
static void *call_later(Executable *self, PJRT_LoadedExecutable_Execute_Args *args, bool native) {
  Buffer **given = ((Buffer ***)args->argument_lists)[0];
  Buffer **made = ((Buffer ***)args->output_lists)[0];
  Task *task = new_task(self);
  if (!task) return ask_out_of_memory(self);
  task->is_python = !native;
  for (size_t i = 0; i < self->input_count; i++) {
    Event *event = given[i]->event;
    task->waits[i] = has_happened(event) && !(event && event->error) ? NULL : share_event(event);
  }
  Error *error = prepare(self, args, 0, task->lists);
  if (error) {
    for (size_t i = 0; i < self->input_count; i++) drop_event(task->waits[i]);
    drop_event(task->event);
    free(task);
    return error;
  }
  __atomic_add_fetch(&self->references, 1, __ATOMIC_RELAXED);
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < self->input_count; i++) (task->given[i] = given[i])->uses++;
  pthread_mutex_unlock(&lock);
  for (size_t k = 0; k < self->output_count; k++) {
    task->made[k] = made[k];
    made[k]->uses = made[k]->pending = 1;
    made[k]->event = share_event(task->event);
  }
  task->wanted = self->output_count;
  task->event->task = task;
  if (args->device_complete_events) {
    ((void **)args->device_complete_events)[0] = share_event(task->event);
    task->wanted++;  // somebody waits for it, whatever becomes of the results
  }
  delete_donated(self, given, args->options);
  if (native) __atomic_add_fetch(&self->calls, 1, __ATOMIC_RELAXED);
  put(task);
  return NULL;
}

// The error of an argument that could not be computed; waits for all of them.
static Error *wait_for_arguments(Executable *self, PJRT_LoadedExecutable_Execute_Args *args) {
  (void)self;
  for (size_t d = 0; d < args->num_devices; d++) {
    for (size_t i = 0; i < args->num_args; i++) {
      Buffer *buffer = ((Buffer ***)args->argument_lists)[d][i];
      if (!has_happened(buffer->event)) let_others_work();
      Error *error = wait_for_buffer(buffer);
      if (error) return error;
    }
  }
  return NULL;
}

static bool are_there(Buffer **given, size_t count) {
  for (size_t i = 0; i < count; i++) {
    Event *event = given[i]->event;
    if (!has_happened(event) || (event && event->error)) return false;
  }
  return true;
}

// Whether a call is made by the queue: not if it is short, or returns nothing by which an error
// would be heard of; nor inside of another call, which may wait for it; nor on several devices.
static bool is_for_later(Executable *self, PJRT_LoadedExecutable_Execute_Args *args, bool native) {
  if (current || self->plan) return false;
  // JAX does not look at the error of an event, and the interpreter refuses what C would not compile.
  if (!self->output_count && !(native && args->device_complete_events)) return false;
  if (!self->has_effects && (self->is_short || (self->nanoseconds && self->nanoseconds < SHORT)) &&
      are_there(((Buffer ***)args->argument_lists)[0], self->input_count)) {
    return false;
  }
  if (!queue.workers && !queue.is_closed) {
    Error *error = ask_start_workers(NULL);
    free(error);
  }
  return queue.workers && !queue.is_closed;
}

// As many calls wait as may, at most.
static void wait_for_room(void) {
  if (__atomic_load_n(&queue.waiting, __ATOMIC_RELAXED) < MOST_WAITING) return;
  pthread_mutex_lock(&lock);
  Event *event = share_event(queue.first ? queue.first->event : &ready);
  pthread_mutex_unlock(&lock);
  wait_for(event);
  drop_event(event);
}

void *PJRT_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args *args) {
  Executable *self = args->executable;
  Error *error = NULL;
  if (self->is_large && !(error = ask_fits_memory(self))) self->is_large = 0;
  if (error) return error;
  bool native = self->run;  // once: meanwhile C may take over
  bool fit = (native || self->is_python) && fits(self, args);
  if (fit && is_for_later(self, args, native)) {
    wait_for_room();
    return call_later(self, args, native);
  }
  error = wait_for_arguments(self, args);
  if (!error && native && fit && fits(self, args)) return call_now(self, args);
  if (!error) error = ask_PJRT_LoadedExecutable_Execute(args);
  if (!error || error->code != CANCELLED) return error;
  free(error);
  return interrupted(self, args);
}

// Whether a call runs, or waits.
int is_busy(void) {
  pthread_mutex_lock(&lock);
  bool busy = queue.first;
  for (int i = 0; i < WORKERS; i++) busy |= queue.running[i] != NULL;
  pthread_mutex_unlock(&lock);
  return busy;
}

// Python's threads for the queue are there.
void workers_are_there(int count) { queue.workers = count; }

static void cancel_all(bool with_effects) {
  for (Task *task = queue.first; task; task = task->next) {
    if (with_effects || !task->self->has_effects) task->cancelled = true;
  }
  for (int i = 0; i < WORKERS; i++) {
    Task *task = queue.running[i];
    if (task && (with_effects || !task->self->has_effects)) task->cancelled = true;
  }
}

// Stop, when Python ends: calls without effects are not made any more; others are waited for, until
// Ctrl-C.
void close_queue(void) {
  bool stopped = false;
  while (is_busy()) {
    pthread_mutex_lock(&lock);
    cancel_all(stopped);
    sleep_until_something_happens();
    pthread_mutex_unlock(&lock);
    stopped |= interrupts();
  }
  pthread_mutex_lock(&lock);
  queue.is_closed = true;
  pthread_cond_broadcast(&happened);
  pthread_mutex_unlock(&lock);
}

// A child of a fork has only the thread that forked: what others computed never comes.
static void begin_anew(void) {
  pthread_mutex_init(&lock, NULL);
  pthread_cond_init(&happened, NULL);
  Task *lost[WORKERS + 1] = {queue.first};
  for (int i = 0; i < WORKERS; i++) lost[i + 1] = queue.running[i];
  memset(&queue, 0, sizeof queue);
  for (int i = 0; i <= WORKERS; i++) {
    for (Task *task = lost[i]; task; task = i ? NULL : task->next) {
      task->event->task = NULL;
      task->event->error = simple_error(UNAVAILABLE, "the parent process makes this call");
      task->event->is_ready = true;
    }
  }
}

__attribute__((constructor)) static void survive_forks(void) {
  pthread_atfork(NULL, NULL, begin_anew);
}
