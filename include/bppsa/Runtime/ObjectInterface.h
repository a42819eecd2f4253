//===- ObjectInterface.h - What a compiled model defines ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_OBJECTINTERFACE_H
#define BPPSA_RUNTIME_OBJECTINTERFACE_H

#include <cstdint>

/// The binary interface between a compiled model and this library. A compiled model defines the
/// symbols below. It may call bppsa_rt_* (what passes memory by the C interface of MLIR has its
/// prefix), the allocator (_mlir_memref_to_llvm_*) and memrefCopy, all defined here.
///
/// A device program is one with device kernels. Its functions allocate, compute sizes and launch;
/// the memory that they get as arguments and from the allocator is the device's, and only kernels
/// read or write it.
extern "C" {

/// The description of the model, see Model.h.
extern const char bppsa_model_json[];
extern const uint64_t bppsa_model_json_size;

/// The bytes of the ONNX file the model was compiled from.
extern const unsigned char bppsa_model_onnx[];
extern const uint64_t bppsa_model_onnx_size;

/// One compiled function; args[i] points to the descriptor of a memref:
/// {void *allocated, void *aligned, int64_t offset, int64_t sizes[rank], int64_t strides[rank]}.
struct bppsa_function {
  const char *name;
  void (*call)(void **args);
  /// The bytes of its temporaries, of the values of all symbols of the model in their order; null
  /// where it takes nothing from the arena.
  int64_t (*arena)(const int64_t *symbols);
  /// The most bytes of the residuals that it writes, of the same values; null where it writes none.
  int64_t (*residuals)(const int64_t *symbols);
};

/// Every function; ends with nulls. They call kernels through bppsa_kernels.
extern const struct bppsa_function bppsa_functions[];

/// The kernels of the program for one instruction set: x86-64-v2, x86-64-v3 or x86-64-v4.
struct bppsa_instruction_set {
  const char *name;
  const void *const *kernels;
};

/// Every instruction set the program holds kernels for; ends with {NULL, NULL}.
extern const struct bppsa_instruction_set bppsa_instruction_sets[];

/// The kernels in use: one of the tables above, to be set before any function is called.
extern const void *const *bppsa_kernels;

/// A kernel that runs on a device, by its name in the images.
struct bppsa_device_kernel {
  const char *name;
  /// In programs for the emulated device, the body of one thread; else null.
  void (*emulated)(void **arguments);
};

/// Every device kernel; ends with {NULL, NULL}. Empty in CPU programs. Either all kernels are
/// emulated or none is.
extern const struct bppsa_device_kernel bppsa_device_kernels[];

/// All kernels for one kind of GPU: "sm_90" and the like hold a cubin, "ptx" text that ends with
/// NUL.
struct bppsa_device_image {
  const char *arch;
  const void *data;
  uint64_t size;
};

/// Ends with nulls; empty in CPU programs and in those for the emulated device.
extern const struct bppsa_device_image bppsa_device_images[];

/// Starts kernel bppsa_device_kernels[kernel] with `count` arguments. arguments[i] points to eight
/// bytes, which are copied: argument i, then zeros. Kernels of a stream run one after the other,
/// in the order of the launches. A grid without blocks does nothing.
void bppsa_rt_launch(int64_t kernel, int64_t gridX, int64_t gridY, int64_t gridZ, int64_t blockX,
                     int64_t blockY, int64_t blockZ, void **arguments, int64_t count);
/// The same, with all blocks on the device at a time, so that they may wait for each other.
void bppsa_rt_launch_cooperative(int64_t kernel, int64_t gridX, int64_t gridY, int64_t gridZ,
                                 int64_t blockX, int64_t blockY, int64_t blockZ, void **arguments,
                                 int64_t count);
/// Launches that follow go to the main stream, 0, or to the sub stream, 1, until the function ends,
/// which it does on the main stream. An event, whose number a function chooses, is reached when
/// everything has run that the selected stream was given before it is recorded; what the selected
/// stream is given after it waits for an event runs later than that.
void bppsa_rt_select_stream(int64_t stream);
void bppsa_rt_record_event(int64_t event);
void bppsa_rt_wait_event(int64_t event);
/// Multiprocessors of the device: each holds at least one block.
int64_t bppsa_rt_multiprocessors(void);

/// Memory of compiled functions of device programs: a descriptor of bytes.
struct bppsa_arena_slice {
  void *allocated, *aligned;
  int64_t offset, size, stride;
};

/// `size` bytes at `offset` of the arena, which has as many as bppsa_function::arena says, until
/// they are dropped.
void _mlir_ciface_bppsa_rt_arena_take(struct bppsa_arena_slice *slice, int64_t offset,
                                      int64_t size);
void _mlir_ciface_bppsa_rt_arena_drop(struct bppsa_arena_slice *slice);

/// Runs iterations 0 to `count` - 1 of a loop, in shares for the threads that are free: each calls
/// `body` for those from `first` up to `last`, exclusive. `captures` is what the body works on. A
/// loop inside of a body runs on the thread that reaches it.
void bppsa_rt_parallel_for(int64_t count, void (*body)(int64_t first, int64_t last, void *captures),
                           void *captures);

/// Whether `loops` loops, each of which has `iterations` iterations for threads to share, are done
/// sooner side by side, each on one thread, than one after the other; 0 or 1.
int64_t bppsa_rt_side_by_side(int64_t loops, int64_t iterations);

/// How many of `count` things, such as samples of a loop, a task takes together, `most` or halves
/// of that down to `least`, so that the threads are done soonest.
int64_t bppsa_rt_task_size(int64_t count, int64_t least, int64_t most);

/// How many of the `steps` steps of a loop make a segment, so that what the loop keeps of one
/// segment of `samples` samples, and of the states at the starts of all, fits in its share of
/// `limit` bytes. `stepBytes` are those of one step of one sample, `stateBytes` those of the states
/// among them and `totalStepBytes` those of all loops of the function. Ends the program with a
/// message where nothing fits.
int64_t bppsa_rt_segment_steps(int64_t steps, int64_t samples, int64_t stepBytes,
                               int64_t stateBytes, int64_t totalStepBytes, int64_t limit);

/// The same for a loop that adds up its gradients in whole slabs of 32 steps and prefers segments
/// that stay in a cache: all steps where they fit, else a multiple of a slab.
int64_t bppsa_rt_recomputed_steps(int64_t steps, int64_t samples, int64_t stepBytes,
                                  int64_t stateBytes, int64_t totalStepBytes, int64_t limit);

/// Steps of programs for several ranks call these with the addresses of arguments: before they use
/// a parameter or its gradient, and when they do not use the gradient any more, which is final.
void bppsa_rt_await_parameter(int64_t address);
void bppsa_rt_signal_gradient(int64_t address);

/// Means over the samples of this rank become those over the samples of all ranks of the step, in
/// place: `count` floats at `address`. `transposed` is 0, or 1 for the transposed linear map.
void bppsa_rt_rank_mean(int64_t address, int64_t count, int64_t transposed);
/// What the samples of this rank count in the loss of the step.
float bppsa_rt_rank_weight();

/// Stages of a pipeline call these with the addresses and bytes of arrays: stage `stage` gets a
/// copy through `channel`, and what it has sent through `channel` is waited for.
void bppsa_rt_stage_send(int64_t address, int64_t bytes, int64_t stage, int64_t channel);
void bppsa_rt_stage_receive(int64_t address, int64_t bytes, int64_t stage, int64_t channel);

/// Steps of ranks with shares of the steps of sequences call these with the addresses and bytes of
/// states. `reverse` and `transposed` are 0 or 1, as in the operations of these names. A state that
/// enters takes the place of the one that is there, but on the first rank; one that leaves stays.
/// Of cotangents those of what entered are sent and become zero, but on the first rank, and those
/// of what left are written, zeros on the last one.
void bppsa_rt_shard_enter(int64_t address, int64_t bytes, int64_t reverse, int64_t transposed,
                          int64_t channel);
void bppsa_rt_shard_leave(int64_t address, int64_t bytes, int64_t reverse, int64_t transposed,
                          int64_t channel);

/// What the maps of the shares behind this one, the last one first, make of cotangents of zero: of
/// each of `samples` samples `size` floats, to be written at `into`; zeros on the last rank, as
/// seen by the loop. `map` has of each sample the columns of A of the share's map `g -> A g + s`,
/// and `own` s.
void bppsa_rt_shard_scan(int64_t map, int64_t own, int64_t into, int64_t samples, int64_t size,
                         int64_t reverse);

/// The number of the first step of the share, from 0, and of the steps of all shares, of which this
/// one has `own`.
int64_t bppsa_rt_shard_first_step();
int64_t bppsa_rt_shard_all_steps(int64_t own);

/// Forward parts whose residuals may take less than bppsa_function::residuals says call this with
/// the bytes that they take.
void bppsa_rt_residuals(int64_t bytes);

/// Compiled steps call this with 0 where they start, with 1 where their backward part starts, and
/// with 2 where stages of a pipeline go on to gradients of parameters.
void bppsa_rt_phase(int64_t phase);
}

#endif // BPPSA_RUNTIME_OBJECTINTERFACE_H
