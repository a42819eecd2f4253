//===- Chaos.h - Random sleeps for tests ------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_CHAOS_H
#define BPPSA_LIB_RUNTIME_CHAOS_H

namespace bppsa::runtime {

/// Sleeps occasionally if BPPSA_CHAOS holds a seed. Called at synchronization points, so that tests
/// exercise rare interleavings.
void injectChaos();

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_CHAOS_H
