//===- MpiTransport.cpp - Messages by Open MPI ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The only file that knows MPI. The library is opened when ranks are asked for, so that programs
// start where it is not installed; the header is that of Open MPI, whose binary interface has been
// the same since version 3.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/Transport.h"
#include "bppsa/Runtime/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <limits>
#include <mpi.h>
#include <utility>
#include <vector>

using namespace bppsa::runtime;

namespace {
/// What is used of the library.
struct MpiLibrary {
  MpiLibrary();

  decltype(&MPI_Init_thread) init;
  decltype(&MPI_Finalize) finalize;
  decltype(&MPI_Comm_rank) rank;
  decltype(&MPI_Comm_size) size;
  decltype(&MPI_Isend) send;
  decltype(&MPI_Irecv) receive;
  decltype(&MPI_Testsome) testSome;
  decltype(&MPI_Abort) abort;
  MPI_Comm world;
  MPI_Datatype bytes;
};

class MpiTransport : public Transport {
public:
  MpiTransport();
  ~MpiTransport() override { library.finalize(); }

  int rank() const override { return ownRank; }
  int count() const override { return ranks; }
  void send(int to, int tag, const void *data, uint64_t bytes, std::function<void()> done) override;
  void receive(int from, int tag, void *data, uint64_t bytes, std::function<void()> done) override;
  bool poll() override;
  [[noreturn]] void abort(int status) override {
    library.abort(library.world, status);
    std::abort();
  }

private:
  MpiLibrary library;
  int ownRank = 0, ranks = 1;
  /// Messages that have not ended.
  std::vector<MPI_Request> requests;
  std::vector<std::function<void()>> whenDone;
  std::vector<int> ended;
};
} // namespace

MpiLibrary::MpiLibrary() {
  const char *named = getenv("BPPSA_MPI_LIBRARY");
  const char *name = named && *named ? named : "libmpi.so.40";
  // Plug-ins of the library look its symbols up.
  void *handle = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    fail("several ranks need Open MPI on every machine, and its library cannot be opened (",
         dlerror(), "); install it (Debian: openmpi-bin), or start the program without mpirun");
  auto find = [&](const char *symbol) {
    void *found = dlsym(handle, symbol);
    if (!found)
      fail(quote(name), ": found no ", symbol, ", expected the library of Open MPI 3 or newer");
    return found;
  };
  auto load = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(find(symbol));
  };
  load(init, "MPI_Init_thread");
  load(finalize, "MPI_Finalize");
  load(rank, "MPI_Comm_rank");
  load(size, "MPI_Comm_size");
  load(send, "MPI_Isend");
  load(receive, "MPI_Irecv");
  load(testSome, "MPI_Testsome");
  load(abort, "MPI_Abort");
  // What MPI_COMM_WORLD and MPI_BYTE stand for are variables of the library.
  world = static_cast<MPI_Comm>(find("ompi_mpi_comm_world"));
  bytes = static_cast<MPI_Datatype>(find("ompi_mpi_byte"));
}

MpiTransport::MpiTransport() {
  int provided;
  library.init(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  library.rank(library.world, &ownRank);
  library.size(library.world, &ranks);
}

static int countOf(uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int>::max()))
    fail("a message between ranks has ", bytes, " bytes, accepted are up to 2 GiB; use --slice");
  return static_cast<int>(bytes);
}

void MpiTransport::send(int to, int tag, const void *data, uint64_t bytes,
                        std::function<void()> done) {
  requests.emplace_back();
  whenDone.push_back(std::move(done));
  library.send(data, countOf(bytes), library.bytes, to, tag, library.world, &requests.back());
}

void MpiTransport::receive(int from, int tag, void *data, uint64_t bytes,
                           std::function<void()> done) {
  requests.emplace_back();
  whenDone.push_back(std::move(done));
  library.receive(data, countOf(bytes), library.bytes, from, tag, library.world, &requests.back());
}

bool MpiTransport::poll() {
  if (requests.empty())
    return false;
  ended.resize(requests.size());
  int count = 0;
  library.testSome(static_cast<int>(requests.size()), requests.data(), &count, ended.data(),
                   MPI_STATUSES_IGNORE);
  if (count <= 0)
    return false;
  std::vector<std::function<void()>> calls;
  for (int i = 0; i < count; ++i)
    calls.push_back(std::exchange(whenDone[ended[i]], nullptr));
  size_t kept = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    // What has ended has just lost its function.
    if (!whenDone[i])
      continue;
    requests[kept] = requests[i];
    std::swap(whenDone[kept++], whenDone[i]);
  }
  requests.resize(kept);
  whenDone.resize(kept);
  for (const std::function<void()> &call : calls)
    call();
  return true;
}

extern "C" Transport *bppsa_make_mpi_transport() { return new MpiTransport(); }
