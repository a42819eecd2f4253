/*===- bppsa-c/Program.h - compiled programs in a process ---------*- C -*-===*\
|*                                                                            *|
|* Part of the bppsa project, under the MIT License.                          *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* A program is a compiled model with its parameters and optimizer states.    *|
|* Programs are independent of each other and can be used concurrently. Calls *|
|* on the same program are serialized.                                        *|
|*                                                                            *|
|* Arrays are identified by the names of the graph inputs. The arrays of the  *|
|* loss are named `target` and `weight`, or `target.OUTPUT` if there are      *|
|* several losses. `bppsaProgramGetArray` describes their layouts, which are  *|
|* those of the .npz files of docs/Reference/DataFormats.md. Arrays are passed*|
|* as DLPack tensors on the CPU. An array is used without copying if it is    *|
|* contiguous in C order, has the described type and is aligned to its        *|
|* elements; otherwise it is copied. Integer inputs accept every integer type *|
|* whose values fit.                                                          *|
|*                                                                            *|
|* All of these functions are in `libbppsa`. A shared library compiled with   *|
|* `bppsa-compile --emit=shared` contains all of them except                  *|
|* `bppsaProgramLoad`, and needs neither the compiler nor `libbppsa`.         *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef BPPSA_C_PROGRAM_H
#define BPPSA_C_PROGRAM_H

#include "bppsa-c/Support.h"
#include "bppsa-c/dlpack/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct BppsaProgramOpaque *BppsaProgram;

/*===----------------------------------------------------------------------===*\
|* Loading                                                                    *|
\*===----------------------------------------------------------------------===*/

/**
 * Loads a shared library compiled with `--emit=shared` from `path`. Every call creates a program
 * with separate parameters. The library is never unloaded.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramLoad(const char *path, BppsaProgram *program);

/** Opens the program of the compiled library that contains this function. Not in `libbppsa`. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramOpen(BppsaProgram *program);

/**
 * Destroys a program; null is allowed. Views of its parameters become invalid, but arrays that it
 * allocated remain valid.
 */
BPPSA_CAPI_EXPORTED void bppsaProgramDestroy(BppsaProgram program);

/*===----------------------------------------------------------------------===*\
|* Description                                                                *|
\*===----------------------------------------------------------------------===*/

/** Returns the JSON that the command `info` of the program prints. Valid as long as the program. */
BPPSA_CAPI_EXPORTED const char *bppsaProgramGetDescription(BppsaProgram program);

typedef enum BppsaArrayKind {
  /** Graph inputs. */
  BppsaInput = 0,
  /** Graph outputs. */
  BppsaOutput = 1,
  /** The targets of the losses, and the optional weights of their positions. */
  BppsaTarget = 2,
  /** Float32 initializers, trained or not. */
  BppsaParameter = 3,
  /**
   * Results of `bppsaProgramGrad`: gradients of the trained parameters, then of the float inputs.
   */
  BppsaGradient = 4
} BppsaArrayKind;

/** The description of an array. Its pointers are valid as long as the program. */
typedef struct BppsaArrayInfo {
  const char *name;
  DLDataType dtype;
  int32_t rank;
  /** -1 for dynamic sizes. */
  const int64_t *shape;
  /** The axes of samples and time steps; -1 if there is none. */
  int32_t batchAxis, timeAxis;
  /** True if training steps change this parameter. */
  bool isTrained;
  /**
   * True if the array may be omitted. Omitted states of a stream are zero; omitted weights are one.
   */
  bool isOptional;
  /** The graph output that holds the final value of this input of a stream; otherwise null. */
  const char *carried;
} BppsaArrayInfo;

/** Return the number of arrays of a kind, and the description of the array at `index`. */
BPPSA_CAPI_EXPORTED intptr_t bppsaProgramGetNumArrays(BppsaProgram program, BppsaArrayKind kind);
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGetArray(BppsaProgram program, BppsaArrayKind kind,
                                                     intptr_t index, BppsaArrayInfo *info);

/*===----------------------------------------------------------------------===*\
|* Settings                                                                   *|
\*===----------------------------------------------------------------------===*/

