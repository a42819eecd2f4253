//===- Launch.cpp - MPI launch environment --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Distributed/Launch.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <thread>

using namespace bppsa::runtime;

static int numberIn(const char *variable) {
  const char *value = getenv(variable);
  return value ? atoi(value) : 0;
}

Launch bppsa::runtime::readLaunch() {
  if (!isDistributedProgram())
    return {};
  if (int count = numberIn("OMPI_COMM_WORLD_SIZE"))
    return {numberIn("OMPI_COMM_WORLD_RANK"), count,
            std::max(numberIn("OMPI_COMM_WORLD_LOCAL_SIZE"), 1)};
  for (const char *variable : {"PMI_SIZE", "PMIX_RANK"})
    if (numberIn(variable) > (variable[3] == '_' ? 1 : 0))
      fail("found ", variable,
           " in the environment, but not OMPI_COMM_WORLD_SIZE: several ranks "
           "are started by the mpirun of Open MPI");
  return {};
}

void bppsa::runtime::silenceOtherRanks(const Launch &launch) {
  if (launch.rank == 0)
    return;
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0)
    dup2(nowhere, STDOUT_FILENO);
  // mpirun kills all ranks when one fails; give rank 0 time to report.
  setErrorPrinter([](const char *, int) { std::this_thread::sleep_for(std::chrono::seconds(3)); });
}

int bppsa::runtime::threadsOf(const Launch &launch) {
  int all = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  // mpirun may have bound the process to some cores.
  return std::clamp(all / launch.localCount, 1, std::max(availableCores(), 1));
}

bool bppsa::runtime::isForAllRanks(const Options &options) {
  return options.command == "train" || (options.command == "eval" && options.metrics.empty());
}

std::unique_ptr<Ranks> bppsa::runtime::joinRanks(const Launch &launch, const Options &options) {
  bool isTraced = !options.trace.empty();
  if (launch.count == 1 || !isForAllRanks(options))
    return std::make_unique<Ranks>(isTraced);
  return std::make_unique<Ranks>(bppsa_make_mpi_transport, options.throttle, options.stallTimeout,
                                 isTraced);
}
