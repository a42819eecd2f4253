//===- ObjectInterface.h - Symbols of a compiled model --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_OBJECTINTERFACE_H
#define BPPSA_RUNTIME_OBJECTINTERFACE_H

#include <cstdint>

/// The binary interface between a compiled model and this library. A compiled model defines the
/// symbols below. It may call bppsa_rt_* (functions that pass memrefs through MLIR's C interface
/// carry its prefix), the allocator (_mlir_memref_to_llvm_*) and memrefCopy, all defined here.
///
/// A device program is a program with device kernels. Its functions allocate memory, compute sizes
/// and launch kernels. Their arguments and allocations are device memory, which only kernels
/// access.
extern "C" {

/// The JSON description of the model, see Model.h.
extern const char bppsa_model_json[];
extern const uint64_t bppsa_model_json_size;

/// The ONNX file the model was compiled from.
extern const unsigned char bppsa_model_onnx[];
extern const uint64_t bppsa_model_onnx_size;

/// A compiled function. args[i] points to a memref descriptor: {void *allocated, void *aligned,
/// int64_t offset, int64_t sizes[rank], int64_t strides[rank]}.
struct bppsa_function {
  const char *name;
  void (*call)(void **args);
  /// Computes the bytes of the function's temporaries from the values of all model symbols, in
  /// order. Null if the function uses no arena.
  int64_t (*arena)(const int64_t *symbols);
  /// Computes an upper bound for the bytes of the residuals that the function writes, from the same
  /// values. Null if it writes none.
  int64_t (*residuals)(const int64_t *symbols);
};

/// All functions; ends with nulls. They call kernels through bppsa_kernels.
extern const struct bppsa_function bppsa_functions[];

/// The kernels of the program for one instruction set: x86-64-v2, x86-64-v3 or x86-64-v4.
struct bppsa_instruction_set {
  const char *name;
  const void *const *kernels;
};

/// All instruction sets with kernels in the program; ends with {NULL, NULL}.
extern const struct bppsa_instruction_set bppsa_instruction_sets[];

/// The active kernel table, one of the tables above. Must be set before any function is called.
extern const void *const *bppsa_kernels;

/// A device kernel, identified by its name in the images.
struct bppsa_device_kernel {
  const char *name;
  /// The body of one thread in programs for the emulated device; otherwise null.
  void (*emulated)(void **arguments);
};

/// All device kernels; ends with {NULL, NULL}. Empty in CPU programs. Either all kernels are
/// emulated or none is.
extern const struct bppsa_device_kernel bppsa_device_kernels[];

/// All kernels compiled for one GPU architecture. "sm_90" and the like hold a cubin, "ptx" holds
/// NUL-terminated text.
struct bppsa_device_image {
  const char *arch;
  const void *data;
  uint64_t size;
};

/// Ends with nulls. Empty in CPU programs and in programs for the emulated device.
extern const struct bppsa_device_image bppsa_device_images[];

/// Launches kernel bppsa_device_kernels[kernel] with `count` arguments. arguments[i] points to
/// eight bytes, argument i padded with zeros, which are copied. Kernels of one stream run in launch
/// order. An empty grid does nothing.
void bppsa_rt_launch(int64_t kernel, int64_t gridX, int64_t gridY, int64_t gridZ, int64_t blockX,
                     int64_t blockY, int64_t blockZ, void **arguments, int64_t count);
/// Launches a kernel with all blocks resident on the device at the same time, so that blocks can
/// wait for each other.
void bppsa_rt_launch_cooperative(int64_t kernel, int64_t gridX, int64_t gridY, int64_t gridZ,
                                 int64_t blockX, int64_t blockY, int64_t blockZ, void **arguments,
                                 int64_t count);
/// Selects the stream for the following launches: 0 for the main stream, 1 for the sub stream. A
/// function must end on the main stream. An event, numbered by the function, completes when all
/// work submitted to the selected stream before its recording has completed. Work submitted to the
/// selected stream after a wait starts only after the event completes.
void bppsa_rt_select_stream(int64_t stream);
void bppsa_rt_record_event(int64_t event);
void bppsa_rt_wait_event(int64_t event);
int64_t bppsa_rt_multiprocessors(void);

/// The descriptor of a byte memref in the arena, for functions of device programs.
struct bppsa_arena_slice {
  void *allocated, *aligned;
  int64_t offset, size, stride;
};

/// Returns `size` bytes at `offset` of the arena, valid until dropped. The size of the arena is
/// given by bppsa_function::arena.
void _mlir_ciface_bppsa_rt_arena_take(struct bppsa_arena_slice *slice, int64_t offset,
                                      int64_t size);
void _mlir_ciface_bppsa_rt_arena_drop(struct bppsa_arena_slice *slice);

/// Runs loop iterations [0, count) on the threads that are free. Each calls `body` for a contiguous
/// share [first, last). `captures` is passed to the body. Nested loops run on the thread that
/// reaches them.
void bppsa_rt_parallel_for(int64_t count, void (*body)(int64_t first, int64_t last, void *captures),
                           void *captures);

/// Returns 1 if running `loops` loops concurrently, each on one thread, is faster than running them
/// one after the other with the `iterations` iterations of each spread over the threads; otherwise
/// 0.
int64_t bppsa_rt_side_by_side(int64_t loops, int64_t iterations);

/// Returns the number of items, such as samples of a loop, per task when `count` items are
/// distributed over the threads: `most`, or `most` halved repeatedly but at least `least`,
/// whichever finishes first.
int64_t bppsa_rt_task_size(int64_t count, int64_t least, int64_t most);

/// Returns the number of time steps per segment such that the residuals of one segment of `samples`
/// samples, plus the states at the start of every segment, fit in the loop's share of `limit`
/// bytes. `stepBytes` is the size of one step of one sample, `stateBytes` the part of it taken by
/// states, and `totalStepBytes` the sum of `stepBytes` over all loops of the function. Ends the
/// program with a message if no segment size fits.
int64_t bppsa_rt_segment_steps(int64_t steps, int64_t samples, int64_t stepBytes,
                               int64_t stateBytes, int64_t totalStepBytes, int64_t limit);

/// Variant of bppsa_rt_segment_steps for loops that accumulate gradients in slabs of 32 steps and
/// prefer segments that fit in a cache. Returns all steps if they fit, otherwise a multiple of the
/// slab size.
int64_t bppsa_rt_recomputed_steps(int64_t steps, int64_t samples, int64_t stepBytes,
                                  int64_t stateBytes, int64_t totalStepBytes, int64_t limit);

/// Steps of programs for several ranks call these with the address of an argument: the first before
/// using a parameter or its gradient, the second when the gradient is final and no longer used.
void bppsa_rt_await_parameter(int64_t address);
void bppsa_rt_signal_gradient(int64_t address);

/// Replaces `count` floats at `address`, which are means over the samples of this rank, by means
/// over the samples of all ranks. `transposed` is 1 for the transposed linear map, otherwise 0.
void bppsa_rt_rank_mean(int64_t address, int64_t count, int64_t transposed);
/// The weight of this rank's samples in the loss of the step.
float bppsa_rt_rank_weight();

/// Pipeline stages call these with the address and size of an array. The first sends a copy to
/// stage `stage` through `channel`. The second waits for an array that stage `stage` sent through
/// `channel`.
void bppsa_rt_stage_send(int64_t address, int64_t bytes, int64_t stage, int64_t channel);
void bppsa_rt_stage_receive(int64_t address, int64_t bytes, int64_t stage, int64_t channel);

/// Steps on time shards call these with the address and size of a state. `reverse` and `transposed`
/// are 0 or 1, as in the dist operations of the same names. Forward, an entering state replaces the
/// state at `address`, except on the first rank; a leaving state is sent and keeps its value.
/// Transposed, cotangents of an entering state are sent and then set to zero, except on the first
/// rank; cotangents of a leaving state are received, or set to zero on the last rank.
void bppsa_rt_shard_enter(int64_t address, int64_t bytes, int64_t reverse, int64_t transposed,
                          int64_t channel);
void bppsa_rt_shard_leave(int64_t address, int64_t bytes, int64_t reverse, int64_t transposed,
                          int64_t channel);

/// Writes to `into` the cotangents that enter this shard: the affine maps of all shards after it,
/// applied to zero, starting with the last shard. `into` holds `size` floats for each of `samples`
/// samples and is zero on the last rank in loop order. For each sample, `map` holds the columns of
/// A of this shard's map `g -> A g + s`, and `own` holds s.
void bppsa_rt_shard_scan(int64_t map, int64_t own, int64_t into, int64_t samples, int64_t size,
                         int64_t reverse);

/// The index of the first step of this shard, and the total number of steps of all shards, given
/// that this shard has `own` steps.
int64_t bppsa_rt_shard_first_step();
int64_t bppsa_rt_shard_all_steps(int64_t own);

/// Forward parts whose residuals can be smaller than bppsa_function::residuals call this with the
/// actual size.
void bppsa_rt_residuals(int64_t bytes);

/// Compiled steps call this with 0 when they start, with 1 when their backward part starts, and
/// with 2 when a pipeline stage starts computing parameter gradients.
void bppsa_rt_phase(int64_t phase);
}

#endif // BPPSA_RUNTIME_OBJECTINTERFACE_H
