// Calls of executables: at once, or by a queue.
//
// A call of compiled code has three parts. `prepare` makes the buffers of its results and lists the
// addresses of all arrays; `compute` runs the code; the rest lets go. A call that is known to be
// short, and whose arguments are there, does all three before it returns. Any other puts the second
// part into a queue (queue.c), and returns results that are pending: buffers with an event.
//
// A call in the queue uses its buffers: their memory stays, even if they are deleted, or donated to
// the next call, before they are read or written.

// Whether the caller lets an argument's memory be taken.
static bool may_donate(const ExecuteOptions *options, size_t number) {
  const int64_t *kept = options->non_donatable_input_indices;
  for (size_t i = 0; i < options->num_non_donatable_input_indices; i++) {
    if (kept[i] == (int64_t)number) return false;
  }
  return true;
}

// Whether compiled code can read the arguments of a device as they are. If not, Python says why, or
// copies.
static bool device_fits(Executable *self, Buffer **given) {
  Input *inputs = self->inputs;
  for (size_t i = 0; i < self->input_count; i++) {
    Buffer *buffer = given[i];
    if (buffer->deleted || buffer->bytes != inputs[i].bytes) return false;
    if ((uintptr_t)buffer->data % CODE_ALIGNMENT) return false;
    int64_t *order = buffer->minor_to_major;  // compiled code reads row by row
    for (size_t d = 0; d < buffer->rank; d++) {
      if (order[d] != (int64_t)(buffer->rank - 1 - d)) return false;
    }
    // The same buffer given twice can't be donated.
    for (size_t j = 0; inputs[i].donated && j < self->input_count; j++) {
      if (j != i && given[j] == buffer) return false;
    }
  }
  return true;
}

static bool fits(Executable *self, PJRT_LoadedExecutable_Execute_Args *args) {
  if (args->num_devices != self->here) return false;
  if (args->num_args != self->input_count || self->deleted) return false;
  for (size_t d = 0; d < args->num_devices; d++) {
    if (!device_fits(self, ((Buffer ***)args->argument_lists)[d])) return false;
  }
  return true;
}

// The addresses of a device's call: of the arguments' and the results' memory, and for each result
// the buffer whose memory it took, or NULL.
typedef struct {
  void **in, **out;
  Buffer **donors;
} Lists;

static Lists lists_at(Executable *self, void *memory) {
  void **in = memory, **out = in + self->input_count;
  return (Lists){in, out, (Buffer **)(out + self->output_count)};
}

// What a call works with: an arena for each device, and after them room for lists of addresses.
typedef struct {
  char *arena;
  void **lists;                  // of all devices, one after the other
  void **ins, **outs, **arenas;  // of each device: its lists, its arena
  int64_t *report;
} Workspace;

