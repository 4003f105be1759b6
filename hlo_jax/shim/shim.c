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
// Python itself reads them by, in front of this text; so is devices.h, of compiled modules. Behind it
// stands a line ASKS_PYTHON(name) for each function that Python may answer.

enum { INVALID_ARGUMENT = 3, RESOURCE_EXHAUSTED = 8, CANCELLED = 1, UNAVAILABLE = 14 };
enum { ALIGNMENT = 64, ON_STACK = 64 };

Hooks hooks;

// --------------------------------------------------------------------------------- errors

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

// --------------------------------------------------------------------------------- events

// Everything is done when a call returns, so there is one event, and it is always ready.
char ready;

void *PJRT_Event_Destroy(PJRT_Event_Destroy_Args *args) { (void)args; return NULL; }
void *PJRT_Event_Error(PJRT_Event_Error_Args *args) { (void)args; return NULL; }
void *PJRT_Event_Await(PJRT_Event_Await_Args *args) { (void)args; return NULL; }

void *PJRT_Event_IsReady(PJRT_Event_IsReady_Args *args) {
  args->is_ready = true;
  return NULL;
}

void *PJRT_Event_OnReady(PJRT_Event_OnReady_Args *args) {
  void (*callback)(void *error, void *user) = (void (*)(void *, void *))args->callback;
  callback(NULL, args->user_arg);
  return NULL;
}

// --------------------------------------------------------------------------------- buffers

static void count(Device *device, int64_t bytes) {
  int64_t now = __atomic_add_fetch(&device->bytes, bytes, __ATOMIC_RELAXED);
  if (bytes <= 0) return;
  __atomic_fetch_add(&device->allocations, 1, __ATOMIC_RELAXED);
  if (now > device->peak) device->peak = now;  // two threads may miss a peak of an instant
  if (bytes > device->largest) device->largest = bytes;
}

// A buffer in memory of its own, or in `data`, which is somebody else's. NULL if memory is out.
Buffer *make_buffer(int type, size_t rank, const int64_t *dims, const int64_t *minor_to_major,
                    size_t bytes, Device *device, Memory *memory, void *data) {
  Buffer *made = malloc(sizeof *made + 2 * rank * sizeof *dims);
  if (!made) return NULL;
  bool own = !data;
  if (own && posix_memalign(&data, ALIGNMENT, bytes ? bytes : 1)) {
    free(made);
    return NULL;
  }
  int64_t *numbers = (int64_t *)(made + 1);
  if (rank) {
    memcpy(numbers, dims, rank * sizeof *dims);
    memcpy(numbers + rank, minor_to_major, rank * sizeof *dims);
  }
  *made = (Buffer){.data = data, .bytes = bytes, .type = type, .rank = rank, .dims = numbers,
                   .minor_to_major = numbers + rank, .device = device, .memory = memory,
                   .references = 1};
  if (own) count(device, bytes);
  return made;
}

// Let go of a buffer's memory: free it, or tell its owner.
static void free_data(Buffer *buffer) {
  void *data = __atomic_exchange_n(&buffer->data, NULL, __ATOMIC_ACQ_REL);
  if (!data) return;
  if (buffer->on_delete) {
    void (*on_delete)(void *, void *) = (void (*)(void *, void *))buffer->on_delete;
    on_delete(data, buffer->on_delete_arg);
  } else {
    count(buffer->device, -(int64_t)buffer->bytes);
    free(data);
  }
}

// The memory of a deleted buffer stays while somebody outside still looks at it.
void delete_buffer(Buffer *buffer) {
  buffer->deleted = 1;
  if (__atomic_load_n(&buffer->references, __ATOMIC_ACQUIRE) == 1) free_data(buffer);
}

void let_go(Buffer *buffer) {
  int left = __atomic_sub_fetch(&buffer->references, 1, __ATOMIC_ACQ_REL);
  if (left == 1 && buffer->deleted) free_data(buffer);
  if (left) return;
  free_data(buffer);
  free(buffer);
}

