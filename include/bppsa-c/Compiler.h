/*===- bppsa-c/Compiler.h - compiles ONNX models ------------------*- C -*-===*\
|*                                                                            *|
|* Part of the bppsa project, under the MIT License.                          *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Any number of models can be compiled in one process, sequentially or       *|
|* concurrently.                                                              *|
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

/** The options of a compilation. Names, meanings and defaults are those of `bppsa-compile`. */
typedef struct BppsaOptionsOpaque *BppsaOptions;

/** Creates options with their defaults. */
BPPSA_CAPI_EXPORTED BppsaOptions bppsaOptionsCreate(void);

/** Destroys options; null is allowed. */
BPPSA_CAPI_EXPORTED void bppsaOptionsDestroy(BppsaOptions options);

/**
 * Sets an option by its command-line name without leading hyphens: ("loss", "mse"), ("batch-axis",
 * "x:1"), ("O", "2"). List elements are separated by commas. Options that can be repeated on the
 * command line may be set several times. The value of a flag is "", "true" or "false". For an
 * unknown name, returns `BppsaWrongUsage` with a message that suggests a similar name.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaOptionsSet(BppsaOptions options, const char *name,
                                                const char *value);

/**
 * Called at the start of each part of a compilation, from any thread but never concurrently.
 * `phase` is "import", "loss", "differentiate", "scan", "kernels", "code" or "link". `done` of the
 * currently known `total` parts were started before; `total` grows as more parts of "code" become
 * known. Returns false to cancel the compilation with `BppsaCancelled`. Functions that a program
 * compiles on their first call are not reported.
 */
typedef bool (*BppsaCompileCallback)(const char *phase, int64_t done, int64_t total,
                                     void *userData);

/** Sets the progress callback of compilations with these options. `callback` may be null. */
BPPSA_CAPI_EXPORTED void bppsaOptionsSetProgress(BppsaOptions options,
                                                 BppsaCompileCallback callback, void *userData);

/** The description of an option. The texts are valid as long as the library is loaded. */
typedef struct BppsaOptionInfo {
  const char *name;
  /** The form of the value: "KIND", "NAME:AXIS", ...; empty for a flag. */
  const char *value;
  /** One line. */
  const char *help;
  /** True if the option may be set several times. */
  bool isRepeated;
} BppsaOptionInfo;

/** Return the number of options, and the option at `index`. */
BPPSA_CAPI_EXPORTED intptr_t bppsaGetNumOptions(void);
BPPSA_CAPI_EXPORTED BppsaOptionInfo bppsaGetOption(intptr_t index);

/*===----------------------------------------------------------------------===*\
|* Compilation                                                                *|
\*===----------------------------------------------------------------------===*/

/** An ONNX model, as a file or as bytes. */
typedef struct BppsaModel {
  /** External tensors are looked up in its directory. Null is equivalent to "model.onnx". */
  const char *path;
  /** The contents of the file; null to read it. */
  const void *bytes;
  size_t size;
} BppsaModel;

typedef enum BppsaSeverity { BppsaNote = 0, BppsaWarning = 1, BppsaError = 2 } BppsaSeverity;

/**
 * Receives each line of diagnostics, from any thread but never concurrently. The first error is
 * also the error message of the call.
 */
typedef void (*BppsaDiagnosticCallback)(BppsaSeverity severity, const char *message,
                                        void *userData);

/**
 * Compiles to the format given by the option `emit` and writes the file `output` atomically.
 * Linking of executables and shared libraries uses a C++ compiler on the PATH and the run-time
 * archives next to this library. CPU executables can also be linked without a C++ compiler
 * (docs/Guides/Embedding.md). `callback` may be null.
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaCompileToFile(BppsaModel model, BppsaOptions options,
                                                   const char *output,
                                                   BppsaDiagnosticCallback callback,
                                                   void *userData);

/** Compiles to memory, which `bppsaBytesDestroy` frees. */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaCompileToBytes(BppsaModel model, BppsaOptions options,
                                                    BppsaDiagnosticCallback callback,
                                                    void *userData, char **bytes, size_t *size);
BPPSA_CAPI_EXPORTED void bppsaBytesDestroy(char *bytes);

/**
 * Compiles to a program in this process for the processor of this machine. No compiler, linker or
 * file is needed. The options `emit`, `compile-to` and `mcpu` must have their defaults and `target`
 * must be `cpu`; use `bppsaCompileToFile` and `bppsaProgramLoad` for GPU programs. If the
 * environment variable BPPSA_CACHE names a directory, code is cached there and reused for the same
 * model, options, compiler and processor (docs/Guides/Embedding.md).
 */
BPPSA_CAPI_EXPORTED BppsaStatus bppsaCompileToProgram(BppsaModel model, BppsaOptions options,
                                                      BppsaDiagnosticCallback callback,
                                                      void *userData, BppsaProgram *program);

/** Returns the supported ONNX operators as printed by `bppsa-compile --list-support`. */
BPPSA_CAPI_EXPORTED const char *bppsaGetSupportedOperators(void);

#ifdef __cplusplus
}
#endif

#endif /* BPPSA_C_COMPILER_H */
