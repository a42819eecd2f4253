//===- Main.cpp - Entry point of every compiled trainer -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Description.h"
#include "Distributed/Launch.h"
#include "Training/Trainer.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Threads/Threads.h"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

using namespace bppsa::runtime;

static int runCommand(const Program &program, const Options &options, Ranks &ranks) {
  if (options.command == "train")
    return train(program, options, ranks);
  if (options.command == "eval")
    evalCommand(program, options, ranks);
  if (options.command == "infer")
    inferCommand(program, options);
  if (options.command == "grad")
    gradCommand(program, options);
  if (options.command == "bench")
    benchCommand(program, options);
  if (options.command == "info")
    infoCommand(program, options);
  return 0;
}

static void noteConstantWeights(const Program &program, const Options &options) {
  if ((options.command != "train" && options.command != "grad") || options.quiet)
    return;
  if (std::string line = describeConstantWeights(program); !line.empty())
    fprintf(stderr, "%s\n", line.c_str());
}

static int wantedThreads(const Options &options, const Launch &launch, size_t cpus) {
  if (options.threads)
    return static_cast<int>(*options.threads);
  if (cpus > 0)
    return static_cast<int>(cpus);
  return launch.count > 1 ? threadsOf(launch) : 0;
}

static int run(int argc, char **argv) {
  Launch launch = readLaunch();
  silenceOtherRanks(launch);
  Program program = Program::load(linkedProgram());
  Options options = parseOptions(argc, argv, program.model);
  setBatchAxes(program.model, options.batchAxes);
  if (launch.rank != 0 && !isForAllRanks(options))
    return 0;
  std::vector<int> cpus = options.affinity ? parseCpus(*options.affinity) : std::vector<int>();
  setThreads(wantedThreads(options, launch, cpus.size()));
  setAffinity(std::move(cpus));
  setEmulationSeed(static_cast<uint64_t>(options.emulateSeed));
  flushDenormals();
  std::unique_ptr<Ranks> ranks = joinRanks(launch, options);
  if (launch.rank == 0)
    noteConstantWeights(program, options);
  // An error must end all ranks before unwinding destroys the buffers of messages in flight.
  return ranks->isAlone() ? runCommand(program, options, *ranks)
                          : orExit([&] { return runCommand(program, options, *ranks); });
}

/// Opens closed standard streams as /dev/null, with an access mode that still fails. Otherwise a
/// data file could get their descriptor and be overwritten.
static void occupyStandardStreams() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) == -1)
      open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
  occupyStandardStreams();
  // Turn these signals into reportable errors.
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (...) {
    return reportError();
  }
}