// Whether an array of the host lies row by row without gaps, so that C can copy it as it is.
static bool is_plain(const PJRT_Client_BufferFromHostBuffer_Args *args) {
  if (args->struct_size < sizeof *args || args->device_layout || args->num_dims > ON_STACK) {
    return false;
  }
  if (args->type < 0 || args->type >= hooks.types) return false;
  int64_t step = ((const uint8_t *)hooks.item_bytes)[args->type];
  if (!step) return false;
  const int64_t *dims = args->dims, *strides = args->byte_strides;
  for (size_t d = args->num_dims; args->num_byte_strides && d-- > 0; step *= dims[d]) {
    if (dims[d] != 1 && strides[d] != step) return false;
  }
  return true;
}

void *PJRT_Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args *args) {
  if (!is_plain(args)) return ask_PJRT_Client_BufferFromHostBuffer(args);
  Memory *memory = args->memory ? args->memory : ((Device *)args->device)->memory;
  const int64_t *dims = args->dims;
  int64_t bytes = ((const uint8_t *)hooks.item_bytes)[args->type], order[ON_STACK];
  for (size_t d = 0; d < args->num_dims; d++) {
    bytes *= dims[d];
    order[d] = args->num_dims - 1 - d;
  }
  Buffer *made = make_buffer(args->type, args->num_dims, dims, order, bytes, memory->device, memory,
                             NULL);
  if (!made) return simple_error(RESOURCE_EXHAUSTED, "no memory for an array of the host");
  if (bytes) memcpy(made->data, args->data, bytes);
  args->buffer = made;
  args->done_with_host_buffer = &ready;
  return NULL;
}

void *PJRT_Buffer_Destroy(PJRT_Buffer_Destroy_Args *args) {
  if (args->buffer) let_go(args->buffer);
  return NULL;
}

void *PJRT_Buffer_Delete(PJRT_Buffer_Destroy_Args *args) {
  delete_buffer(args->buffer);
  return NULL;
}

// Keep a buffer's memory until `let_go`, whoever deletes the buffer meanwhile.
void hold(Buffer *buffer) { __atomic_add_fetch(&buffer->references, 1, __ATOMIC_RELAXED); }

void *PJRT_Buffer_IncreaseExternalReferenceCount(PJRT_Buffer_Destroy_Args *args) {
  hold(args->buffer);
  return NULL;
}

void *PJRT_Buffer_DecreaseExternalReferenceCount(PJRT_Buffer_Destroy_Args *args) {
  let_go(args->buffer);
  return NULL;
}

void *PJRT_Buffer_IsDeleted(PJRT_Buffer_IsDeleted_Args *args) {
  args->is_deleted = ((Buffer *)args->buffer)->deleted;
  return NULL;
}

void *PJRT_Buffer_IsOnCpu(PJRT_Buffer_IsOnCpu_Args *args) {
  args->is_on_cpu = true;
  return NULL;
}

void *PJRT_Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args *args) {
  args->event = &ready;
  return NULL;
}

void *PJRT_Buffer_ElementType(PJRT_Buffer_ElementType_Args *args) {
  args->type = ((Buffer *)args->buffer)->type;
  return NULL;
}

void *PJRT_Buffer_Dimensions(PJRT_Buffer_Dimensions_Args *args) {
  Buffer *buffer = args->buffer;
  args->dims = buffer->dims;
  args->num_dims = buffer->rank;
  return NULL;
}

void *PJRT_Buffer_DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args *args) {
  args->dynamic_dim_indices = ((Buffer *)args->buffer)->dims;
  args->num_dynamic_dims = 0;
  return NULL;
}

void *PJRT_Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args *args) {
  Buffer *buffer = args->buffer;
  args->minor_to_major = buffer->minor_to_major;
  args->minor_to_major_size = buffer->rank;
  args->tile_dims = args->tile_dim_sizes = NULL;
  args->num_tiles = args->type = 0;
  return NULL;
}

void *PJRT_Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args *args) {
  args->on_device_size_in_bytes = ((Buffer *)args->buffer)->bytes;
  return NULL;
}

void *PJRT_Buffer_Device(PJRT_Buffer_Device_Args *args) {
  args->device = ((Buffer *)args->buffer)->device;
  return NULL;
}

