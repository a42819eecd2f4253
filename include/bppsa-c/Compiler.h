/*===- bppsa-c/Compiler.h - ONNX models to programs ---------------*- C -*-===*\
|*                                                                            *|
|* Part of the bppsa project, under the MIT License.                          *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Any number of models can be compiled in one process, one after the other   *|
|* or in several threads at a time.                                           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef BPPSA_C_COMPILER_H
#define BPPSA_C_COMPILER_H

#include "bppsa-c/Program.h"
#include "bppsa-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===----------------------------------------------------------------------===*\
|* Options                                                                    *|
\*===----------------------------------------------------------------------===*/

/** The options of a compilation, with the names, meanings and defaults of `bppsa-compile`. */
typedef struct BppsaOptionsOpaque *BppsaOptions;

/** All options have their defaults. */
BPPSA_CAPI_EXPORTED BppsaOptions bppsaOptionsCreate(void);

/** Does nothing with null. */
BPPSA_CAPI_EXPORTED void bppsaOptionsDestroy(BppsaOptions options);

/**
 * Sets an option by its name on the command line without the hyphens in front: ("loss", "mse"),
 * ("batch-axis", "x:1"), ("O", "2"). Lists are separated by commas, as there. An option that the
 * command line takes several times may be set several times. Flags without a value take "", "true"
 * or "false". An unknown name is `BppsaWrongUsage`, and the message says which was meant.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaOptionsSet(BppsaOptions options, const char *name,
                                                const char *value);

/**
 * Called where a part of a compilation begins: one part at a time, but from any thread. `phase` is
 * "import", "loss", "differentiate", "scan", "kernels", "code" or "link"; `done` of the `total`
 * parts that are known by then have begun before, and more of `code` become known as it goes on.
 * Where it returns false, the compilation ends with `BppsaCancelled`. Code that functions of a
 * program get when they are first called is not told of.
 */
typedef bool (*BppsaCompileCallback)(const char *phase, int64_t done, int64_t total,
                                     void *userData);

/** Sets what compilations with these options call. `callback` may be null. */
BPPSA_CAPI_EXPORTED void bppsaOptionsSetProgress(BppsaOptions options,
                                                 BppsaCompileCallback callback, void *userData);

/** One option that there is. The texts live as long as the library. */
typedef struct BppsaOptionInfo {
  const char *name;
  /** "KIND", "NAME:AXIS", ...; empty for a flag. */
  const char *value;
  /** One line. */
  const char *help;
  /** Whether it may be set several times. */
  bool isRepeated;
} BppsaOptionInfo;

/** The number of options, and the one at `index`, below that number. */
BPPSA_CAPI_EXPORTED intptr_t bppsaGetNumOptions(void);
BPPSA_CAPI_EXPORTED BppsaOptionInfo bppsaGetOption(intptr_t index);

/*===----------------------------------------------------------------------===*\
|* Compilation                                                                *|
\*===----------------------------------------------------------------------===*/

/** An ONNX model: a file, or the bytes of one. */
typedef struct BppsaModel {
  /** Tensors in files of their own are looked up in its directory. Null for "model.onnx". */
  const char *path;
  /** What the file would hold; null: it is read. */
  const void *bytes;
  size_t size;
} BppsaModel;

typedef enum BppsaSeverity { BppsaNote = 0, BppsaWarning = 1, BppsaError = 2 } BppsaSeverity;

/**
 * Gets each line that a compilation says of its model: one at a time, but from any thread. The
 * first error is the message of the call, too.
 */
typedef void (*BppsaDiagnosticCallback)(BppsaSeverity severity, const char *message,
                                        void *userData);

/**
 * Compiles to what the option `emit` says, and writes that to the file `output`, which appears
 * whole or not at all. Executables and shared libraries are linked with a C++ compiler on the PATH
 * and the run-time archives beside this library; executables for CPUs also without one
 * (docs/Embedding.md). `callback` may be null.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaCompileToFile(BppsaModel model, BppsaOptions options,
                                                   const char *output,
                                                   BppsaDiagnosticCallback callback,
                                                   void *userData);

/** The same, to memory that `bppsaBytesDestroy` frees. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaCompileToBytes(BppsaModel model, BppsaOptions options,
                                                    BppsaDiagnosticCallback callback,
                                                    void *userData, char **bytes, size_t *size);
BPPSA_CAPI_EXPORTED void bppsaBytesDestroy(char *bytes);

/**
 * Compiles to a program in this process, for this machine's processor: no compiler, linker or file
 * is needed. The options `emit`, `compile-to` and `mcpu` must have their defaults, and `target`
 * must be `cpu`; programs for GPUs are shared libraries (`bppsaCompileToFile`,
 * `bppsaProgramLoad`). Where the environment variable BPPSA_CACHE names a directory, code is kept
 * there, and taken from there where model, options, compiler and processor are the same
 * (docs/Embedding.md).
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaCompileToProgram(BppsaModel model, BppsaOptions options,
                                                      BppsaDiagnosticCallback callback,
                                                      void *userData, BppsaProgram *program);

/** The ONNX operators that are supported, as `bppsa-compile --list-support` prints them. */
BPPSA_CAPI_EXPORTED const char *bppsaGetSupportedOperators(void);

#ifdef __cplusplus
}
#endif

#endif /* BPPSA_C_COMPILER_H */
