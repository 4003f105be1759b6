// Buffers that are filled piece by piece, by any thread: what other processes send arrives so. A
// buffer's event happens when the last piece of it is there.

// ------------------------------------------------------------------------------- transfers

typedef struct {
  Buffer *buffer;
  Error *error;  // why it has no value
  int writing;   // threads that copy a piece of it now
  bool is_last, is_retrieved;  // whether its last piece has come, or its error; whether JAX has it
} Filled;

typedef struct {
  size_t count;
  Filled each[];
} Transfers;

// The transfers of buffers without a value yet; NULL if memory is out.
Transfers *make_transfers(size_t count, Buffer *const *buffers) {
  Transfers *made = calloc(1, sizeof *made + count * sizeof *made->each);
  if (!made) return NULL;
  made->count = count;
  for (size_t k = 0; k < count; k++) {
    made->each[k].buffer = buffers[k];
    buffers[k]->event = new_event();
    buffers[k]->uses = 1;
  }
  return made;
}

// End the wait for a buffer, once.
static void end_transfer(Filled *filled) {
  happen(filled->buffer->event, filled->error);
  settle(filled->buffer, 0, 1, false);
}

// End it with an error, once nobody writes.
static void give_up(Filled *filled, Error *error) {
  pthread_mutex_lock(&lock);
  filled->is_last = true, filled->error = error;
  bool is_idle = !filled->writing;
  pthread_mutex_unlock(&lock);
  if (is_idle) end_transfer(filled);
}

// The buffer of a number; NULL if there is none, or it is full.
static Filled *to_be_filled(Transfers *transfers, int index) {
  bool exists = index >= 0 && (size_t)index < transfers->count;
  return exists && !transfers->each[index].is_last ? &transfers->each[index] : NULL;
}

static Error *no_such_buffer(void) {
  return simple_error(INVALID_ARGUMENT, "there is no such buffer to be filled");
}

void *PJRT_AsyncHostToDeviceTransferManager_TransferData(
    PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *args) {
  pthread_mutex_lock(&lock);
  Filled *filled = to_be_filled(args->transfer_manager, args->buffer_index);
  size_t bytes = filled ? filled->buffer->bytes : 0;
  bool fits = filled && args->offset >= 0 && args->transfer_size >= 0 &&
              (size_t)args->offset <= bytes && (size_t)args->transfer_size <= bytes - args->offset;
  if (fits) {
    filled->writing++;
    filled->is_last |= args->is_last_transfer;
  }
  pthread_mutex_unlock(&lock);
  if (!filled) return no_such_buffer();
  if (!fits) return simple_error(INVALID_ARGUMENT, "a piece of a buffer reaches past its end");
  memcpy((char *)filled->buffer->data + args->offset, args->data, args->transfer_size);
  pthread_mutex_lock(&lock);
  bool is_full = !--filled->writing && filled->is_last;
  pthread_mutex_unlock(&lock);
  if (is_full) end_transfer(filled);
  args->done_with_h2d_transfer = &ready;
  return NULL;
}

void *PJRT_AsyncHostToDeviceTransferManager_SetBufferError(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args *args) {
  Filled *filled = to_be_filled(args->transfer_manager, args->buffer_index);
  if (!filled) return no_such_buffer();
  give_up(filled, make_error(args->error_code, args->error_message, args->error_message_size));
  return NULL;
}

void *PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *args) {
  Transfers *transfers = args->transfer_manager;
  if (args->buffer_index < 0 || (size_t)args->buffer_index >= transfers->count) {
    return no_such_buffer();
  }
  Filled *filled = &transfers->each[args->buffer_index];
  if (filled->is_retrieved) return simple_error(INVALID_ARGUMENT, "a buffer is retrieved twice");
  filled->is_retrieved = true;
  args->buffer_out = filled->buffer;
  return NULL;
}

void *PJRT_AsyncHostToDeviceTransferManager_Device(
    PJRT_AsyncHostToDeviceTransferManager_Device_Args *args) {
  Transfers *transfers = args->transfer_manager;
  args->device_out = transfers->count ? transfers->each[0].buffer->device : NULL;
  return NULL;
}

void *PJRT_AsyncHostToDeviceTransferManager_BufferCount(
    PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args *args) {
  args->buffer_count = ((Transfers *)args->transfer_manager)->count;
  return NULL;
}

void *PJRT_AsyncHostToDeviceTransferManager_BufferSize(
    PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args *args) {
  Transfers *transfers = args->transfer_manager;
  bool exists = args->buffer_index >= 0 && (size_t)args->buffer_index < transfers->count;
  if (!exists) return no_such_buffer();
  args->buffer_size = transfers->each[args->buffer_index].buffer->bytes;
  return NULL;
}

void *PJRT_AsyncHostToDeviceTransferManager_AddMetadata(
    PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args *args) {
  (void)args;
  return NULL;
}

void *PJRT_AsyncHostToDeviceTransferManager_Destroy(
    PJRT_AsyncHostToDeviceTransferManager_Destroy_Args *args) {
  Transfers *transfers = args->transfer_manager;
  for (size_t k = 0; k < transfers->count; k++) {
    Filled *filled = &transfers->each[k];
    Buffer *buffer = filled->buffer;
    if (!filled->is_last) give_up(filled, simple_error(ABORTED, "nobody fills the buffer"));
    if (!filled->is_retrieved) let_go(buffer);
  }
  free(transfers);
  return NULL;
}
