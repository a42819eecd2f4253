//===- RuntimeSymbols.cpp - run-time functions of compiled code -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RuntimeSymbols.h"
#include "bppsa/Runtime/ObjectInterface.h"

extern "C" {
// No header declares this function (CompiledMemory.cpp).
void *_mlir_memref_to_llvm_alloc(uint64_t size);
void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t size);
void _mlir_memref_to_llvm_free(void *block);
struct UnrankedMemref;
void memrefCopy(int64_t elementSize, UnrankedMemref *source, UnrankedMemref *target);

// In-process programs run on the CPU.
extern const bppsa_device_kernel bppsa_device_kernels[] = {{nullptr, nullptr}};
extern const bppsa_device_image bppsa_device_images[] = {{nullptr, nullptr, 0}};
}

#define SYMBOL(NAME) {#NAME, reinterpret_cast<const void *>(&NAME)}

std::vector<std::pair<const char *, const void *>> bppsa::capi::getRuntimeSymbols() {
  return {SYMBOL(_mlir_memref_to_llvm_alloc),
          SYMBOL(_mlir_memref_to_llvm_aligned_alloc),
          SYMBOL(_mlir_memref_to_llvm_free),
          SYMBOL(memrefCopy),
          SYMBOL(bppsa_rt_parallel_for),
          SYMBOL(bppsa_rt_side_by_side),
          SYMBOL(bppsa_rt_task_size),
          SYMBOL(bppsa_rt_segment_steps),
          SYMBOL(bppsa_rt_recomputed_steps),
          SYMBOL(bppsa_rt_residuals),
          SYMBOL(bppsa_rt_phase),
          SYMBOL(bppsa_rt_await_parameter),
          SYMBOL(bppsa_rt_signal_gradient)};
}
