/*===- bppsa-c/Program.h - compiled programs in a process ---------*- C -*-===*\
|*                                                                            *|
|* Part of the bppsa project, under the MIT License.                          *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* A program is a compiled model with its parameters and optimizer states.    *|
|* Programs are independent of each other: each may be used by another        *|
|* thread at the same time. Calls on one program wait for each other.         *|
|*                                                                            *|
|* Arrays are given by the names of the graph inputs that they feed, those of *|
|* the loss as `target` and `weight` (`target.OUTPUT` with several losses),   *|
|* with the layouts that `bppsaProgramGetArray` describes: those of the .npz  *|
|* files of docs/CommandLine.md. They are DLPack tensors on the CPU. An array *|
|* that is compact, in C order, has the described type and is aligned to its  *|
|* elements is read and written where it is; others are copied. Where the     *|
|* model takes integers, every integer type is accepted as long as the values *|
|* fit.                                                                       *|
|*                                                                            *|
|* `libbppsa` has all of these functions. A shared library that               *|
|* `bppsa-compile --emit=shared` wrote has them too, but for                  *|
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
 * Loads the shared library `path` that `--emit=shared` wrote. Every call makes a program with
 * parameters of its own. The library stays loaded.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramLoad(const char *path, BppsaProgram *program);

/** A program of the compiled library that this function is called in; not in `libbppsa`. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramOpen(BppsaProgram *program);

/**
 * Views of its parameters end with it; arrays that it allocated live on. Does nothing with null.
 */
BPPSA_CAPI_EXPORTED void bppsaProgramDestroy(BppsaProgram program);

/*===----------------------------------------------------------------------===*\
|* Description                                                                *|
\*===----------------------------------------------------------------------===*/

/** What the command `info` of a program prints, as JSON. Lives as long as the program. */
BPPSA_CAPI_EXPORTED const char *bppsaProgramGetDescription(BppsaProgram program);

typedef enum BppsaArrayKind {
  /** The graph inputs. */
  BppsaInput = 0,
  /** The graph outputs. */
  BppsaOutput = 1,
  /** The targets of the losses and the weights of their positions; the latter are optional. */
  BppsaTarget = 2,
  /** The initializers that are of type float32, trained or not. */
  BppsaParameter = 3,
  /** What `bppsaProgramGrad` computes: for each trained parameter, then each float graph input. */
  BppsaGradient = 4
} BppsaArrayKind;

/** One array. What it points to lives as long as the program. */
typedef struct BppsaArrayInfo {
  const char *name;
  DLDataType dtype;
  int32_t rank;
  /** -1 for sizes that are known at run time only. */
  const int64_t *shape;
  /** The axes that carry samples and time steps; -1 for none. */
  int32_t batchAxis, timeAxis;
  /** A parameter that steps change. */
  bool isTrained;
  /** An array that may be left out: states of a stream, which are zero then, and weights, which are
   *  one then. */
  bool isOptional;
  /** In a stream, the graph output that holds this input after the last step; else null. */
  const char *carried;
} BppsaArrayInfo;

/** The number of arrays of a kind, and the one at `index`, below that number. */
BPPSA_CAPI_EXPORTED intptr_t bppsaProgramGetNumArrays(BppsaProgram program, BppsaArrayKind kind);
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGetArray(BppsaProgram program, BppsaArrayKind kind,
                                                     intptr_t index, BppsaArrayInfo *info);

/*===----------------------------------------------------------------------===*\
|* Settings                                                                   *|
\*===----------------------------------------------------------------------===*/

/** The most threads that calls use, the calling one included; 0: all cores. Results have the same
 *  bits for any number. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSetThreads(BppsaProgram program, int32_t count);

/**
 * Binds the threads that help those which call this and other programs of the same library: number
 * i of them to cpus[i], where cpus[0] is left for the calling thread, which stays where it is. With
 * none they run anywhere. A CPU that the process may not use is `BppsaWrongInput`.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSetAffinity(BppsaProgram program, const int32_t *cpus,
                                                        intptr_t count);

/**
 * Which of its variants compute gradients: `backward` is "auto", "sequential" or "scan", `scan` is
 * "auto" or a plan, `mapping` is "auto", "lanes", "units" or "blocks"; null is "auto". By default
 * the first call for each size chooses by the work that is counted, so that equal calls have equal
 * bits, whatever the machine does else.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSetVariant(BppsaProgram program, const char *backward,
                                                       const char *scan, const char *mapping);

/**
 * Chooses the variant for `calls` steps on arrays like these by timing all that come into question,
 * as `train` does, in up to a fiftieth of the time that they would take.
 */
struct BppsaNamedArray;
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramTuneVariant(BppsaProgram program,
                                                        const struct BppsaNamedArray *arrays,
                                                        intptr_t numArrays, int64_t calls);

