//===- Transport.h - Messages between processes ---------------------------------===//
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

/// Moves messages between the ranks of a run, and makes scans over them. One thread makes all
/// calls, and destroys it when all messages and scans have ended.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int count() const = 0;
  /// Begin to move `bytes` bytes, which stay where they are until `done` is called. Of messages
  /// with the same ranks and tag the first that is sent is the first that is received.
  virtual void send(int to, int tag, const void *data, uint64_t bytes,
                    std::function<void()> done) = 0;
  virtual void receive(int from, int tag, void *data, uint64_t bytes,
                       std::function<void()> done) = 0;
  /// Ends the last receive with these arguments, for which no message may be on its way, without a
  /// call of its `done`.
  virtual void cancel(int from, int tag) = 0;
  /// Prepares scan() for the first `members` ranks. All ranks call it, and it returns when all
  /// have.
  virtual void prepareScans(int members) = 0;
  /// Begins an exclusive scan over these ranks of the affine maps in `own` (`composeMaps`), from
  /// the last rank to the first, or `fromFirst` to the last: `before` gets what the maps of the
  /// ranks that come before this one do, one after the other, and stays as it is on the rank that
  /// comes first. All members begin scans in the same order. Both stay where they are until `done`
  /// is called.
  virtual void scan(bool fromFirst, const float *own, float *before, int64_t samples, int64_t size,
                    std::function<void()> done) = 0;
  /// Makes progress, and calls `done` of the messages that have ended since; whether there were
  /// any.
  virtual bool poll() = 0;
  /// Ends all ranks with this exit status.
  [[noreturn]] virtual void abort(int status) = 0;
};

} // namespace bppsa::runtime

/// The ranks of MPI; the caller owns them. Throws Error where MPI is not installed. Only programs
/// of --distributed=mpi are linked with the library that defines this.
extern "C" __attribute__((weak)) bppsa::runtime::Transport *bppsa_make_mpi_transport();

namespace bppsa::runtime {

inline bool isDistributedProgram() { return bppsa_make_mpi_transport != nullptr; }

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_TRANSPORT_H
