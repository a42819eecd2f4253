/*===- bppsa-c/Support.h - status codes and errors ----------------*- C -*-===*\
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
 * The result of a call. Calls never end the process and never print. If a call does not return
 * `BppsaSuccess`, it has not changed any argument, parameter or file unless its description states
 * otherwise.
 */
typedef enum BppsaStatus {
  BppsaSuccess = 0,
  /** A model, an array or a file is invalid, or memory is exhausted. */
  BppsaWrongInput = 1,
  /** An option, a name or a call is invalid. */
  BppsaWrongUsage = 2,
  /** A loss or a gradient is not finite. */
  BppsaDiverged = 3,
  /** A bug in this library. */
  BppsaInternalError = 4,
  /** Cancelled by a callback. */
  BppsaCancelled = 5,
  /** The program needs a GPU, but there is none. */
  BppsaNoDevice = 77
} BppsaStatus;

/**
 * Returns a one-line message about the last failed call on this thread: the problem, the accepted
 * values and the remedy. It starts in lower case, has no final period, and is empty if no call has
 * failed. Valid until the next failed call on this thread.
 */
BPPSA_CAPI_EXPORTED const char *bppsaGetLastError(void);

/** Returns the version, for example "0.1.0". */
BPPSA_CAPI_EXPORTED const char *bppsaGetVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* BPPSA_C_SUPPORT_H */