/**
 * Sets a number that updates read: "lr", "weight_decay", those of the optimizer ("beta1", "beta2",
 * "eps"), by the names of `hyper` in the description; or "clip_norm", the largest norm of all
 * gradients together, 0 for no limit.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSetHyperparameter(BppsaProgram program,
                                                              const char *name, double value);

/** What the random numbers of dropout follow from, together with the number of the step. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSetSeed(BppsaProgram program, uint64_t seed);

/*===----------------------------------------------------------------------===*\
|* Computing                                                                  *|
\*===----------------------------------------------------------------------===*/

/** An array of a call: memory to read, or to write. */
typedef struct BppsaNamedArray {
  const char *name;
  const DLTensor *array;
} BppsaNamedArray;

/**
 * Computes graph outputs. `arrays` are the inputs; targets and weights are not looked at.
 * `outputs[i]` gets graph output number i: a new array that its `deleter` frees.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramInfer(BppsaProgram program,
                                                  const BppsaNamedArray *arrays, intptr_t numArrays,
                                                  DLManagedTensor **outputs);

/** The same, into memory of the caller, of the shapes that the outputs have. Outputs that are not
 *  named are computed and dropped. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramInferInto(BppsaProgram program,
                                                      const BppsaNamedArray *arrays,
                                                      intptr_t numArrays,
                                                      const BppsaNamedArray *outputs,
                                                      intptr_t numOutputs);

/**
 * The loss, and the share of the positions that are right where the loss has classes (else NaN). No
 * parameter changes. `accuracy` may be null.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramEval(BppsaProgram program,
                                                 const BppsaNamedArray *arrays, intptr_t numArrays,
                                                 double *loss, double *accuracy);

/**
 * The loss and its gradients. `gradients[i]` gets number i of the kind `BppsaGradient`: a new array
 * that its `deleter` frees.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGrad(BppsaProgram program,
                                                 const BppsaNamedArray *arrays, intptr_t numArrays,
                                                 double *loss, DLManagedTensor **gradients);

/** The same, into memory of the caller. Gradients that are not named are computed and dropped. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGradInto(BppsaProgram program,
                                                     const BppsaNamedArray *arrays,
                                                     intptr_t numArrays, double *loss,
                                                     const BppsaNamedArray *gradients,
                                                     intptr_t numGradients);

/**
 * A training step: the loss, the gradients of all trained parameters, and the update of these by
 * the program's optimizer. `lr` is the learning rate; NaN: the hyperparameter of that name. Where
 * the loss or a gradient is not finite, nothing changes and the status is `BppsaDiverged`. `loss`
 * may be null.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramStep(BppsaProgram program,
                                                 const BppsaNamedArray *arrays, intptr_t numArrays,
                                                 double lr, double *loss);

/** The update alone, by the gradients `gradients`: one for each trained parameter. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramUpdate(BppsaProgram program,
                                                   const BppsaNamedArray *gradients,
                                                   intptr_t numGradients, double lr);

/** The losses of the last step, gradient or evaluation, one for each of `losses` in the
 *  description: `count` numbers. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGetLosses(BppsaProgram program, double *losses,
                                                      intptr_t count);

/**
 * Memory for an array of calls, which its `deleter` gives back: to free lists, not to the system,
 * so that the next such array touches no new pages. It holds anything, is aligned to 64 bytes, and
 * may outlive the program.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramAllocate(BppsaProgram program, DLDataType dtype,
                                                     int32_t rank, const int64_t *shape,
                                                     DLManagedTensor **array);

/*===----------------------------------------------------------------------===*\
|* Training                                                                   *|
\*===----------------------------------------------------------------------===*/

/** An option of the command `train` by its name without hyphens in front: ("epochs", "10"). Flags
 *  have the value null. */
typedef struct BppsaSetting {
  const char *name, *value;
} BppsaSetting;

typedef enum BppsaBatchState {
  /** There are arrays. */
  BppsaNextBatch = 0,
  /** There are none: the epoch is over, and the next call begins another one. */
  BppsaEpochEnd = 1,
  /** There are none, and training ends at once, as where `BppsaTrainingCallback` returns true. */
  BppsaTrainingEnd = 2
} BppsaBatchState;

/** Gives the arrays of the next batch, whose memory stays until the next call. */
typedef BppsaBatchState (*BppsaBatchCallback)(const BppsaNamedArray **arrays, intptr_t *numArrays,
                                              void *userData);

/** What to train or to validate on: the arrays of all samples, or else a loader. */
typedef struct BppsaTrainingSource {
  const BppsaNamedArray *arrays;
  intptr_t numArrays;
  /** Null where there are arrays. */
  BppsaBatchCallback next;
  void *userData;
  /** The batches of an epoch of the loader; -1 where that is not known. */
  int64_t numBatches;
} BppsaTrainingSource;

/** What training says while it goes on. */
typedef struct BppsaTrainingEvent {
  /** The epoch, from 1; of it the batches that are done and, -1 where not known, all. */
  int64_t epoch, numEpochs, batch, numBatches;
  /** Of the whole run. */
  int64_t step;
  /** The mean of the epoch so far, and the learning rate of the last step. */
  double loss, lr;
  /** At the end of an epoch, what `--log` writes of it: a JSON object; else null. */
  const char *record;
  /** A line of its own, and whether it warns; else null. */
  const char *message;
  bool isWarning;
} BppsaTrainingEvent;

