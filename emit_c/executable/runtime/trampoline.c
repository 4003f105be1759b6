// The way from Python into a compiled module: checks and results in C, in under a microsecond.
//
// A `Caller` is given arrays, checks them against what the module wants by comparing a few numbers,
// makes the results, and calls the module without the interpreter's lock. NumPy's scalars, and
// arrays with gaps between the rows, become such arrays; whatever else is not plainly right (other
// types, other sizes) it leaves to a Python function, which converts it or says what is wrong.
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stddef.h>
#include <stdlib.h>

#include "pools.c"

enum { ON_STACK = 64 };

// ---------------------------------------------------------------------- callers

// An array as an argument or a result. A token has no type.
typedef struct {
  PyArray_Descr *type;
  int rank;
  npy_intp *dims;
  npy_intp partner; // for a result: the donated argument whose memory it takes, or -1;
                    // for an argument: 0 if it is donated, or -1
  size_t bytes;
  Pool *pool;       // for a result that is not small
} Leaf;

typedef int Run(const void *const *in, void *const *out, void *arena);

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  Run *run;
  Py_ssize_t in_count, out_count;
  Leaf *in, *out;
  Pool *arenas;
  PyObject *convert;   // from arguments that are not plainly right to a tuple of leaves
  PyObject *convert_one; // from an argument's number and it to an array; None if there are tuples
  PyObject *failed;    // makes an exception of what the module returned
  PyObject *nesting;   // how results are put together: True for an array, None, or a tuple
} Caller;

// Whether an array has the type and the sizes. Equal types may be several objects, as those of
// arrays that come from another process.
static int is_alike(const Leaf *leaf, PyObject *given) {
  if (!PyArray_CheckExact(given)) return 0;
  PyArrayObject *array = (PyArrayObject *)given;
  if (PyArray_NDIM(array) != leaf->rank) return 0;
  PyArray_Descr *type = PyArray_DESCR(array);
  if (type != leaf->type && !PyArray_EquivTypes(type, leaf->type)) return 0;
  return PyArray_CompareLists(PyArray_DIMS(array), leaf->dims, leaf->rank);
}

static int flags_for(const Leaf *leaf) {
  int wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
  return leaf->partner >= 0 ? wanted | NPY_ARRAY_WRITEABLE : wanted;
}

static int fits(const Leaf *leaf, PyObject *given) {
  int wanted = flags_for(leaf);
  return is_alike(leaf, given) && (PyArray_FLAGS((PyArrayObject *)given) & wanted) == wanted;
}

static int all_fit(const Caller *self, PyObject *const *given, Py_ssize_t count) {
  if (count != self->in_count) return 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!self->in[i].type || !fits(&self->in[i], given[i])) return 0;
  }
  return 1;
}

// An argument as an array that fits; NULL, with an exception, if it can't be one.
static PyObject *fitted(const Caller *self, Py_ssize_t number, PyObject *given) {
  const Leaf *leaf = &self->in[number];
  PyObject *array;
  if (fits(leaf, given)) return Py_NewRef(given);
  if (is_alike(leaf, given)) {
    Py_INCREF(leaf->type);
    return PyArray_FromArray((PyArrayObject *)given, leaf->type, flags_for(leaf));
  }
  if (PyArray_IsScalar(given, Generic)) {
    array = PyArray_FromScalar(given, NULL);
    if (!array || fits(leaf, array)) return array;
    Py_DECREF(array);
  }
  array = PyObject_CallFunction(self->convert_one, "nO", number, given);
  if (!array || fits(leaf, array)) return array;
  Py_DECREF(array);
  PyErr_SetString(PyExc_TypeError, "a converted argument does not fit its parameter");
  return NULL;
}

// All arguments as arrays that fit.
static PyObject *all_fitted(const Caller *self, PyObject *const *given) {
  PyObject *leaves = PyTuple_New(self->in_count);
  for (Py_ssize_t i = 0; leaves && i < self->in_count; i++) {
    PyObject *leaf = fitted(self, i, given[i]);
    if (leaf) {
      PyTuple_SET_ITEM(leaves, i, leaf);
    } else {
      Py_CLEAR(leaves);
    }
  }
  return leaves;
}

