//===- Interrupt.h - Signals that end training ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_INTERRUPT_H
#define BPPSA_LIB_RUNTIME_INTERRUPT_H

namespace bppsa::runtime {

/// Makes the first SIGINT, SIGTERM or SIGHUP only be recorded. A second one ends the process as
/// usual.
void noteInterrupts();

/// The recorded signal, or 0.
int notedInterrupt();

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_INTERRUPT_H
