/* A library that programs which are not Python load: it starts Python, and gives PyHLO's table.

   PYTHON_LIBRARY, PYTHON_HOME and START are defined at the head of the file, when it is built. The
   functions of Python are found while it runs: a process may be Python itself, and the library then
   must not bring a second one. So no header of Python is needed, either. */

/* PyGILState_STATE is an enumeration. */
typedef int (*Ensure)(void);
typedef void (*Release)(int);

/* What Python writes: the table's address, or why there is none. */
static struct {
  void *table;
  char error[4096];
} given;
static void *python = NULL;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *find(const char *name) { return dlsym(python, name); }

static int run(const char *text) {
  return ((int (*)(const char *))find("PyRun_SimpleString"))(text);
}

/* The threads of the queue end, and files of this process go. Python itself is left as it is: other
   threads of the host may be calling it. */
static void end(void) {
  if (!((int (*)(void))find("Py_IsInitialized"))()) return;
  int state = ((Ensure)find("PyGILState_Ensure"))();
  run("import atexit; atexit._run_exitfuncs()");
  ((Release)find("PyGILState_Release"))(state);
}

/* Python is told where its own files are, but the processes that the host starts are not. */
static void start_python(void) {
  const char *before = getenv("PYTHONHOME");
  char *kept = before ? strdup(before) : NULL;
  setenv("PYTHONHOME", PYTHON_HOME, 1);
  /* 0: signals are the host's. */
  ((void (*)(int))find("Py_InitializeEx"))(0);
  if (kept) setenv("PYTHONHOME", kept, 1);
  else unsetenv("PYTHONHOME");
  free(kept);
  /* Whichever thread calls next takes the lock. */
  ((void *(*)(void))find("PyEval_SaveThread"))();
  atexit(end);
}

static void start(void) {
  python = dlopen(NULL, RTLD_NOW);
  if (!find("Py_IsInitialized")) {
    /* Global, because modules in C of Python's library look for Python among all symbols. */
    python = dlopen(PYTHON_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (!python) {
      snprintf(given.error, sizeof given.error, "%s", dlerror());
      return;
    }
  }
  if (!((int (*)(void))find("Py_IsInitialized"))()) start_python();
  static char text[sizeof START + 64];
  snprintf(text, sizeof text, START, (unsigned long long)(size_t)&given, sizeof given.error);
  int state = ((Ensure)find("PyGILState_Ensure"))();
  if (run(text) != 0) snprintf(given.error, sizeof given.error, "Python raised an exception");
  ((Release)find("PyGILState_Release"))(state);
}

__attribute__((visibility("default"))) const void *GetPjrtApi(void) {
  pthread_once(&once, start);
  if (!given.table) fprintf(stderr, "libpyhlo_pjrt.so: PyHLO can't start: %s\n", given.error);
  return given.table;
}