/**
 * Sets the maximum number of threads used by calls, including the calling thread; 0 selects all
 * cores. Results are bitwise identical for any number.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSetThreads(BppsaProgram program, int32_t count);

/**
 * Binds the worker threads of this program and of other programs in the same library: worker i,
 * counted from 1, runs on `cpus[i % count]`. `cpus[0]` is reserved for the calling thread, which is
 * not moved. If `count` is 0, workers are unbound. Returns `BppsaWrongInput` if the process may not
 * use one of the CPUs.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSetAffinity(BppsaProgram program, const int32_t *cpus,
                                                        intptr_t count);

/**
 * Selects the variant that computes gradients. `backward` is "auto", "sequential" or "scan"; `scan`
 * is "auto" or a plan; `mapping` is "auto", "lanes", "units" or "blocks". Null is equivalent to
 * "auto". By default, the first call for each combination of sizes chooses a variant by operation
 * counts, so that equal calls return bitwise equal results.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSetVariant(BppsaProgram program, const char *backward,
                                                       const char *scan, const char *mapping);

/**
 * Chooses the fastest variant for `calls` steps on arrays of these shapes by timing the candidates,
 * as `train` does. This takes at most about 1/50 of the time of those steps.
 */
struct BppsaNamedArray;
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramTuneVariant(BppsaProgram program,
                                                        const struct BppsaNamedArray *arrays,
                                                        intptr_t numArrays, int64_t calls);

/**
 * Sets a hyperparameter: "lr", "weight_decay", one of the optimizer ("beta1", "beta2", "eps"), as
 * named in `hyper` of the description, or "clip_norm", the maximum norm of all gradients combined
 * (0 for no limit).
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSetHyperparameter(BppsaProgram program,
                                                              const char *name, double value);

/** Sets the seed of dropout. Random numbers depend on the seed and on the number of the step. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSetSeed(BppsaProgram program, uint64_t seed);

/*===----------------------------------------------------------------------===*\
|* Computation                                                                *|
\*===----------------------------------------------------------------------===*/

/** A named array, read or written by a call. */
typedef struct BppsaNamedArray {
  const char *name;
  const DLTensor *array;
} BppsaNamedArray;

/**
 * Computes the graph outputs from the inputs in `arrays`; targets and weights are ignored.
 * `outputs[i]` receives a new array with graph output i, which its `deleter` frees.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramInfer(BppsaProgram program,
                                                  const BppsaNamedArray *arrays, intptr_t numArrays,
                                                  DLManagedTensor **outputs);

/**
 * Computes graph outputs into memory of the caller, which must have the shapes of the outputs.
 * Outputs that are not listed are discarded.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramInferInto(BppsaProgram program,
                                                      const BppsaNamedArray *arrays,
                                                      intptr_t numArrays,
                                                      const BppsaNamedArray *outputs,
                                                      intptr_t numOutputs);

/**
 * Computes the loss and, for losses with classes, the fraction of correct positions (otherwise
 * NaN). Parameters do not change. `accuracy` may be null.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramEval(BppsaProgram program,
                                                 const BppsaNamedArray *arrays, intptr_t numArrays,
                                                 double *loss, double *accuracy);

/**
 * Computes the loss and its gradients. `gradients[i]` receives a new array with gradient i of the
 * kind `BppsaGradient`, which its `deleter` frees. `loss` may be null.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGrad(BppsaProgram program,
                                                 const BppsaNamedArray *arrays, intptr_t numArrays,
                                                 double *loss, DLManagedTensor **gradients);

/**
 * Computes the loss and its gradients into memory of the caller. Gradients that are not listed are
 * discarded. `loss` may be null.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGradInto(BppsaProgram program,
                                                     const BppsaNamedArray *arrays,
                                                     intptr_t numArrays, double *loss,
                                                     const BppsaNamedArray *gradients,
                                                     intptr_t numGradients);

/**
 * Runs a training step: computes the loss and the gradients of all trained parameters, and updates
 * the parameters with the optimizer of the program. `lr` is the learning rate; NaN selects the
 * hyperparameter "lr". If the loss or a gradient is not finite, nothing changes and the status is
 * `BppsaDiverged`. `loss` may be null.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramStep(BppsaProgram program,
                                                 const BppsaNamedArray *arrays, intptr_t numArrays,
                                                 double lr, double *loss);

/** Updates the parameters with the given gradients, one for each trained parameter. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramUpdate(BppsaProgram program,
                                                   const BppsaNamedArray *gradients,
                                                   intptr_t numGradients, double lr);

/**
 * Returns the losses of the last step, gradient or evaluation, in the order of `losses` in the
 * description. `count` must be their number.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGetLosses(BppsaProgram program, double *losses,
                                                      intptr_t count);

/**
 * Allocates an array, aligned to 64 bytes and uninitialized, which may outlive the program. Its
 * `deleter` returns the memory to a free list, so that the next array of this size does not touch
 * new pages.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramAllocate(BppsaProgram program, DLDataType dtype,
                                                     int32_t rank, const int64_t *shape,
                                                     DLManagedTensor **array);

/*===----------------------------------------------------------------------===*\
|* Training                                                                   *|
\*===----------------------------------------------------------------------===*/

