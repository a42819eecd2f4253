//===- CudaDriver.cpp - The CUDA driver, loaded at run time ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace bppsa::runtime;
using namespace bppsa::runtime::cuda;

template <typename... Words> [[noreturn]] static void refuse(const Words &...reason) {
  throw NoDeviceError(text("no GPU can be used: ", reason...,
                           "; this program needs one: compile with --emulate, or --target=cpu"));
}

template <typename Signature>
static void resolve(void *library, const std::string &path, const char *name, Signature *&entry) {
  entry = reinterpret_cast<Signature *>(dlsym(library, name));
  if (!entry)
    refuse(quote(path), " is too old, it has no ", name);
}

void Driver::resolveAll(void *library, const std::string &path) {
  auto get = [&](const char *name, auto *&entry) { resolve(library, path, name, entry); };
  get("cuInit", init);
  get("cuGetErrorName", getErrorName);
  get("cuGetErrorString", getErrorString);
  get("cuDeviceGetCount", deviceGetCount);
  get("cuDeviceGet", deviceGet);
  get("cuDeviceGetName", deviceGetName);
  get("cuDeviceGetAttribute", deviceGetAttribute);
  get("cuDevicePrimaryCtxRetain", devicePrimaryCtxRetain);
  get("cuCtxSetCurrent", ctxSetCurrent);
  get("cuMemGetInfo_v2", memGetInfo);
  get("cuMemAlloc_v2", memAlloc);
  get("cuMemFree_v2", memFree);
  get("cuMemHostAlloc", memHostAlloc);
  get("cuMemcpyHtoDAsync_v2", memcpyHtoDAsync);
  get("cuMemcpyDtoHAsync_v2", memcpyDtoHAsync);
  get("cuMemcpyDtoDAsync_v2", memcpyDtoDAsync);
  get("cuMemsetD8Async", memsetD8Async);
  get("cuModuleLoadDataEx", moduleLoadDataEx);
  get("cuModuleGetFunction", moduleGetFunction);
  get("cuLaunchKernel", launchKernel);
  get("cuLaunchCooperativeKernel", launchCooperativeKernel);
  get("cuCtxGetStreamPriorityRange", ctxGetStreamPriorityRange);
  get("cuStreamCreateWithPriority", streamCreateWithPriority);
  get("cuStreamSynchronize", streamSynchronize);
  get("cuStreamWaitEvent", streamWaitEvent);
  get("cuEventCreate", eventCreate);
  get("cuEventRecord", eventRecord);
  get("cuEventSynchronize", eventSynchronize);
  get("cuEventElapsedTime", eventElapsedTime);
}

/// Graphs are disabled if the driver lacks a function.
void Driver::resolveGraphs(void *library) {
  bool found = true;
  auto get = [&](const char *name, auto *&entry) {
    entry = reinterpret_cast<std::decay_t<decltype(entry)>>(dlsym(library, name));
    found &= entry != nullptr;
  };
  get("cuGraphCreate", graphCreate);
  get("cuGraphAddKernelNode", graphAddKernelNode);
  get("cuGraphInstantiateWithFlags", graphInstantiate);
  get("cuGraphExecKernelNodeSetParams", graphExecKernelNodeSetParams);
  get("cuGraphExecDestroy", graphExecDestroy);
  get("cuGraphDestroy", graphDestroy);
  get("cuGraphLaunch", graphLaunch);
  if (!found)
    graphLaunch = nullptr;
  get("cuGraphKernelNodeSetAttribute", graphKernelNodeSetAttribute);
}

std::string Driver::describe(Result result) const {
  const char *name = nullptr, *meaning = nullptr;
  if (getErrorName(result, &name) != 0 || !name)
    return text("CUDA error ", result);
  if (getErrorString(result, &meaning) != 0 || !meaning)
    return name;
  return text(name, " (", meaning, ")");
}

Driver::Driver() {
  const char *named = getenv("BPPSA_CUDA_DRIVER");
  std::string path = named && *named ? named : "libcuda.so.1";
  // Never closed.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    refuse("no CUDA driver found: ", reason ? reason : path);
  }
  resolveAll(library, path);
  resolveGraphs(library);
  if (Result result = init(0); result != 0)
    refuse("cannot initialize the CUDA driver: ", describe(result));
  int count = 0;
  if (Result result = deviceGetCount(&count); result != 0)
    refuse("cannot query the number of GPUs: ", describe(result));
  if (count < 1)
    refuse("the CUDA driver finds none");
}