void *PJRT_Buffer_Memory(PJRT_Buffer_Memory_Args *args) {
  args->memory = ((Buffer *)args->buffer)->memory;
  return NULL;
}

void *PJRT_Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args *args) {
  Buffer *buffer = args->buffer;
  args->pointer = buffer->data;
  if (buffer->deleted) return simple_error(INVALID_ARGUMENT, "the buffer was deleted or donated");
  return NULL;
}

// --------------------------------------------------------------------------------- layouts

// What frees bytes that live as long as what they belong to.
void nothing(void *owner) { (void)owner; }

// The text of an order of dimensions, such as "{1,0}", for its caller to free.
Layout *make_layout(size_t rank, const int64_t *minor_to_major) {
  enum { DIGITS = 20 };
  Layout *made = malloc(sizeof *made + 3 + rank * (DIGITS + 1));
  char *text = (char *)(made + 1), *end = text;
  *end++ = '{';
  for (size_t d = 0; d < rank; d++) {
    end += sprintf(end, d ? ",%lld" : "%lld", (long long)minor_to_major[d]);
  }
  *end++ = '}';
  made->length = end - text;
  return made;
}

void *PJRT_Layouts_PJRT_Buffer_MemoryLayout(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args *args) {
  Buffer *buffer = args->buffer;
  args->layout = make_layout(buffer->rank, buffer->minor_to_major);
  return NULL;
}

void *PJRT_Layouts_MemoryLayout_Serialize(PJRT_Layouts_MemoryLayout_Serialize_Args *args) {
  Layout *layout = args->layout;
  args->serialized_bytes = layout + 1;
  args->serialized_bytes_size = layout->length;
  args->serialized_layout = NULL;
  args->serialized_layout_deleter = (void *)nothing;
  return NULL;
}

void *PJRT_Layouts_MemoryLayout_Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args *args) {
  free(args->layout);
  return NULL;
}

// -------------------------------------------------------------------------------- memories

void *PJRT_Memory_Kind(PJRT_Memory_Kind_Args *args) {
  Memory *memory = args->of;
  args->text = memory->kind;
  args->text_size = memory->kind_length;
  return NULL;
}

// ----------------------------------------------------------------------------- executables

// Executables that died, for Python to let go of their objects. Any thread puts one there.
static Executable *dead;

Executable *take_dead(void) { return __atomic_exchange_n(&dead, NULL, __ATOMIC_ACQ_REL); }

void *PJRT_Executable_Destroy(PJRT_Executable_Destroy_Args *args) {
  Executable *executable = args->executable;
  if (!executable || __atomic_sub_fetch(&executable->references, 1, __ATOMIC_ACQ_REL)) return NULL;
  Executable *head = __atomic_load_n(&dead, __ATOMIC_RELAXED);
  do executable->next = head;
  while (!__atomic_compare_exchange_n(&dead, (void **)&head, executable, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED));
  return NULL;
}

void *PJRT_LoadedExecutable_Delete(PJRT_Executable_Destroy_Args *args) {
  ((Executable *)args->executable)->deleted = 1;
  return NULL;
}

void *PJRT_LoadedExecutable_IsDeleted(PJRT_LoadedExecutable_IsDeleted_Args *args) {
  args->is_deleted = ((Executable *)args->executable)->deleted;
  return NULL;
}

void *PJRT_LoadedExecutable_GetExecutable(PJRT_LoadedExecutable_GetExecutable_Args *args) {
  Executable *executable = args->executable = args->loaded_executable;
  __atomic_add_fetch(&executable->references, 1, __ATOMIC_RELAXED);
  return NULL;
}

void *PJRT_Executable_NumOutputs(PJRT_Executable_NumOutputs_Args *args) {
  args->number = ((Executable *)args->executable)->output_count;
  return NULL;
}

void *PJRT_Executable_NumReplicas(PJRT_Executable_NumReplicas_Args *args) {
  args->number = ((Executable *)args->executable)->replicas;
  return NULL;
}

