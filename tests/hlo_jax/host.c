/* A host of a PJRT plugin that is not Python: it loads the library whose path it is given, compiles
   StableHLO text, moves arrays, runs, reads errors, and ends. It includes `pjrt_c_api.h`, which is
   XLA's own or the one that the test writes from PyHLO's table. */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "pjrt_c_api.h"

static const PJRT_Api *api;

/* An empty struct for a call, as its caller must give it. */
#define ARGS(name, variable)                                             \
  PJRT_##name##_Args variable;                                           \
  memset(&variable, 0, sizeof variable);                                 \
  variable.struct_size = sizeof variable

static int failed(const char *what, PJRT_Error *error) {
  if (!error) return 0;
  ARGS(Error_Message, message);
  message.error = error;
  api->PJRT_Error_Message(&message);
  ARGS(Error_GetCode, code);
  code.error = error;
  api->PJRT_Error_GetCode(&code);
  printf("%s: error %d: %.*s\n", what, (int)code.code,
         (int)strcspn(message.message, "\n"), message.message);
  ARGS(Error_Destroy, destroy);
  destroy.error = error;
  api->PJRT_Error_Destroy(&destroy);
  return 1;
}

static int await(PJRT_Event *event) {
  ARGS(Event_Await, wait);
  wait.event = event;
  int bad = failed("Event_Await", api->PJRT_Event_Await(&wait));
  ARGS(Event_Destroy, destroy);
  destroy.event = event;
  return failed("Event_Destroy", api->PJRT_Event_Destroy(&destroy)) || bad;
}

static PJRT_LoadedExecutable *compile(PJRT_Client *client, const char *text) {
  PJRT_Program program;
  memset(&program, 0, sizeof program);
  program.struct_size = sizeof program;
  program.code = (char *)text;
  program.code_size = strlen(text);
  program.format = "mlir";
  program.format_size = strlen("mlir");
  ARGS(Client_Compile, call);
  call.client = client;
  call.program = &program;
  call.compile_options = "";  /* an empty CompileOptionsProto */
  if (failed("Client_Compile", api->PJRT_Client_Compile(&call))) return NULL;
  return call.executable;
}

static const char *PROGRAM =
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %y = stablehlo.tanh %x : tensor<4xf32>\n"
    "  return %y : tensor<4xf32>\n"
    "}\n";
static const char *WRONG = "func.func @main() -> tensor<4xf32> { return %z : tensor<4xf32> }\n";

static int use(PJRT_Client *client, PJRT_Device *device) {
  if (compile(client, WRONG)) return 1;
  PJRT_LoadedExecutable *program = compile(client, PROGRAM);
  if (!program) return 1;

  float x[4] = {0, 1, 2, 4}, y[4] = {0};
  int64_t dims[1] = {4};
  ARGS(Client_BufferFromHostBuffer, send);
  send.client = client;
  send.data = x;
  send.type = 11;  /* PJRT_Buffer_Type_F32 */
  send.dims = dims;
  send.num_dims = 1;
  send.device = device;
  if (failed("send", api->PJRT_Client_BufferFromHostBuffer(&send))) return 1;
  if (await(send.done_with_host_buffer)) return 1;

  PJRT_ExecuteOptions options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  PJRT_Buffer *inputs[1] = {send.buffer}, *outputs[1] = {NULL};
  PJRT_Buffer *const *arguments[1] = {inputs};
  PJRT_Buffer **results[1] = {outputs};
  ARGS(LoadedExecutable_Execute, run);
  run.executable = program;
  run.options = &options;
  run.argument_lists = arguments;
  run.num_devices = 1;
  run.num_args = 1;
  run.output_lists = results;
  if (failed("Execute", api->PJRT_LoadedExecutable_Execute(&run))) return 1;

  ARGS(Buffer_ToHostBuffer, fetch);
  fetch.src = outputs[0];
  fetch.dst = y;
  fetch.dst_size = sizeof y;
  if (failed("fetch", api->PJRT_Buffer_ToHostBuffer(&fetch)) || await(fetch.event)) return 1;
  printf("%.6f %.6f %.6f %.6f\n", y[0], y[1], y[2], y[3]);

  /* An array of the wrong size is an error of the call. */
  fetch.dst_size = 3;
  failed("fetch into 3 bytes", api->PJRT_Buffer_ToHostBuffer(&fetch));

  ARGS(Buffer_Destroy, drop);
  drop.buffer = send.buffer;
  if (failed("Buffer_Destroy", api->PJRT_Buffer_Destroy(&drop))) return 1;
  drop.buffer = outputs[0];
  if (failed("Buffer_Destroy", api->PJRT_Buffer_Destroy(&drop))) return 1;
  ARGS(LoadedExecutable_Destroy, forget);
  forget.executable = program;
  return failed("Executable_Destroy", api->PJRT_LoadedExecutable_Destroy(&forget));
}

int main(int count, char **words) {
  if (count < 2) return 2;
  void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return printf("%s\n", dlerror()), 2;
  const PJRT_Api *(*get)(void);
  *(void **)&get = dlsym(library, "GetPjrtApi");
  if (!get || !(api = get())) return 3;
  if (get() != api) return 4;
  ARGS(Plugin_Initialize, initialize);
  if (failed("Plugin_Initialize", api->PJRT_Plugin_Initialize(&initialize))) return 1;
  ARGS(Client_Create, create);
  if (failed("Client_Create", api->PJRT_Client_Create(&create))) return 1;
  ARGS(Client_Devices, list);
  list.client = create.client;
  if (failed("Devices", api->PJRT_Client_Devices(&list))) return 1;
  printf("devices: %d\n", (int)list.num_devices);
  PJRT_Device *const *devices = list.devices;
  int bad = use(create.client, devices[0]);
  ARGS(Client_Destroy, destroy);
  destroy.client = create.client;
  return failed("Client_Destroy", api->PJRT_Client_Destroy(&destroy)) || bad;
}