/**
 * An option of the command `train`, without leading hyphens, such as ("epochs", "10"). The value of
 * a flag is null.
 */
typedef struct BppsaSetting {
  const char *name, *value;
} BppsaSetting;

typedef enum BppsaBatchState {
  /** A batch was returned. */
  BppsaNextBatch = 0,
  /** No batch was returned because the epoch is over. The next call starts another epoch. */
  BppsaEpochEnd = 1,
  /**
   * No batch was returned and training ends immediately, as if `BppsaTrainingCallback` had returned
   * true.
   */
  BppsaTrainingEnd = 2
} BppsaBatchState;

/** Returns the arrays of the next batch. Their memory must remain valid until the next call. */
typedef BppsaBatchState (*BppsaBatchCallback)(const BppsaNamedArray **arrays, intptr_t *numArrays,
                                              void *userData);

/** Data for training or validation: either the arrays of all samples or a loader. */
typedef struct BppsaTrainingSource {
  const BppsaNamedArray *arrays;
  intptr_t numArrays;
  /** The loader; null if `arrays` are given. */
  BppsaBatchCallback next;
  void *userData;
  /** The number of batches per epoch of the loader; -1 if unknown. */
  int64_t numBatches;
} BppsaTrainingSource;

/** A progress report of training. */
typedef struct BppsaTrainingEvent {
  /** The epoch, counted from 1; finished batches of the epoch, and all of them or -1 if unknown. */
  int64_t epoch, numEpochs, batch, numBatches;
  /** The number of the step in the whole run. */
  int64_t step;
  /** The mean loss of the epoch so far, and the learning rate of the last step. */
  double loss, lr;
  /** At the end of an epoch, the JSON object that `--log` writes; otherwise null. */
  const char *record;
  /** A message, and whether it is a warning; null if there is none. */
  const char *message;
  bool isWarning;
} BppsaTrainingEvent;

/**
 * Called on the training thread at the end of each epoch, for each message, and between batches
 * about 20 times a second. Returns true to stop training: at the end of an epoch as if it were the
 * last one, otherwise immediately, as if the command `train` had received a signal. The callback
 * may call the program but must not train it.
 */
typedef bool (*BppsaTrainingCallback)(const BppsaTrainingEvent *event, void *userData);

/**
 * Trains like the command `train` of a compiled program, with the same settings, files and bitwise
 * identical results. Omitted settings use the state of the program: hyperparameters, variant and
 * seed. The settings `data` and `val` name files that replace `train` and `validation`, which may
 * be null. Checkpoints are compatible with the command. With the setting `ema`, the parameters are
 * the averaged ones at the end. `callback` may be null.
 *
 * In contrast to other calls, a failed call leaves the parameters as they were after the last
 * complete step.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramFit(BppsaProgram program, const BppsaSetting *settings,
                                                intptr_t numSettings,
                                                const BppsaTrainingSource *train,
                                                const BppsaTrainingSource *validation,
                                                BppsaTrainingCallback callback, void *userData);

/*===----------------------------------------------------------------------===*\
|* Separate forward and backward passes                                       *|
\*===----------------------------------------------------------------------===*/

