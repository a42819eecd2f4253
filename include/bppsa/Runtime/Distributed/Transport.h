//===- Transport.h - Messages between processes ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_TRANSPORT_H
#define BPPSA_RUNTIME_DISTRIBUTED_TRANSPORT_H

#include <cstdint>
#include <functional>
#include <memory>

namespace bppsa::runtime {

/// Transfers messages between the ranks of a run and performs scans over them. All calls are made
/// by one thread, which destroys the transport after all operations have completed.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int count() const = 0;
  /// Start transferring `bytes` bytes, which must stay in place until `done` is called. Messages
  /// with the same ranks and tag are received in the order sent.
  virtual void send(int to, int tag, const void *data, uint64_t bytes,
                    std::function<void()> done) = 0;
  virtual void receive(int from, int tag, void *data, uint64_t bytes,
                       std::function<void()> done) = 0;
  /// Ends the most recent receive with these arguments without calling its `done`. No matching
  /// message may be in flight.
  virtual void cancel(int from, int tag) = 0;
  /// Collective: returns when all ranks have called it.
  virtual void prepareScans(int members) = 0;
  /// Starts an exclusive scan over these ranks of the affine maps in `own` (`composeMaps`), from
  /// the last rank to the first, or from the first to the last if `fromFirst`. `before` receives
  /// the composition of the maps of all preceding ranks; it is unchanged on the first of them. All
  /// members must start scans in the same order. Both buffers must stay in place until `done` is
  /// called.
  virtual void scan(bool fromFirst, const float *own, float *before, int64_t samples, int64_t size,
                    std::function<void()> done) = 0;
  /// Makes progress and calls `done` for completed operations. Returns whether any completed.
  virtual bool poll() = 0;
  [[noreturn]] virtual void abort(int status) = 0;
};

} // namespace bppsa::runtime

/// Returns a transport over MPI, owned by the caller. Throws Error if MPI is not installed. Only
/// defined in programs compiled with --distributed=mpi.
extern "C" __attribute__((weak)) bppsa::runtime::Transport *bppsa_make_mpi_transport();

namespace bppsa::runtime {

inline bool isDistributedProgram() { return bppsa_make_mpi_transport != nullptr; }

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_TRANSPORT_H
