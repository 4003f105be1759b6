// The memory of results and arenas, which is used again when nobody has it any more. Part of
// trampoline.c, which includes it.
#include "pages.h"

// A load waits for a store shortly before it whose address has the same last 12 bits, though it is
// another one. So results begin elsewhere in a page than arguments, which NumPy puts 16 bytes after
// a page's or a line's begin, and than arenas, which begin with a page: after a quarter of it, a half
// or three quarters. Where a result begins 48 bytes after an argument in these bits, a sum of 4,096
// numbers takes 1.4 times as long.
enum { PAGE = 4096, PLACES = 4 };
// NumPy allocates small arrays fast; larger ones come from a pool, because the pages of fresh
// memory cost more than most kernels.
enum { SMALL = 1 << 14, KEPT = 2 };

static char *allocate(size_t bytes) {
  size_t whole = (bytes + PAGE) & ~(size_t)(PAGE - 1);
  char *memory = aligned_alloc(PAGE, whole);
  if (memory) hlo_ask_for_large_pages(memory, whole);
  return memory;
}

// ------------------------------------------------------------------------ pools

// Memory of one size that is free, for a result or for a module's arena. The lock of the
// interpreter guards it.
typedef struct {
  Py_ssize_t users;   // the caller, and the buffers that are in use
  size_t bytes, begin; // and where the memory begins in a page
  int free_count, closed;
  void *free_memory[KEPT];
} Pool;

static Pool *pool_new(size_t bytes, size_t begin) {
  Pool *pool = calloc(1, sizeof *pool);
  if (!pool) return (Pool *)PyErr_NoMemory();
  pool->users = 1;
  pool->bytes = bytes;
  pool->begin = begin;
  return pool;
}

static void *pool_take(Pool *pool) {
  if (pool->free_count) return pool->free_memory[--pool->free_count];
  char *memory = allocate(pool->begin + pool->bytes);
  if (memory) return memory + pool->begin;
  PyErr_Format(PyExc_MemoryError, "a call needs %zu bytes more", pool->bytes);
  return NULL;
}

static void pool_drop(const Pool *pool, void *memory) { free((char *)memory - pool->begin); }

static void pool_give(Pool *pool, void *memory) {
  if (pool->closed || pool->free_count == KEPT) {
    pool_drop(pool, memory);
  } else {
    pool->free_memory[pool->free_count++] = memory;
  }
}

static void pool_leave(Pool *pool) {
  if (--pool->users == 0) free(pool);
}

static void pool_close(Pool *pool) {
  while (pool->free_count) pool_drop(pool, pool->free_memory[--pool->free_count]);
  pool->closed = 1;
  pool_leave(pool);
}

// ---------------------------------------------------------------------- buffers

// What a result's memory belongs to. NumPy keeps it alive as long as the array or a view of it is
// in use; then the memory goes back to the pool.
typedef struct {
  PyObject_HEAD
  Pool *pool;
  void *memory;
} Buffer;

static void buffer_dealloc(Buffer *self) {
  if (self->memory) pool_give(self->pool, self->memory);
  pool_leave(self->pool);
  PyObject_Free(self);
}

static PyTypeObject BufferType = {
  PyVarObject_HEAD_INIT(NULL, 0)
  .tp_name = "pyhlo_trampoline.Buffer",
  .tp_doc = "The memory of a result, which goes back to its module's pool when it is dropped.",
  .tp_basicsize = sizeof(Buffer),
  .tp_flags = Py_TPFLAGS_DEFAULT,
  .tp_dealloc = (destructor)buffer_dealloc,
};

static Buffer *buffer_new(Pool *pool) {
  void *memory = pool_take(pool);
  if (!memory) return NULL;
  Buffer *self = PyObject_New(Buffer, &BufferType);
  if (!self) {
    pool_give(pool, memory);
    return NULL;
  }
  self->pool = pool;
  self->memory = memory;
  pool->users++;
  return self;
}