static PyObject *new_array(const Leaf *leaf, void *memory, PyObject *owner) {
  if (!leaf->type) Py_RETURN_NONE;
  Py_INCREF(leaf->type);
  PyObject *array = PyArray_NewFromDescr(&PyArray_Type, leaf->type, leaf->rank, leaf->dims, NULL,
                                         memory, memory ? NPY_ARRAY_CARRAY : 0, NULL);
  if (!owner) return array;
  if (!array) {
    Py_DECREF(owner);
    return NULL;
  }
  if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) Py_CLEAR(array);
  return array;
}

// Whether a donated argument's memory can be had: not if a part of it is another argument's as well.
static int can_be_taken(const Caller *self, void **pointers, npy_intp number) {
  const char *begin = pointers[number], *end = begin + self->in[number].bytes;
  for (Py_ssize_t i = 0; i < self->in_count; i++) {
    const char *other = pointers[i];
    if (i != number && other < end && begin < other + self->in[i].bytes) return 0;
  }
  return 1;
}

// A result's array: in a donated argument's memory, in memory from the pool, or NumPy's own.
static PyObject *new_result(Caller *self, Leaf *leaf, PyObject *const *in, void **pointers) {
  if (leaf->partner >= 0 && can_be_taken(self, pointers, leaf->partner)) {
    PyObject *donated = in[leaf->partner];
    Py_INCREF(donated);
    return new_array(leaf, pointers[leaf->partner], donated);
  }
  if (!leaf->type || leaf->bytes < SMALL) return new_array(leaf, NULL, NULL);
  size_t begin = (size_t)(1 + (leaf - self->out) % (PLACES - 1)) * (PAGE / PLACES);
  if (!leaf->pool && !(leaf->pool = pool_new(leaf->bytes, begin))) return NULL;
  Buffer *buffer = buffer_new(leaf->pool);
  return buffer ? new_array(leaf, buffer->memory, (PyObject *)buffer) : NULL;
}

// Results as the module's result nests them; takes the references out of `made`.
static PyObject *nested(PyObject *nesting, PyObject **made, Py_ssize_t *next) {
  if (!PyTuple_CheckExact(nesting)) {
    PyObject *leaf = made[*next];
    made[(*next)++] = NULL;
    return leaf;
  }
  Py_ssize_t count = PyTuple_GET_SIZE(nesting);
  PyObject *tuple = PyTuple_New(count);
  for (Py_ssize_t i = 0; tuple && i < count; i++) {
    PyObject *part = nested(PyTuple_GET_ITEM(nesting, i), made, next);
    if (!part) {
      Py_CLEAR(tuple);
      break;
    }
    PyTuple_SET_ITEM(tuple, i, part);
  }
  return tuple;
}

static void *data_of(const Leaf *leaf, PyObject *array) {
  return leaf->type ? PyArray_DATA((PyArrayObject *)array) : NULL;
}

// Run on arrays that fit. `made` and `pointers` have room for all leaves.
static PyObject *run(Caller *self, PyObject *const *in, PyObject **made, void **pointers) {
  for (Py_ssize_t i = 0; i < self->in_count; i++) pointers[i] = data_of(&self->in[i], in[i]);
  void **out = pointers + self->in_count;
  Py_ssize_t ready = 0;
  for (; ready < self->out_count; ready++) {
    made[ready] = new_result(self, &self->out[ready], in, pointers);
    if (!made[ready]) break;
    out[ready] = data_of(&self->out[ready], made[ready]);
  }
  PyObject *result = NULL;
  void *arena = ready == self->out_count ? pool_take(self->arenas) : NULL;
  if (arena) {
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = self->run((const void *const *)pointers, out, arena);
    Py_END_ALLOW_THREADS
    pool_give(self->arenas, arena);
    Py_ssize_t next = 0;
    if (status == 0) {
      result = nested(self->nesting, made, &next);
    } else if (!PyErr_Occurred()) {
      PyObject *error = PyObject_CallFunction(self->failed, "i", status);
      if (error) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
      Py_XDECREF(error);
    }
  }
  for (Py_ssize_t i = 0; i < ready; i++) Py_XDECREF(made[i]);
  return result;
}

