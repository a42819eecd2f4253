//===- ObjectInterface.h - Symbols of a compiled model --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_OBJECTINTERFACE_H
#define BPPSA_RUNTIME_OBJECTINTERFACE_H

#include <cstdint>

/// The binary interface between a compiled model and this library. Functions of a device program
/// compute sizes and launch kernels; their arguments and allocations are device memory, which only
/// kernels access.
extern "C" {

extern const char bppsa_model_json[];
extern const uint64_t bppsa_model_json_size;

extern const unsigned char bppsa_model_onnx[];
extern const uint64_t bppsa_model_onnx_size;

/// args[i] points to a memref descriptor: {void *allocated, void *aligned, int64_t offset, int64_t
/// sizes[rank], int64_t strides[rank]}.
struct bppsa_function {
  const char *name;
  void (*call)(void **args);
  /// Returns the bytes of temporaries from the values of all model symbols. Null if the function
  /// uses no arena.
  int64_t (*arena)(const int64_t *symbols);
  /// Returns an upper bound for the bytes of residuals from the same values. Null if there are
  /// none.
  int64_t (*residuals)(const int64_t *symbols);
};

/// Ends with nulls.
extern const struct bppsa_function bppsa_functions[];

struct bppsa_instruction_set {
  const char *name;
  const void *const *kernels;
};

/// Ends with {NULL, NULL}.
extern const struct bppsa_instruction_set bppsa_instruction_sets[];

/// Must be set before any function is called.
extern const void *const *bppsa_kernels;

struct bppsa_device_kernel {
  const char *name;
  /// The body of one thread under emulation, otherwise null.
  void (*emulated)(void **arguments);
};

/// Ends with {NULL, NULL}; empty in CPU programs. Either all kernels are emulated or none is.
extern const struct bppsa_device_kernel bppsa_device_kernels[];

/// "sm_90" and the like hold a cubin, "ptx" holds NUL-terminated text.
struct bppsa_device_image {
  const char *arch;
  const void *data;
  uint64_t size;
};

/// Ends with nulls; empty in CPU programs and under emulation.
extern const struct bppsa_device_image bppsa_device_images[];

/// arguments[i] points to eight bytes, argument i padded with zeros, which are copied. Kernels of
/// one stream run in launch order.
void bppsa_rt_launch(int64_t kernel, int64_t gridX, int64_t gridY, int64_t gridZ, int64_t blockX,
                     int64_t blockY, int64_t blockZ, void **arguments, int64_t count);
/// All blocks are resident at the same time, so that they can wait for each other.
void bppsa_rt_launch_cooperative(int64_t kernel, int64_t gridX, int64_t gridY, int64_t gridZ,
                                 int64_t blockX, int64_t blockY, int64_t blockZ, void **arguments,
                                 int64_t count);
/// Selects the stream of the following launches: 0 is the main stream, 1 the sub stream. A function
/// must end on the main stream. A wait delays later work of the selected stream until all work
/// submitted before the event's recording has completed.
void bppsa_rt_select_stream(int64_t stream);
void bppsa_rt_record_event(int64_t event);
void bppsa_rt_wait_event(int64_t event);
int64_t bppsa_rt_multiprocessors(void);

struct bppsa_arena_slice {
  void *allocated, *aligned;
  int64_t offset, size, stride;
};

/// Returns `size` bytes at `offset` of the arena, valid until dropped.
void _mlir_ciface_bppsa_rt_arena_take(struct bppsa_arena_slice *slice, int64_t offset,
                                      int64_t size);
void _mlir_ciface_bppsa_rt_arena_drop(struct bppsa_arena_slice *slice);

/// Distributes iterations [0, count) over free threads in contiguous shares. Nested loops run on
/// the calling thread.
void bppsa_rt_parallel_for(int64_t count, void (*body)(int64_t first, int64_t last, void *captures),
                           void *captures);

/// Returns 1 if it is faster to run `loops` loops concurrently, each on one thread, than in
/// sequence on all threads.
int64_t bppsa_rt_side_by_side(int64_t loops, int64_t iterations);

/// Returns the items per task when `count` items are distributed over threads: `most`, or `most`
/// halved repeatedly down to `least`, whichever finishes first.
int64_t bppsa_rt_task_size(int64_t count, int64_t least, int64_t most);

/// Returns the steps per segment such that the residuals of one segment and the states at the start
/// of every segment fit in the loop's share of `limit` bytes. `stepBytes` is the size of one step
/// of one sample, `stateBytes` the part taken by states, and `totalStepBytes` the sum over all
/// loops. Ends the program if nothing fits.
int64_t bppsa_rt_segment_steps(int64_t steps, int64_t samples, int64_t stepBytes,
                               int64_t stateBytes, int64_t totalStepBytes, int64_t limit);

/// Variant for loops that accumulate gradients in slabs of 32 steps. Returns all steps if they fit,
/// otherwise a multiple of the slab size that preferably fits in a cache.
int64_t bppsa_rt_recomputed_steps(int64_t steps, int64_t samples, int64_t stepBytes,
                                  int64_t stateBytes, int64_t totalStepBytes, int64_t limit);

/// Called before the first use of a parameter or its gradient, and when the gradient is final and
/// no longer used.
void bppsa_rt_await_parameter(int64_t address);
void bppsa_rt_signal_gradient(int64_t address);

/// Replaces means over the samples of this rank by means over the samples of all ranks.
/// `transposed` is 1 for the transposed linear map.
void bppsa_rt_rank_mean(int64_t address, int64_t count, int64_t transposed);
/// Returns the weight of this rank's samples in the loss.
float bppsa_rt_rank_weight();

/// The first sends a copy to stage `stage` through `channel`; the second waits for an array from
/// that stage.
void bppsa_rt_stage_send(int64_t address, int64_t bytes, int64_t stage, int64_t channel);
void bppsa_rt_stage_receive(int64_t address, int64_t bytes, int64_t stage, int64_t channel);

/// `reverse` and `transposed` are as in the dist operations. Forward, an entering state replaces
/// the state at `address`, except on the first rank; a leaving state keeps its value. Transposed,
/// cotangents of an entering state are sent and zeroed, except on the first rank; cotangents of a
/// leaving state are received, or zeroed on the last rank.
void bppsa_rt_shard_enter(int64_t address, int64_t bytes, int64_t reverse, int64_t transposed,
                          int64_t channel);
void bppsa_rt_shard_leave(int64_t address, int64_t bytes, int64_t reverse, int64_t transposed,
                          int64_t channel);

/// Writes to `into`, of shape [samples, size], the cotangents that enter this shard: the affine
/// maps of all later shards applied to zero. For each sample, `map` holds the columns of A of this
/// shard's map `g -> A g + s`, and `own` holds s.
void bppsa_rt_shard_scan(int64_t map, int64_t own, int64_t into, int64_t samples, int64_t size,
                         int64_t reverse);

/// Return the index of this shard's first step, and the steps of all shards, given the `own` steps
/// of this one.
int64_t bppsa_rt_shard_first_step();
int64_t bppsa_rt_shard_all_steps(int64_t own);

/// Reports the actual size of residuals that can be smaller than bppsa_function::residuals.
void bppsa_rt_residuals(int64_t bytes);

/// Marks the start of a step (0), of its backward part (1), and of parameter gradients in a
/// pipeline stage (2).
void bppsa_rt_phase(int64_t phase);
}

#endif // BPPSA_RUNTIME_OBJECTINTERFACE_H