void *PJRT_Executable_NumPartitions(PJRT_Executable_NumPartitions_Args *args) {
  args->number = ((Executable *)args->executable)->partitions;
  return NULL;
}

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
    if ((uintptr_t)buffer->data % 16) return false;
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
  if (args->num_devices != self->replicas * self->partitions) return false;
  if (args->num_args != self->input_count || self->deleted) return false;
  for (size_t d = 0; d < args->num_devices; d++) {
    if (!device_fits(self, ((Buffer ***)args->argument_lists)[d])) return false;
  }
  return true;
}

// What a call works with: an arena for each device, and behind them lists of addresses.
typedef struct {
  char *arena;
  size_t step;          // from one device's arena to the next one's
  void **in, **out;     // of the arguments' and the results' memory, device by device
  void **donors;        // for each result the buffer whose memory it took, or NULL
  void **ins, **outs, **arenas;  // of each device: its lists, its arena
  int64_t *report;
} Workspace;

static Workspace take_workspace(Executable *self, size_t devices) {
  size_t step = (self->arena_bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
  size_t lists = devices * (self->input_count + 2 * self->output_count + 3);
  size_t report = HLO_REPORT_HEAD + 2 * devices;
  void *arena = __atomic_exchange_n(&self->arena, NULL, __ATOMIC_ACQ_REL);
  size_t bytes = devices * step + (lists + report) * sizeof(void *);
  if (!arena && posix_memalign(&arena, ALIGNMENT, bytes)) arena = NULL;
  Workspace work = {.arena = arena, .step = step};
  if (!arena) return work;
  work.in = (void **)((char *)arena + devices * step);
  work.out = work.in + devices * self->input_count;
  work.donors = work.out + devices * self->output_count;
  work.ins = work.donors + devices * self->output_count;
  work.outs = work.ins + devices;
  work.arenas = work.outs + devices;
  work.report = (int64_t *)(work.arenas + devices);
  for (size_t d = 0; d < devices; d++) {
    work.ins[d] = work.in + d * self->input_count;
    work.outs[d] = work.out + d * self->output_count;
    work.arenas[d] = work.arena + d * step;
  }
  return work;
}

static void give_arena(Executable *self, void *arena) {
  free(__atomic_exchange_n(&self->arena, arena, __ATOMIC_ACQ_REL));
}

// The buffer of a result: it takes a donated argument's memory where it may.
static Buffer *make_result(Executable *self, size_t device, size_t number, Buffer **given,
                           const ExecuteOptions *options, void **donors) {
  Output *output = (Output *)self->outputs + number;
  Memory *memory = ((Memory **)self->memories)[device * self->output_count + number];
  Buffer *donor = output->donor < 0 ? NULL : given[output->donor];
  donors[number] = NULL;
  bool taken = donor && donor->references == 1 && !donor->on_delete &&
               may_donate(options, output->donor);
  Buffer *made = make_buffer(output->type, output->rank, output->dims, output->minor_to_major,
                             output->bytes, memory->device, memory, taken ? donor->data : NULL);
  if (made && taken) donors[number] = donor;
  if (made && donor && !taken) memcpy(made->data, donor->data, output->bytes);
  return made;
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

// What a call of compiled code found: a signal's handler or a callback raised an exception, memory is
// out, or several devices do not agree.
static void *failed(Executable *self, PJRT_LoadedExecutable_Execute_Args *args, int status,
                    int64_t *report) {
  if (status == HLO_FAILED) {
    Raised raised = {.struct_size = sizeof raised, .executable = self, .report = report};
    Error *error = ask_raised(&raised);
    if (error->code != CANCELLED) return error;
    free(error);
    return interrupted(self, args);
  }
  if (status == HLO_OUT_OF_MEMORY) {
    return simple_error(RESOURCE_EXHAUSTED, "the compiled module found no memory");
  }
  int state = ((int (*)(void))hooks.ensure)();
  ((void (*)(void))hooks.clear)();
  ((void (*)(int))hooks.release)(state);
  return interrupted(self, args);
}

// The arrays of a device's arguments, and buffers for its results; false if memory is out.
static bool set_up_device(Executable *self, PJRT_LoadedExecutable_Execute_Args *args, size_t device,
                          Workspace *work, size_t *ready_ones) {
  Buffer **given = ((Buffer ***)args->argument_lists)[device];
  Buffer **made = ((Buffer ***)args->output_lists)[device];
  void **in = work->ins[device], **out = work->outs[device];
  for (size_t i = 0; i < self->input_count; i++) in[i] = given[i]->data;
  for (size_t k = 0; k < self->output_count; k++, ++*ready_ones) {
    Buffer *result = make_result(self, device, k, given, args->options,
                                 work->donors + device * self->output_count);
    if (!result) return false;
    made[k] = result;
    out[k] = result->data;
    int donor = ((Output *)self->outputs)[k].donor;
    if (donor >= 0) in[donor] = result->data;
  }
  return true;
}

static int call(Executable *self, Workspace *work) {
  if (!self->plan) {
    return ((int (*)(void **, void **, void *))self->run)(work->in, work->out, work->arena);
  }
  typedef int run_devices(void *, void *, void **, void **, void **, int64_t *);
  return ((run_devices *)self->together)(self->run, self->plan, work->ins, work->outs, work->arenas,
                                         work->report);
}

static void *run(Executable *self, PJRT_LoadedExecutable_Execute_Args *args) {
  size_t devices = args->num_devices, ready_ones = 0, outputs = self->output_count;
  Buffer ***given = (Buffer ***)args->argument_lists, ***made = (Buffer ***)args->output_lists;
  Workspace work = take_workspace(self, devices);
  if (!work.arena) return failed(self, args, HLO_OUT_OF_MEMORY, NULL);
  bool is_ready = true;
  for (size_t d = 0; is_ready && d < devices; d++) {
    is_ready = set_up_device(self, args, d, &work, &ready_ones);
  }
  int status = is_ready ? call(self, &work) : HLO_OUT_OF_MEMORY;
  for (size_t i = 0; i < ready_ones; i++) {
    // What took an argument's memory owns it from now on, even where the call failed half-way.
    Buffer *donor = work.donors[i];
    if (donor) donor->data = NULL, donor->deleted = 1;
    if (status) let_go(made[i / outputs][i % outputs]);
  }
  if (status) {
    void *error = failed(self, args, status, self->plan ? work.report : NULL);
    give_arena(self, work.arena);
    return error;
  }
  give_arena(self, work.arena);
  Input *inputs = self->inputs;
  for (size_t d = 0; d < devices; d++) {
    for (size_t i = 0; i < self->input_count; i++) {
      if (inputs[i].donated && !given[d][i]->deleted && may_donate(args->options, i)) {
        delete_buffer(given[d][i]);
      }
    }
    if (args->device_complete_events) ((void **)args->device_complete_events)[d] = &ready;
  }
  __atomic_add_fetch(&self->calls, 1, __ATOMIC_RELAXED);
  return NULL;
}

void *PJRT_LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args *args) {
  Executable *self = args->executable;
  if (self->run && fits(self, args)) return run(self, args);
  Error *error = ask_PJRT_LoadedExecutable_Execute(args);
  if (!error || error->code != CANCELLED) return error;
  free(error);
  return interrupted(self, args);
}

void *PJRT_Client_Compile(PJRT_Client_Compile_Args *args) {
  Error *error = ask_PJRT_Client_Compile(args);
  if (error && error->code == CANCELLED) ((void (*)(void))hooks.interrupt)();
  return error;
}

// ------------------------------------------------- functions that do nothing, or as others do

// These live as long as the process, for their names are read and their memory is counted as long
// as there are buffers.
void *PJRT_Client_Destroy(void *args) { (void)args; return NULL; }
void *PJRT_TopologyDescription_Destroy(void *args) { (void)args; return NULL; }

void *PJRT_LoadedExecutable_Destroy(void *args) { return PJRT_Executable_Destroy(args); }
void *PJRT_Buffer_UnpaddedDimensions(void *args) { return PJRT_Buffer_Dimensions(args); }
void *PJRT_Buffer_OpaqueDeviceMemoryDataPointer(void *args) {
  return PJRT_Buffer_UnsafePointer(args);
}