static PyObject *run_on(Caller *self, PyObject *const *in) {
  Py_ssize_t count = self->in_count + self->out_count;
  if (count <= ON_STACK) {
    PyObject *made[ON_STACK];
    void *pointers[ON_STACK];
    return run(self, in, made, pointers);
  }
  PyObject **made = PyMem_Malloc(count * sizeof *made);
  void **pointers = PyMem_Malloc(count * sizeof *pointers);
  PyObject *result = made && pointers ? run(self, in, made, pointers) : PyErr_NoMemory();
  PyMem_Free(made);
  PyMem_Free(pointers);
  return result;
}

// Every leaf that `convert` gave is an array that fits, or None for a token.
static int converted_fit(const Caller *self, PyObject *leaves) {
  int good = PyTuple_CheckExact(leaves) && PyTuple_GET_SIZE(leaves) == self->in_count;
  for (Py_ssize_t i = 0; good && i < self->in_count; i++) {
    good = !self->in[i].type || fits(&self->in[i], PyTuple_GET_ITEM(leaves, i));
  }
  if (!good) PyErr_SetString(PyExc_TypeError, "converted arguments do not fit the parameters");
  return good;
}

static PyObject *call(PyObject *object, PyObject *const *given, size_t flags, PyObject *names) {
  Caller *self = (Caller *)object;
  if (names && PyTuple_GET_SIZE(names)) {
    PyErr_SetString(PyExc_TypeError, "a module's arguments have no names");
    return NULL;
  }
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (all_fit(self, given, count)) return run_on(self, given);
  PyObject *leaves;
  if (count == self->in_count && self->convert_one != Py_None) {
    leaves = all_fitted(self, given);
  } else {
    leaves = PyObject_Vectorcall(self->convert, given, count, NULL);
    if (leaves && !converted_fit(self, leaves)) Py_CLEAR(leaves);
  }
  if (!leaves) return NULL;
  PyObject *result = run_on(self, &PyTuple_GET_ITEM(leaves, 0));
  Py_DECREF(leaves);
  return result;
}

// ------------------------------------------------------- making and dropping one

static int read_leaf(PyObject *row, Leaf *leaf) {
  PyObject *type, *dims;
  if (!PyArg_ParseTuple(row, "OO!n", &type, &PyTuple_Type, &dims, &leaf->partner)) return 0;
  if (type == Py_None) return 1;
  if (!PyArray_DescrCheck(type)) {
    PyErr_SetString(PyExc_TypeError, "a leaf's type is a dtype or None");
    return 0;
  }
  leaf->rank = (int)PyTuple_GET_SIZE(dims);
  leaf->dims = calloc(leaf->rank + 1, sizeof *leaf->dims);
  if (!leaf->dims) return PyErr_NoMemory() != NULL;
  size_t bytes = PyDataType_ELSIZE((PyArray_Descr *)type);
  for (int i = 0; i < leaf->rank; i++) {
    leaf->dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(dims, i));
    if (__builtin_mul_overflow(bytes, (size_t)leaf->dims[i], &bytes)) {
      PyErr_SetString(PyExc_MemoryError, "an array has more bytes than can be counted");
    }
  }
  if (PyErr_Occurred()) return 0;
  leaf->bytes = bytes;
  Py_INCREF(type);
  leaf->type = (PyArray_Descr *)type;
  return 1;
}

static Leaf *read_leaves(PyObject *rows, Py_ssize_t *count) {
  Py_ssize_t n = PyTuple_GET_SIZE(rows);
  Leaf *leaves = calloc(n + 1, sizeof *leaves);
  if (!leaves) return (Leaf *)PyErr_NoMemory();
  *count = n;
  for (Py_ssize_t i = 0; i < n; i++) {
    if (!read_leaf(PyTuple_GET_ITEM(rows, i), &leaves[i])) break;
  }
  return leaves;
}

