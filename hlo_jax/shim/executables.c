// Executables, and functions that do nothing, or as others do.

// Executables that died, for Python to let go of their objects. Any thread puts one there.
static Executable *dead;

Executable *take_dead(void) { return __atomic_exchange_n(&dead, NULL, __ATOMIC_ACQ_REL); }

static void release_executable(Executable *executable) {
  if (__atomic_sub_fetch(&executable->references, 1, __ATOMIC_ACQ_REL)) return;
  Executable *head = __atomic_load_n(&dead, __ATOMIC_RELAXED);
  do executable->next = head;
  while (!__atomic_compare_exchange_n(&dead, (void **)&head, executable, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED));
}

void *PJRT_Executable_Destroy(PJRT_Executable_Destroy_Args *args) {
  if (args->executable) release_executable(args->executable);
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

void *PJRT_Client_Compile(PJRT_Client_Compile_Args *args) {
  Error *error = ask_PJRT_Client_Compile(args);
  if (error && error->code == CANCELLED) ((void (*)(void))hooks.interrupt)();
  return error;
}

// ------------------------------------------------- functions that do nothing, or as others do

// These live as long as the process, for their names are read and their memory is counted as long
// as there are buffers.
void *PJRT_Client_Destroy(void *args) { (void)args; return NULL; }
// That a process has ended is seen at the connections to it.
void *PJRT_Client_UpdateGlobalProcessInfo(void *args) { (void)args; return NULL; }
void *PJRT_TopologyDescription_Destroy(void *args) { (void)args; return NULL; }

void *PJRT_LoadedExecutable_Destroy(void *args) { return PJRT_Executable_Destroy(args); }
void *PJRT_Buffer_UnpaddedDimensions(void *args) { return PJRT_Buffer_Dimensions(args); }
void *PJRT_Buffer_OpaqueDeviceMemoryDataPointer(void *args) {
  return PJRT_Buffer_UnsafePointer(args);
}
