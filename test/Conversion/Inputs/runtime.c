// What lowered code calls, for code that a test loads: memory, and loops that a
// given number of threads share, which run one after the other.
//
// Part of the bppsa project, under the MIT License.

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

int test_threads = 1;
static int thread = 0;

void bppsa_rt_phase(int64_t phase) {}
void *_mlir_memref_to_llvm_alloc(uint64_t size) { return aligned_alloc(64, (size + 64) / 64 * 64); }
void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t size) {
  return _mlir_memref_to_llvm_alloc(size);
}
void _mlir_memref_to_llvm_free(void *memory) { free(memory); }

int __kmpc_global_thread_num(void *where) { return thread; }
void __kmpc_barrier(void *where, int id) {}
void __kmpc_for_static_fini(void *where, int id) {}

void __kmpc_fork_call(void *where, int count, void (*body)(int *, int *, void *), ...) {
  va_list arguments;
  va_start(arguments, body);
  void *context = count ? va_arg(arguments, void *) : NULL;
  va_end(arguments);
  for (thread = 0; thread < test_threads; ++thread) {
    int id = thread;
    body(&id, &id, context);
  }
  thread = 0;
}

void __kmpc_for_static_init_8u(void *where, int id, int schedule, int *last, uint64_t *lower,
                               uint64_t *upper, int64_t *stride, int64_t increment, int64_t chunk) {
  uint64_t count = *upper + 1 - *lower;
  uint64_t share = (count + test_threads - 1) / test_threads;
  uint64_t from = share * thread, to = from + share;
  if (from > count)
    from = count;
  if (to > count)
    to = count;
  *last = thread == test_threads - 1;
  // An empty share has an upper bound below its lower one.
  *upper = *lower + to - 1;
  *lower = *lower + from;
}
