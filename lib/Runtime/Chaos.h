//===- Chaos.h - Random sleeps for tests ------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_CHAOS_H
#define BPPSA_LIB_RUNTIME_CHAOS_H

namespace bppsa::runtime {

/// Sleeps now and then, for up to some milliseconds, where the environment variable BPPSA_CHAOS
/// holds a seed. Threads that wait for each other call it, so that tests meet rare orders of them.
void injectChaos();

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_CHAOS_H
