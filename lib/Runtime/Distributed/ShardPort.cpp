//===- ShardPort.cpp - States of shares of the steps ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/ShardPort.h"
#include "bppsa/Runtime/ObjectInterface.h"

#include <cstring>

using namespace bppsa::runtime;

static thread_local ShardPort *shardPort = nullptr;

ShardPortUse::ShardPortUse(ShardPort &port) { shardPort = &port; }
ShardPortUse::~ShardPortUse() { shardPort = nullptr; }

static ShardState stateOf(int64_t address, int64_t bytes, int64_t reverse, int64_t channel) {
  return {reinterpret_cast<void *>(address), static_cast<uint64_t>(bytes), reverse != 0, channel};
}

void bppsa_rt_shard_enter(int64_t address, int64_t bytes, int64_t reverse, int64_t transposed,
                          int64_t channel) {
  if (!shardPort)
    return;
  ShardState state = stateOf(address, bytes, reverse, channel);
  if (transposed)
    shardPort->giveCotangent(state);
  else
    shardPort->enter(state);
}

void bppsa_rt_shard_leave(int64_t address, int64_t bytes, int64_t reverse, int64_t transposed,
                          int64_t channel) {
  ShardState state = stateOf(address, bytes, reverse, channel);
  if (shardPort && transposed)
    shardPort->takeCotangent(state);
  else if (shardPort)
    shardPort->leave(state);
  else if (transposed)
    memset(state.data, 0, bytes);
}

void bppsa_rt_shard_scan(int64_t map, int64_t own, int64_t into, int64_t samples, int64_t size,
                         int64_t reverse) {
  float *made = reinterpret_cast<float *>(into);
  if (shardPort)
    shardPort->scan({reinterpret_cast<const float *>(map), reinterpret_cast<const float *>(own),
                     made, samples, size, reverse != 0});
  else
    memset(made, 0, samples * size * sizeof(float));
}

int64_t bppsa_rt_shard_first_step() { return shardPort ? shardPort->firstStep() : 0; }

int64_t bppsa_rt_shard_all_steps(int64_t own) { return shardPort ? shardPort->allSteps() : own; }
