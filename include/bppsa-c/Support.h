/*===- bppsa-c/Support.h - what all of the C API shares -----------*- C -*-===*\
|*                                                                            *|
|* Part of the bppsa project, under the MIT License.                          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef BPPSA_C_SUPPORT_H
#define BPPSA_C_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BPPSA_CAPI_EXPORTED __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What a call came to. No call ends the process, prints, or leaves something half done: where the
 * status is not `BppsaSuccess`, no argument, no parameter and no file has changed, unless the call
 * says so.
 */
typedef enum BppsaStatus {
  BppsaSuccess = 0,
  /** A model, an array or a file cannot be used, or memory is missing. */
  BppsaWrongInput = 1,
  /** An option, a name or a call that there is not. */
  BppsaWrongUsage = 2,
  /** A loss or a gradient is not finite. */
  BppsaDiverged = 3,
  /** A mistake of this library. */
  BppsaInternalError = 4,
  /** A callback has ended it. */
  BppsaCancelled = 5,
  /** The program needs a GPU and there is none. */
  BppsaNoDevice = 77
} BppsaStatus;

/**
 * One line on the last call of this thread that failed: what was found, what is accepted, the
 * remedy. Lower case, without a period; empty before there is one. Valid until the next call of
 * this thread that fails.
 */
BPPSA_CAPI_EXPORTED const char *bppsaGetLastError(void);

/** "0.1.0" */
BPPSA_CAPI_EXPORTED const char *bppsaGetVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* BPPSA_C_SUPPORT_H */
