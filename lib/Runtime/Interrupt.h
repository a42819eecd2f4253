//===- Interrupt.h - Signals that end training ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_INTERRUPT_H
#define BPPSA_LIB_RUNTIME_INTERRUPT_H

namespace bppsa::runtime {

/// Records the first SIGINT, SIGTERM or SIGHUP; a second one ends the process.
void noteInterrupts();

int notedInterrupt();

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_INTERRUPT_H
