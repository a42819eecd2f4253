//===- StagePort.cpp - What the stages of a pipeline exchange -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/StagePort.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/ObjectInterface.h"

using namespace bppsa::runtime;

static thread_local StagePort *stagePort = nullptr;

StagePortUse::StagePortUse(StagePort &port) { stagePort = &port; }
StagePortUse::~StagePortUse() { stagePort = nullptr; }

StagePort *bppsa::runtime::currentStagePort() { return stagePort; }

/// The port of a stage that runs; there is no other way to call one.
static StagePort &portOfStage() {
  return *orExit([] {
    if (!stagePort)
      fail("a stage of a pipeline runs where no rank exchanges anything; compile the model again");
    return stagePort;
  });
}

void bppsa_rt_stage_send(int64_t address, int64_t bytes, int64_t stage, int64_t channel) {
  portOfStage().send(static_cast<int>(stage), channel, reinterpret_cast<const void *>(address),
                     bytes);
}

void bppsa_rt_stage_receive(int64_t address, int64_t bytes, int64_t stage, int64_t channel) {
  portOfStage().receive(static_cast<int>(stage), channel, reinterpret_cast<void *>(address), bytes);
}
