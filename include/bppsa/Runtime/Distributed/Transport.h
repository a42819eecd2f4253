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

/// Transfers messages between ranks. Used by one thread, which destroys the transport after all
/// operations have completed.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int count() const = 0;
  /// The bytes must stay in place until `done` is called. Messages with the same ranks and tag
  /// arrive in order.
  virtual void send(int to, int tag, const void *data, uint64_t bytes,
                    std::function<void()> done) = 0;
  virtual void receive(int from, int tag, void *data, uint64_t bytes,
                       std::function<void()> done) = 0;
  /// Ends the last such receive without calling `done`. No matching message may be in flight.
  virtual void cancel(int from, int tag) = 0;
  /// Returns when all ranks have called it.
  virtual void prepareScans(int members) = 0;
  /// Starts an exclusive scan of the affine maps `own`, from the last rank or, if `fromFirst`, the
  /// first. `before` receives the composition of all preceding maps, and is unchanged on the
  /// starting rank. Members must start scans in the same order. Buffers must stay in place until
  /// `done` is called.
  virtual void scan(bool fromFirst, const float *own, float *before, int64_t samples, int64_t size,
                    std::function<void()> done) = 0;
  /// Calls `done` for completed operations. Returns true if any completed.
  virtual bool poll() = 0;
  [[noreturn]] virtual void abort(int status) = 0;
};

} // namespace bppsa::runtime

/// Creates a transport, owned by the caller. Throws Error if MPI is not installed. Only defined
/// with --distributed=mpi.
extern "C" __attribute__((weak)) bppsa::runtime::Transport *bppsa_make_mpi_transport();

namespace bppsa::runtime {

inline bool isDistributedProgram() { return bppsa_make_mpi_transport != nullptr; }

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_TRANSPORT_H
