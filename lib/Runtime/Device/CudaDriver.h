//===- CudaDriver.h - The CUDA driver, loaded at run time -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DEVICE_CUDADRIVER_H
#define BPPSA_LIB_RUNTIME_DEVICE_CUDADRIVER_H

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/ObjectInterface.h"

#include <cstddef>

namespace bppsa::runtime::cuda {

using Result = int;
using DeviceNumber = int;
using Address = unsigned long long;
using Context = struct CUctx_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using Stream = struct CUstream_st *;
using Event = struct CUevent_st *;
using Graph = struct CUgraph_st *;
using GraphExec = struct CUgraphExec_st *;
using GraphNode = struct CUgraphNode_st *;

/// CUDA_KERNEL_NODE_PARAMS_v1
struct KernelParameters {
  Function function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **arguments, **extra;
};

/// CUlaunchAttributeValue
struct LaunchAttribute {
  alignas(8) int priority;
  char others[60];
};

constexpr Result kErrorOutOfMemory = 2, kErrorCooperativeLaunchTooLarge = 720;
constexpr unsigned kNonBlockingStream = 1, kEventWithTime = 0, kEventWithoutTime = 2;
constexpr int kMultiprocessorCount = 16, kComputeMajor = 75, kComputeMinor = 76;
constexpr int kLaunchPriority = 8;
constexpr int kJitErrorLog = 5, kJitErrorLogSize = 6;

/// Driver functions, named without `cu` and version suffix. Except for graphs, all exist since CUDA
/// 9.
struct Driver {
  /// Loads libcuda.so.1, or BPPSA_CUDA_DRIVER. Throws NoDeviceError.
  Driver();

  /// Throws Error unless `result` is 0. `what` names the operation.
  template <typename... Words> void check(Result result, const Words &...what) const {
    if (result != 0)
      fail(what..., ": ", describe(result));
  }
  std::string describe(Result result) const;

  Result (*init)(unsigned flags);
  Result (*getErrorName)(Result error, const char **text);
  Result (*getErrorString)(Result error, const char **text);
  Result (*deviceGetCount)(int *count);
  Result (*deviceGet)(DeviceNumber *device, int ordinal);
  Result (*deviceGetName)(char *name, int length, DeviceNumber device);
  Result (*deviceGetAttribute)(int *value, int attribute, DeviceNumber device);
  Result (*devicePrimaryCtxRetain)(Context *context, DeviceNumber device);
  Result (*ctxSetCurrent)(Context context);
  Result (*memGetInfo)(size_t *free, size_t *total);
  Result (*memAlloc)(Address *memory, size_t bytes);
  Result (*memFree)(Address memory);
  Result (*memHostAlloc)(void **memory, size_t bytes, unsigned flags);
  Result (*memcpyHtoDAsync)(Address to, const void *from, size_t bytes, Stream stream);
  Result (*memcpyDtoHAsync)(void *to, Address from, size_t bytes, Stream stream);
  Result (*memcpyDtoDAsync)(Address to, Address from, size_t bytes, Stream stream);
  Result (*memsetD8Async)(Address to, unsigned char value, size_t count, Stream stream);
  Result (*moduleLoadDataEx)(Module *module, const void *image, unsigned optionCount, int *options,
                             void **values);
  Result (*moduleGetFunction)(Function *function, Module module, const char *name);
  Result (*launchKernel)(Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                         unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                         Stream stream, void **arguments, void **extra);
  Result (*launchCooperativeKernel)(Function function, unsigned gridX, unsigned gridY,
                                    unsigned gridZ, unsigned blockX, unsigned blockY,
                                    unsigned blockZ, unsigned sharedBytes, Stream stream,
                                    void **arguments);
  Result (*ctxGetStreamPriorityRange)(int *least, int *greatest);
  Result (*streamCreateWithPriority)(Stream *stream, unsigned flags, int priority);
  Result (*streamSynchronize)(Stream stream);
  Result (*streamWaitEvent)(Stream stream, Event event, unsigned flags);
  Result (*eventCreate)(Event *event, unsigned flags);
  Result (*eventRecord)(Event event, Stream stream);
  Result (*eventSynchronize)(Event event);
  Result (*eventElapsedTime)(float *milliseconds, Event from, Event to);

  /// These functions exist since CUDA 11.4.
  bool hasGraphs() const { return graphLaunch != nullptr; }
  Result (*graphCreate)(Graph *graph, unsigned flags);
  Result (*graphAddKernelNode)(GraphNode *node, Graph graph, const GraphNode *before, size_t count,
                               const KernelParameters *parameters);
  Result (*graphInstantiate)(GraphExec *executable, Graph graph, unsigned long long flags);
  Result (*graphExecKernelNodeSetParams)(GraphExec executable, GraphNode node,
                                         const KernelParameters *parameters);
  Result (*graphExecDestroy)(GraphExec executable);
  Result (*graphDestroy)(Graph graph);
  Result (*graphLaunch)(GraphExec executable, Stream stream);
  /// Null before CUDA 11.7.
  Result (*graphKernelNodeSetAttribute)(GraphNode node, int attribute,
                                        const LaunchAttribute *value);

private:
  void resolveAll(void *library, const std::string &path);
  void resolveGraphs(void *library);
};

/// Loads the cubin with the same major version and the highest suitable minor version, otherwise
/// the PTX. Throws Error if none matches.
Module loadImage(const Driver &driver, const bppsa_device_image *images, int major, int minor);

} // namespace bppsa::runtime::cuda

#endif // BPPSA_LIB_RUNTIME_DEVICE_CUDADRIVER_H