/**
 * Is called by the thread that trains: at the end of each epoch, with each message, and between
 * batches some twenty times a second. Returns true to end training: at the end of an epoch as if it
 * were the last one, else at once, as a signal ends the command `train`. May call the program, but
 * not train it.
 */
typedef bool (*BppsaTrainingCallback)(const BppsaTrainingEvent *event, void *userData);

/**
 * Trains as the command `train` of a compiled program does: with the same settings, files and bits.
 * What is not set is as in calls: hyperparameters, variant, seed. The settings `data` and `val`
 * name files in place of `train` and `validation`, which may be null. Checkpoints are those of the
 * command. With the setting `ema`, parameters are the averaged ones in the end. `callback` may be
 * null.
 *
 * Unlike other calls, one that fails leaves the parameters after the last whole step.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramFit(BppsaProgram program, const BppsaSetting *settings,
                                                intptr_t numSettings,
                                                const BppsaTrainingSource *train,
                                                const BppsaTrainingSource *validation,
                                                BppsaTrainingCallback callback, void *userData);

/*===----------------------------------------------------------------------===*\
|* Forward and backward apart                                                 *|
\*===----------------------------------------------------------------------===*/

/*
 * For programs that were compiled with the option `loss` set to `vjp`. Between a forward pass and
 * its backward pass stand residuals: bytes in memory of the caller, which may be copied and moved
 * as a whole. Any number of them may live at a time, and none refers to the program. Best aligned
 * to 64 bytes.
 *
 * In these functions, and in `bppsaProgramInfer` and `bppsaProgramInferInto`, arrays may stand for
 * parameters, under their names: float32, compact, read in the place of the program's own. Programs
 * for GPUs take none.
 */

/**
 * The bytes of the residuals of a forward pass on arrays of these shapes; their memory is not
 * looked at. An upper bound, most of which is not touched, where lengths of samples decide.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGetResidualBytes(BppsaProgram program,
                                                             const BppsaNamedArray *arrays,
                                                             intptr_t numArrays, size_t *bytes);

/**
 * Computes graph outputs as `bppsaProgramInferInto` does, and writes what `bppsaProgramBackward`
 * reads of this pass to `residuals`: uint8, compact, of at least the bytes above. Equal calls write
 * equal bytes.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramForward(BppsaProgram program,
                                                    const BppsaNamedArray *arrays,
                                                    intptr_t numArrays,
                                                    const BppsaNamedArray *outputs,
                                                    intptr_t numOutputs, const DLTensor *residuals);

/**
 * How many bytes of `residuals`, which `bppsaProgramForward` has written, belong to them: as many
 * as `bppsaProgramGetResidualBytes` says, or less where lengths of samples decide. Those behind
 * have not been touched, and `bppsaProgramBackward` does not need them.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGetUsedResidualBytes(BppsaProgram program,
                                                                 const DLTensor *residuals,
                                                                 size_t *bytes);

/**
 * The vector-Jacobian product of a forward pass: the gradients of the sum over all graph outputs of
 * output times cotangent. `arrays` are those of the forward pass, with the values that they had,
 * and so must be the program's parameters that no array stands for: residuals hold neither.
 * `cotangents` are named after the outputs, and zero for those that are left out; `gradients` are
 * memory of the caller for those of the kind `BppsaGradient` that are wanted. Infinite and NaN
 * results are results. Residuals do not change, and may be used several times.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramBackward(
    BppsaProgram program, const BppsaNamedArray *arrays, intptr_t numArrays,
    const DLTensor *residuals, const BppsaNamedArray *cotangents, intptr_t numCotangents,
    const BppsaNamedArray *gradients, intptr_t numGradients);

/*===----------------------------------------------------------------------===*\
|* Parameters and optimizer states                                            *|
\*===----------------------------------------------------------------------===*/

/**
 * A view of parameter `index` of the kind `BppsaParameter`: float32, compact, 64-byte aligned, in
 * the program's own memory, to be read and written between calls. `view`, its shape and its memory
 * live as long as the program; its address never changes. Programs for GPUs bring it up to date in
 * this call, which is needed after each step and before each change.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramGetParameter(BppsaProgram program, intptr_t index,
                                                         const DLTensor **view);

/** Gives parameters the values of the ONNX model and forgets the optimizer's states and steps. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramReset(BppsaProgram program);

/** Writes the ONNX model with the parameters of now, to a file that appears whole or not at all. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSave(BppsaProgram program, const char *path);

/**
 * Writes and reads parameters, optimizer states, hyperparameters and the number of the step. The
 * program that reads must be of the same model, loss and optimizer; its target and variants may be
 * others. Checkpoints of the command `train` can be read, too.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramSaveCheckpoint(BppsaProgram program, const char *path);
BPPSA_CAPI_EXPORTED BppsaStatus bppsaProgramLoadCheckpoint(BppsaProgram program, const char *path);

#ifdef __cplusplus
}
#endif

#endif /* BPPSA_C_PROGRAM_H */
