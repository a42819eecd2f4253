//===- MpiTransport.cpp - Transport over Open MPI -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The only file that uses MPI. Loads Open MPI, whose ABI has been stable since version 3, only for
// several ranks, so that programs start without it.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/ShardScan.h"
#include "bppsa/Runtime/Distributed/Transport.h"
#include "bppsa/Runtime/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <limits>
#include <map>
#include <mpi.h>
#include <utility>
#include <vector>

using namespace bppsa::runtime;

namespace {
struct MpiLibrary {
  MpiLibrary();

  decltype(&MPI_Init_thread) init;
  decltype(&MPI_Finalize) finalize;
  decltype(&MPI_Comm_rank) rank;
  decltype(&MPI_Comm_size) size;
  decltype(&MPI_Isend) send;
  decltype(&MPI_Irecv) receive;
  decltype(&MPI_Testsome) testSome;
  decltype(&MPI_Iprobe) probe;
  decltype(&MPI_Cancel) cancel;
  decltype(&MPI_Wait) wait;
  decltype(&MPI_Abort) abort;
  decltype(&MPI_Comm_split) split;
  decltype(&MPI_Type_contiguous) makeType;
  decltype(&MPI_Type_commit) commitType;
  decltype(&MPI_Type_size) sizeOfType;
  decltype(&MPI_Op_create) makeOperation;
  decltype(&MPI_Iexscan) scan;
  MPI_Comm world;
  MPI_Datatype bytes, floats;
};

class MpiTransport : public Transport {
public:
  MpiTransport();
  ~MpiTransport() override { library.finalize(); }

  int rank() const override { return ownRank; }
  int count() const override { return ranks; }
  void send(int to, int tag, const void *data, uint64_t bytes, std::function<void()> done) override;
  void receive(int from, int tag, void *data, uint64_t bytes, std::function<void()> done) override;
  void cancel(int from, int tag) override;
  void prepareScans(int members) override;
  void scan(bool fromFirst, const float *own, float *before, int64_t samples, int64_t size,
            std::function<void()> done) override;
  bool poll() override;
  [[noreturn]] void abort(int status) override {
    library.abort(library.world, status);
    std::abort();
  }

private:
  /// Composes affine maps; `in` is applied first.
  static void compose(void *in, void *inout, int *count, MPI_Datatype *type);
  MPI_Datatype typeOfMaps(int64_t size);

  MpiLibrary library;
  int ownRank = 0, ranks = 1;
  MPI_Comm fromLast, fromFirst;
  MPI_Op composition;
  std::map<int64_t, MPI_Datatype> mapTypes;
  /// Static, because MPI passes only the datatype.
  static decltype(&MPI_Type_size) sizeOfType;
  /// `from` is -1 unless it is a receive.
  struct Pending {
    std::function<void()> done;
    int from = -1, tag = 0;
  };

  MPI_Request *add(Pending request);
  void removeEnded();

  std::vector<MPI_Request> requests;
  std::vector<Pending> pending;
  std::vector<int> ended;
};
} // namespace

MpiLibrary::MpiLibrary() {
  const char *named = getenv("BPPSA_MPI_LIBRARY");
  const char *name = named && *named ? named : "libmpi.so.40";
  // RTLD_GLOBAL, because plug-ins look up its symbols.
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
  load(probe, "MPI_Iprobe");
  load(cancel, "MPI_Cancel");
  load(wait, "MPI_Wait");
  load(abort, "MPI_Abort");
  load(split, "MPI_Comm_split");
  load(makeType, "MPI_Type_contiguous");
  load(commitType, "MPI_Type_commit");
  load(sizeOfType, "MPI_Type_size");
  load(makeOperation, "MPI_Op_create");
  load(scan, "MPI_Iexscan");
  // MPI_COMM_WORLD and the like are addresses of variables.
  world = static_cast<MPI_Comm>(find("ompi_mpi_comm_world"));
  bytes = static_cast<MPI_Datatype>(find("ompi_mpi_byte"));
  floats = static_cast<MPI_Datatype>(find("ompi_mpi_float"));
}

