// Buffers, their layouts and their memories.

// --------------------------------------------------------------------------------- buffers

static void count(Device *device, int64_t bytes) {
  int64_t now = __atomic_add_fetch(&device->bytes, bytes, __ATOMIC_RELAXED);
  if (bytes <= 0) return;
  __atomic_fetch_add(&device->allocations, 1, __ATOMIC_RELAXED);
  if (now > device->peak) device->peak = now;  // two threads may miss a peak of an instant
  if (bytes > device->largest) device->largest = bytes;
}

static void *fresh_memory(size_t bytes) {
  void *data;
  if (posix_memalign(&data, ALIGNMENT, bytes ? bytes : 1)) return NULL;
  hlo_ask_for_large_pages(data, bytes);
  return data;
}

// A buffer in memory of its own, or in `data`, which is somebody else's. NULL if memory is out.
Buffer *make_buffer(int type, size_t rank, const int64_t *dims, const int64_t *minor_to_major,
                    size_t bytes, Device *device, Memory *memory, void *data) {
  Buffer *made = malloc(sizeof *made + 2 * rank * sizeof *dims);
  if (!made) return NULL;
  bool own = !data;
  if (own && !(data = fresh_memory(bytes))) {
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

// What is left of a buffer, after its lock was let go: memory to free, or to give back to its owner.
typedef struct {
  void *data, *on_delete, *on_delete_arg;
  Device *device;
  size_t bytes;
} Remains;

static Remains take_data(Buffer *buffer) {
  Remains remains = {buffer->data, buffer->on_delete, buffer->on_delete_arg, buffer->device,
                     buffer->bytes};
  buffer->data = NULL;
  return remains;
}

static void free_remains(Remains remains) {
  if (!remains.data) return;
  if (remains.on_delete) {
    ((void (*)(void *, void *))remains.on_delete)(remains.data, remains.on_delete_arg);
  } else {
    count(remains.device, -(int64_t)remains.bytes);
    free(remains.data);
  }
}

// Let go of references, and of uses by calls, of a buffer. The memory of a deleted one stays while
// somebody outside still looks at it, or a call reads or writes it.
static void settle(Buffer *buffer, int references, int uses, bool deletes) {
  Remains remains = {0};
  pthread_mutex_lock(&lock);
  buffer->references -= references;
  buffer->uses -= uses;
  buffer->deleted |= deletes;
  bool is_gone = !buffer->references && !buffer->uses;
  bool is_unused = buffer->deleted && buffer->references <= 1 && !buffer->uses;
  if (is_gone || is_unused) remains = take_data(buffer);
  Event *event = buffer->event;
  if (!buffer->references && references && buffer->pending) unwanted(event);
  pthread_mutex_unlock(&lock);
  if (is_gone) {
    drop_event(event);
    free(buffer);
  }
  free_remains(remains);
}

void delete_buffer(Buffer *buffer) { settle(buffer, 0, 0, true); }

void let_go(Buffer *buffer) { settle(buffer, 1, 0, false); }

// Wait for a buffer's value; gives the error of the call that should have made it, or NULL.
void *wait_for_buffer(Buffer *buffer) {
  if (!buffer->event) return NULL;
  if (!wait_for(buffer->event)) return simple_error(CANCELLED, "a signal came");
  return copy_of(((Event *)buffer->event)->error);
}

// Tell the owner of memory of the host that no buffer reads it any more.
static void done_with_host(void *data, void *event) {
  (void)data;
  happen(event, NULL);
  drop_event(event);
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
  // What nobody changes as long as the buffer lives can be read where it lies.
  bool shared = args->host_buffer_semantics >= IMMUTABLE_ZERO_COPY && bytes &&
                (uintptr_t)args->data % CODE_ALIGNMENT == 0;
  Buffer *made = make_buffer(args->type, args->num_dims, dims, order, bytes, memory->device, memory,
                             shared ? args->data : NULL);
  if (!made) return no_memory_for(bytes, "an array of the host");
  args->done_with_host_buffer = &ready;
  if (shared) {
    Event *done = new_event();
    made->on_delete = (void *)done_with_host;
    made->on_delete_arg = done;
    args->done_with_host_buffer = share_event(done);
  } else if (bytes) {
    memcpy(made->data, args->data, bytes);
  }
  args->buffer = made;
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
void hold(Buffer *buffer) {
  pthread_mutex_lock(&lock);
  buffer->references++;
  pthread_mutex_unlock(&lock);
}

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
  Event *event = ((Buffer *)args->buffer)->event;
  args->event = event ? share_event(event) : &ready;
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
  return wait_for_buffer(buffer);
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
