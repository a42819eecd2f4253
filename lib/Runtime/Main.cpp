//===- Main.cpp - Entry point of every compiled trainer -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Commands.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Threads.h"
#include "bppsa/Runtime/Trainer.h"

#include <csignal>

using namespace bppsa::runtime;

static int run(int argc, char **argv) {
  Program program = Program::load();
  Options options = parseOptions(argc, argv, program.model);
  for (const std::string &assignment : options.batchAxes)
    setBatchAxis(program.model, assignment);
  if (options.threads)
    setThreads(static_cast<int>(*options.threads));
  setEmulationSeed(static_cast<uint64_t>(options.emulateSeed));
  flushDenormals();
  if (options.command == "train")
    return train(program, options);
  if (options.command == "eval")
    evalCommand(program, options);
  if (options.command == "infer")
    inferCommand(program, options);
  if (options.command == "grad")
    gradCommand(program, options);
  if (options.command == "bench")
    benchCommand(program, options);
  if (options.command == "info")
    infoCommand(program);
  return 0;
}

int main(int argc, char **argv) {
  // A file that grows too large is then an error that can be reported.
  signal(SIGXFSZ, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (...) {
    return reportError();
  }
}