/*
 * These functions require a program compiled with the option `loss` set to `vjp`. A forward pass
 * stores residuals for its backward pass in memory of the caller. Residuals do not refer to the
 * program and may be copied and moved as a whole; any number of them may exist. They should be
 * aligned to 64 bytes.
 *
 * In these functions, and in `bppsaProgramInfer` and `bppsaProgramInferInto`, arrays named like
 * parameters replace the parameters of the program. They must be float32 and contiguous. GPU
 * programs do not support this.
 */

/**
 * Returns the size of the residuals in bytes for arrays of these shapes; their data is not
 * accessed. If the size depends on the lengths of samples, the result is an upper bound and most of
 * the memory remains untouched.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGetResidualBytes(BppsaProgram program,
                                                             const BppsaNamedArray *arrays,
                                                             intptr_t numArrays, size_t *bytes);

/**
 * Computes graph outputs like `bppsaProgramInferInto` and writes the data for
 * `bppsaProgramBackward` to `residuals`, a contiguous uint8 array of at least
 * `bppsaProgramGetResidualBytes` bytes. Equal calls write equal bytes.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramForward(BppsaProgram program,
                                                    const BppsaNamedArray *arrays,
                                                    intptr_t numArrays,
                                                    const BppsaNamedArray *outputs,
                                                    intptr_t numOutputs, const DLTensor *residuals);

/**
 * Returns the number of bytes that `bppsaProgramForward` used in `residuals`. It is less than
 * `bppsaProgramGetResidualBytes` if it depends on the lengths of samples. The remaining bytes were
 * not written and are not needed by `bppsaProgramBackward`.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGetUsedResidualBytes(BppsaProgram program,
                                                                 const DLTensor *residuals,
                                                                 size_t *bytes);

/**
 * Computes the vector-Jacobian product of a forward pass: the gradients of the sum of outputs times
 * cotangents. `arrays` and parameters must have the values of the forward pass because residuals do
 * not contain them. `cotangents` are named after the outputs; omitted cotangents are zero.
 * `gradients` is memory of the caller for the wanted arrays of the kind `BppsaGradient`. Infinite
 * and NaN results are not errors. Residuals do not change and may be used several times.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramBackward(
    BppsaProgram program, const BppsaNamedArray *arrays, intptr_t numArrays,
    const DLTensor *residuals, const BppsaNamedArray *cotangents, intptr_t numCotangents,
    const BppsaNamedArray *gradients, intptr_t numGradients);

/*===----------------------------------------------------------------------===*\
|* Parameters and optimizer states                                            *|
\*===----------------------------------------------------------------------===*/

/**
 * Returns a view of parameter `index` of the kind `BppsaParameter`: float32, contiguous, aligned to
 * 64 bytes, in the memory of the program. It may be read and written between calls. `view`, its
 * shape and its memory are valid as long as the program, and its address never changes. GPU
 * programs copy the parameter to the view in this call, so call it after each step and before each
 * change.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGetParameter(BppsaProgram program, intptr_t index,
                                                         const DLTensor **view);

/**
 * Resets the parameters to the values of the ONNX model, and the state and step count of the
 * optimizer.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramReset(BppsaProgram program);

/** Writes the ONNX model with the current parameters. The file is replaced atomically. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSave(BppsaProgram program, const char *path);

/**
 * Write and read the parameters, optimizer states, hyperparameters and step number. A checkpoint
 * can be read by any program of the same model, loss and optimizer, even with another target or
 * other variants. Checkpoints of the command `train` can be read, too.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSaveCheckpoint(BppsaProgram program, const char *path);
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramLoadCheckpoint(BppsaProgram program, const char *path);

#ifdef __cplusplus
}
#endif

#endif /* BPPSA_C_PROGRAM_H */
