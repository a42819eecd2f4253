// What lowered code calls, for code that a test loads: memory, and loops that a
// given number of threads share, which run one after the other.
//
// Part of the bppsa project, under the MIT License.

#include <stdint.h>
#include <stdlib.h>

int test_threads = 1;
// The steps of a segment, where a loop has segments.
int test_segment_steps = 1;

void bppsa_rt_phase(int64_t phase) {}
void bppsa_rt_residuals(int64_t bytes) {}
int64_t bppsa_rt_segment_steps(int64_t steps, int64_t samples, int64_t stepBytes,
                               int64_t stateBytes, int64_t totalStepBytes, int64_t limit) {
  return test_segment_steps;
}
// What tasks take where there are several threads; 0 for the least.
int test_task_samples = 0;
int64_t bppsa_rt_task_size(int64_t count, int64_t least, int64_t most) {
  return test_threads == 1 ? most : test_task_samples ? test_task_samples : least;
}
int64_t bppsa_rt_side_by_side(int64_t loops, int64_t iterations) { return test_threads > 1; }
void *_mlir_memref_to_llvm_alloc(uint64_t size) { return aligned_alloc(64, (size + 64) / 64 * 64); }
void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t size) {
  return _mlir_memref_to_llvm_alloc(size);
}
void _mlir_memref_to_llvm_free(void *memory) { free(memory); }

void bppsa_rt_parallel_for(int64_t count, void (*body)(int64_t, int64_t, void *), void *captures) {
  int64_t share = (count + test_threads - 1) / test_threads;
  for (int64_t first = 0; first < count; first += share)
    body(first, first + share < count ? first + share : count, captures);
}