static void drop_leaves(Leaf *leaves, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++) {
    Py_XDECREF(leaves[i].type);
    free(leaves[i].dims);
    if (leaves[i].pool) pool_close(leaves[i].pool);
  }
  free(leaves);
}

static PyObject *caller_new(PyTypeObject *type, PyObject *arguments, PyObject *names) {
  (void)names;
  Caller *self = (Caller *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  PyObject *in, *out;
  Py_ssize_t address, arena_bytes;
  int read = PyArg_ParseTuple(arguments, "nnO!O!OOOO", &address, &arena_bytes, &PyTuple_Type, &in,
                              &PyTuple_Type, &out, &self->nesting, &self->convert,
                              &self->convert_one, &self->failed);
  if (read) {
    Py_INCREF(self->nesting);
    Py_INCREF(self->convert);
    Py_INCREF(self->convert_one);
    Py_INCREF(self->failed);
    self->run = (Run *)address;
    self->vectorcall = call;
    self->in = read_leaves(in, &self->in_count);
    if (!PyErr_Occurred()) self->out = read_leaves(out, &self->out_count);
    if (!PyErr_Occurred()) self->arenas = pool_new(arena_bytes, 0);
  } else {
    self->nesting = self->convert = self->convert_one = self->failed = NULL;
  }
  if (PyErr_Occurred()) Py_CLEAR(self);
  return (PyObject *)self;
}

static void caller_dealloc(Caller *self) {
  PyObject_GC_UnTrack(self);
  drop_leaves(self->in, self->in_count);
  drop_leaves(self->out, self->out_count);
  if (self->arenas) pool_close(self->arenas);
  Py_XDECREF(self->convert);
  Py_XDECREF(self->convert_one);
  Py_XDECREF(self->failed);
  Py_XDECREF(self->nesting);
  Py_TYPE(self)->tp_free((PyObject *)self);
}

static int caller_traverse(Caller *self, visitproc visit, void *arg) {
  Py_VISIT(self->convert);
  Py_VISIT(self->convert_one);
  Py_VISIT(self->failed);
  Py_VISIT(self->nesting);
  return 0;
}

static PyTypeObject CallerType = {
  PyVarObject_HEAD_INIT(NULL, 0)
  .tp_name = "pyhlo_trampoline.Caller",
  .tp_doc = "Caller(run, arena_bytes, arguments, results, nesting, convert, convert_one, failed)",
  .tp_basicsize = sizeof(Caller),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
  .tp_vectorcall_offset = offsetof(Caller, vectorcall),
  .tp_call = PyVectorcall_Call,
  .tp_new = caller_new,
  .tp_dealloc = (destructor)caller_dealloc,
  .tp_traverse = (traverseproc)caller_traverse,
};

// ----------------------------------------------------------------------- module

// What loops ask (see hlo_poll): whether Python has a signal to handle that raises an exception, or
// another thread raised one here (PyThreadState_SetAsyncExc).
static int signalled(void) {
  PyGILState_STATE state = PyGILState_Ensure();
  int raised = PyErr_CheckSignals();
  PyThreadState *thread = PyThreadState_Get();
  PyObject *sent = raised ? NULL : thread->async_exc;
  if (sent) {
    thread->async_exc = NULL;
    PyErr_SetNone(sent);
    Py_DECREF(sent);
    raised = 1;
  }
  PyGILState_Release(state);
  return raised != 0;
}

static struct PyModuleDef definition = {
  PyModuleDef_HEAD_INIT, .m_name = "pyhlo_trampoline", .m_size = -1,
};

PyMODINIT_FUNC PyInit_pyhlo_trampoline(void) {
  import_array();
  if (PyType_Ready(&BufferType) < 0 || PyType_Ready(&CallerType) < 0) return NULL;
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (PyModule_AddObjectRef(module, "Caller", (PyObject *)&CallerType) < 0 ||
      PyModule_AddObject(module, "signalled", PyLong_FromVoidPtr((void *)signalled)) < 0) {
    Py_CLEAR(module);
  }
  return module;
}