static Workspace take_workspace(Executable *self) {
  size_t devices = self->here, all = self->replicas * self->partitions;
  size_t step = (self->arena_bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
  size_t lists = devices * (self->input_count + 2 * self->output_count + 3);
  size_t bytes = devices * step + (lists + HLO_REPORT_HEAD + 2 * all) * sizeof(void *);
  void *arena = __atomic_exchange_n(&self->arena, NULL, __ATOMIC_ACQ_REL);
  if (!arena) arena = fresh_memory(bytes);
  Workspace work = {.arena = arena};
  if (!arena) return work;
  work.lists = (void **)(work.arena + devices * step);
  work.ins = work.lists + devices * (self->input_count + 2 * self->output_count);
  work.outs = work.ins + devices;
  work.arenas = work.outs + devices;
  work.report = (int64_t *)(work.arenas + devices);
  for (size_t d = 0; d < devices; d++) work.arenas[d] = work.arena + d * step;
  return work;
}

static void give_arena(Executable *self, void *arena) {
  free(__atomic_exchange_n(&self->arena, arena, __ATOMIC_ACQ_REL));
}

// The lists of a device in a workspace.
static Lists lists_of(Executable *self, Workspace work, size_t device) {
  return lists_at(self, work.lists + device * (self->input_count + 2 * self->output_count));
}

// The buffer of a result: it takes a donated argument's memory if nobody else looks at it.
static Buffer *make_result(Executable *self, size_t device, size_t number, Buffer **given,
                           const ExecuteOptions *options, Buffer **donors) {
  Output *output = (Output *)self->outputs + number;
  Memory *memory = ((Memory **)self->memories)[device * self->output_count + number];
  int argument = output->donor;  // read once: it changes when C takes over
  Buffer *donor = argument < 0 ? NULL : given[argument];
  bool alone = donor && donor->references == 1 && donor->uses == donor->pending;
  bool taken = alone && !donor->on_delete && may_donate(options, argument);
  Buffer *made = make_buffer(output->type, output->rank, output->dims, output->minor_to_major,
                             output->bytes, memory->device, memory, taken ? donor->data : NULL);
  donors[number] = made && taken ? donor : NULL;
  return made;
}

// Make a device's results and list all addresses; what is donated is gone after it. An error if
// memory is out, and nothing has changed.
static Error *prepare(Executable *self, PJRT_LoadedExecutable_Execute_Args *args, size_t device,
                      Lists lists) {
  Buffer **given = ((Buffer ***)args->argument_lists)[device];
  Buffer **made = ((Buffer ***)args->output_lists)[device];
  for (size_t i = 0; i < self->input_count; i++) lists.in[i] = given[i]->data;
  for (size_t k = 0; k < self->output_count; k++) {
    made[k] = make_result(self, device, k, given, args->options, lists.donors);
    if (made[k]) {
      lists.out[k] = made[k]->data;
      continue;
    }
    while (k-- > 0) {
      if (lists.donors[k]) made[k]->data = NULL;
      let_go(made[k]);
    }
    return ask_out_of_memory(self);
  }
  for (size_t k = 0; k < self->output_count; k++) {
    Buffer *donor = lists.donors[k];
    if (donor) donor->data = NULL, donor->deleted = 1;
  }
  return NULL;
}

// Delete what was donated and has kept its memory: it was copied.
static void delete_donated(Executable *self, Buffer **given, const ExecuteOptions *options) {
  Input *inputs = self->inputs;
  for (size_t i = 0; i < self->input_count; i++) {
    if (inputs[i].donated && !given[i]->deleted && may_donate(options, i)) delete_buffer(given[i]);
  }
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Results whose memory is their own begin with what the donated arguments hold.
static void copy_donated(Executable *self, Lists lists) {
  Output *outputs = self->outputs;
  for (size_t k = 0; k < self->output_count; k++) {
    int donor = outputs[k].donor;
    if (donor < 0 || lists.in[donor] == lists.out[k]) continue;
    memcpy(lists.out[k], lists.in[donor], outputs[k].bytes);
    lists.in[donor] = lists.out[k];
  }
}

// Run the code, and note how long it took; gives its status.
static int compute(Executable *self, Workspace work, Lists first) {
  int64_t begun = nanoseconds();
  int status;
  if (self->wire) {
    typedef int run_process(void *, int64_t, void *, void *, void **, void **, void **, int64_t *);
    status = ((run_process *)self->together)(self->wire, self->program, self->run, self->plan,
                                             work.ins, work.outs, work.arenas, work.report);
  } else if (self->plan) {
    typedef int run_devices(void *, void *, void **, void **, void **, int64_t *);
    status = ((run_devices *)self->together)(self->run, self->plan, work.ins, work.outs,
                                             work.arenas, work.report);
  } else {
    status = ((int (*)(void **, void **, void *))self->run)(first.in, first.out, work.arena);
  }
  self->nanoseconds = nanoseconds() - begun;
  return status;
}

static void clear_exception(void) {
  int state = ((int (*)(void))hooks.ensure)();
  ((void (*)(void))hooks.clear)();
  ((void (*)(int))hooks.release)(state);
}

// The error of a status: a callback raised an exception, a signal's handler did, memory is out, or
// several devices do not agree.
static Error *error_of(Executable *self, int status, Workspace work) {
  if (status == HLO_OK) return NULL;
  if (status == HLO_FAILED) {
    Raised raised = {.struct_size = sizeof raised, .executable = self,
                     .report = self->plan ? work.report : NULL};
    return ask_raised(&raised);
  }
  if (status == HLO_OUT_OF_MEMORY) return ask_out_of_memory(self);
  clear_exception();
  return simple_error(CANCELLED, "the call was interrupted");
}

// After Ctrl-C, a call succeeds, with results that are deleted already, and the signal is sent anew.
// For C++ makes a RuntimeError of any error; but the moment that it returns, Python looks for
// signals, and raises KeyboardInterrupt in the line of the call.
static void *interrupted(Executable *self, PJRT_LoadedExecutable_Execute_Args *args) {
  for (size_t d = 0; d < args->num_devices; d++) {
    Buffer **made = ((Buffer ***)args->output_lists)[d];
    for (size_t k = 0; k < self->output_count; k++) {
      Output *output = (Output *)self->outputs + k;
      Memory *memory = ((Memory **)self->memories)[d * self->output_count + k];
      made[k] = make_buffer(output->type, output->rank, output->dims, output->minor_to_major, 0,
                            memory->device, memory, NULL);
      if (!made[k]) return simple_error(RESOURCE_EXHAUSTED, "no memory");
      delete_buffer(made[k]);
    }
    if (args->device_complete_events) ((void **)args->device_complete_events)[d] = &ready;
  }
  ((void (*)(void))hooks.interrupt)();
  return NULL;
}

// Make a call, on all its devices, before it returns.
static void *call_now(Executable *self, PJRT_LoadedExecutable_Execute_Args *args) {
  Buffer ***given = (Buffer ***)args->argument_lists, ***made = (Buffer ***)args->output_lists;
  Workspace work = take_workspace(self);
  if (!work.arena) return ask_out_of_memory(self);
  Error *error = NULL;
  size_t prepared = 0;
  while (prepared < args->num_devices) {
    Lists lists = lists_of(self, work, prepared);
    if ((error = prepare(self, args, prepared, lists))) break;
    copy_donated(self, lists);
    work.ins[prepared] = lists.in;
    work.outs[prepared++] = lists.out;
  }
  if (!error) error = error_of(self, compute(self, work, lists_of(self, work, 0)), work);
  for (size_t d = 0; error && d < prepared; d++) {
    for (size_t k = 0; k < self->output_count; k++) let_go(made[d][k]);
  }
  give_arena(self, work.arena);
  if (error && error->code != CANCELLED) return error;
  if (error) {
    free(error);
    return interrupted(self, args);
  }
  for (size_t d = 0; d < args->num_devices; d++) {
    delete_donated(self, given[d], args->options);
    if (args->device_complete_events) ((void **)args->device_complete_events)[d] = &ready;
  }
  __atomic_add_fetch(&self->calls, 1, __ATOMIC_RELAXED);
  return NULL;
}
