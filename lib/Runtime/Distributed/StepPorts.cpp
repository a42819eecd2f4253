//===- StepPorts.cpp - Callbacks of compiled steps ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Distributed/StepPorts.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/ObjectInterface.h"

#include <cstring>

using namespace bppsa::runtime;

StepPorts &bppsa::runtime::currentPorts() {
  static thread_local StepPorts ports;
  return ports;
}

StepPortsUse::StepPortsUse(StepPorts ports) : outer(currentPorts()) {
  StepPorts &current = currentPorts();
  current.stage = ports.stage ? ports.stage : outer.stage;
  current.shard = ports.shard ? ports.shard : outer.shard;
  current.listener = ports.listener ? ports.listener : outer.listener;
}

static StagePort &portOfStage() {
  return *orExit([] {
    if (!currentPorts().stage)
      fail("a pipeline stage runs without ranks to exchange with; compile the model again");
    return currentPorts().stage;
  });
}

void bppsa_rt_stage_send(int64_t address, int64_t bytes, int64_t stage, int64_t channel) {
  portOfStage().send(static_cast<int>(stage), channel, reinterpret_cast<const void *>(address),
                     bytes);
}

void bppsa_rt_stage_receive(int64_t address, int64_t bytes, int64_t stage, int64_t channel) {
  portOfStage().receive(static_cast<int>(stage), channel, reinterpret_cast<void *>(address), bytes);
}

static ShardState stateOf(int64_t address, int64_t bytes, int64_t reverse, int64_t channel) {
  return {reinterpret_cast<void *>(address), static_cast<uint64_t>(bytes), reverse != 0, channel};
}

void bppsa_rt_shard_enter(int64_t address, int64_t bytes, int64_t reverse, int64_t transposed,
                          int64_t channel) {
  ShardPort *port = currentPorts().shard;
  if (!port)
    return;
  ShardState state = stateOf(address, bytes, reverse, channel);
  if (transposed)
    port->sendCotangent(state);
  else
    port->enter(state);
}

void bppsa_rt_shard_leave(int64_t address, int64_t bytes, int64_t reverse, int64_t transposed,
                          int64_t channel) {
  ShardPort *port = currentPorts().shard;
  ShardState state = stateOf(address, bytes, reverse, channel);
  if (port && transposed)
    port->receiveCotangent(state);
  else if (port)
    port->leave(state);
  else if (transposed)
    memset(state.data, 0, bytes);
}

void bppsa_rt_shard_scan(int64_t map, int64_t own, int64_t into, int64_t samples, int64_t size,
                         int64_t reverse) {
  float *made = reinterpret_cast<float *>(into);
  if (ShardPort *port = currentPorts().shard)
    port->scan({reinterpret_cast<const float *>(map), reinterpret_cast<const float *>(own), made,
                samples, size, reverse != 0});
  else
    memset(made, 0, samples * size * sizeof(float));
}

int64_t bppsa_rt_shard_first_step() {
  return currentPorts().shard ? currentPorts().shard->firstStep() : 0;
}

int64_t bppsa_rt_shard_all_steps(int64_t own) {
  return currentPorts().shard ? currentPorts().shard->allSteps() : own;
}

void bppsa_rt_await_parameter(int64_t address) {
  if (StepListener *listener = currentPorts().listener)
    listener->parameterNeeded(reinterpret_cast<const void *>(address));
}

void bppsa_rt_signal_gradient(int64_t address) {
  if (StepListener *listener = currentPorts().listener)
    listener->gradientReady(reinterpret_cast<const void *>(address));
}

void bppsa_rt_rank_mean(int64_t address, int64_t count, int64_t transposed) {
  if (StepListener *listener = currentPorts().listener)
    listener->shareMeans(reinterpret_cast<float *>(address), count, transposed != 0);
}

float bppsa_rt_rank_weight() {
  StepListener *listener = currentPorts().listener;
  return listener ? static_cast<float>(listener->lossWeight()) : 1;
}