MpiTransport::MpiTransport() {
  int provided;
  library.init(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  library.rank(library.world, &ownRank);
  library.size(library.world, &ranks);
}

static int countOf(uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int>::max()))
    fail("a message between ranks has ", bytes, " bytes, expected up to 2 GiB; use --slice");
  return static_cast<int>(bytes);
}

/// The handle is valid until the next call.
MPI_Request *MpiTransport::add(Pending request) {
  pending.push_back(std::move(request));
  return &requests.emplace_back();
}

void MpiTransport::send(int to, int tag, const void *data, uint64_t bytes,
                        std::function<void()> done) {
  library.send(data, countOf(bytes), library.bytes, to, tag, library.world, add({std::move(done)}));
}

void MpiTransport::receive(int from, int tag, void *data, uint64_t bytes,
                           std::function<void()> done) {
  library.receive(data, countOf(bytes), library.bytes, from, tag, library.world,
                  add({std::move(done), from, tag}));
}

void MpiTransport::cancel(int from, int tag) {
  for (size_t i = requests.size(); i-- > 0;)
    if (pending[i].from == from && pending[i].tag == tag) {
      library.cancel(&requests[i]);
      library.wait(&requests[i], MPI_STATUS_IGNORE);
      pending[i].done = nullptr;
      return removeEnded();
    }
}

decltype(&MPI_Type_size) MpiTransport::sizeOfType = nullptr;

void MpiTransport::compose(void *in, void *inout, int *count, MPI_Datatype *type) {
  int bytes = 0;
  sizeOfType(*type, &bytes);
  int64_t floats = bytes / static_cast<int64_t>(sizeof(float)), size = 0;
  while (floatsOfMap(size) < floats)
    ++size;
  composeMaps(static_cast<const float *>(in), static_cast<float *>(inout), *count, size);
}

void MpiTransport::prepareScans(int members) {
  sizeOfType = library.sizeOfType;
  int color = ownRank < members ? 0 : MPI_UNDEFINED;
  library.split(library.world, color, -ownRank, &fromLast);
  library.split(library.world, color, ownRank, &fromFirst);
  library.makeOperation(compose, /*commute=*/0, &composition);
}

MPI_Datatype MpiTransport::typeOfMaps(int64_t size) {
  auto [found, isNew] = mapTypes.try_emplace(size);
  if (isNew) {
    uint64_t bytes = floatsOfMap(size) * sizeof(float);
    countOf(bytes);
    library.makeType(static_cast<int>(floatsOfMap(size)), library.floats, &found->second);
    library.commitType(&found->second);
  }
  return found->second;
}

void MpiTransport::scan(bool isFromFirst, const float *own, float *before, int64_t samples,
                        int64_t size, std::function<void()> done) {
  MPI_Datatype type = typeOfMaps(size);
  library.scan(own, before, static_cast<int>(samples), type, composition,
               isFromFirst ? fromFirst : fromLast, add({std::move(done)}));
}

void MpiTransport::removeEnded() {
  size_t kept = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!pending[i].done)
      continue;
    requests[kept] = requests[i];
    std::swap(pending[kept++], pending[i]);
  }
  requests.resize(kept);
  pending.resize(kept);
}

bool MpiTransport::poll() {
  if (requests.empty()) {
    // A completed small message may not have been sent yet, and the library only makes progress in
    // calls.
    int found = 0;
    library.probe(MPI_ANY_SOURCE, MPI_ANY_TAG, library.world, &found, MPI_STATUS_IGNORE);
    return false;
  }
  ended.resize(requests.size());
  int count = 0;
  library.testSome(static_cast<int>(requests.size()), requests.data(), &count, ended.data(),
                   MPI_STATUSES_IGNORE);
  if (count <= 0)
    return false;
  std::vector<std::function<void()>> calls;
  for (int i = 0; i < count; ++i)
    calls.push_back(std::exchange(pending[ended[i]].done, nullptr));
  removeEnded();
  for (const std::function<void()> &call : calls)
    call();
  return true;
}

extern "C" Transport *bppsa_make_mpi_transport() { return new MpiTransport(); }
