//===- TimeShard.cpp - Time shards of ranks -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/TimeShard.h"
#include "bppsa/Runtime/Distributed/ShardScan.h"
#include "bppsa/Runtime/Error.h"

#include <cstring>

using namespace bppsa::runtime;

static void send(Ranks &ranks, int to, const StateArrays &arrays, const char *what) {
  std::string bytes;
  for (const auto &[index, array] : arrays)
    bytes.append(reinterpret_cast<const char *>(array.data.data()), array.data.size());
  ranks.send(to, std::move(bytes), what);
}

static void receive(Ranks &ranks, int from, StateArrays &arrays, const char *what) {
  uint64_t size = 0;
  for (const auto &[index, array] : arrays)
    size += array.data.size();
  std::string bytes(size, '\0');
  ranks.receive(from, bytes.data(), size, what);
  const char *next = bytes.data();
  for (auto &[index, array] : arrays) {
    memcpy(array.data.data(), next, array.data.size());
    next += array.data.size();
  }
}

std::vector<double> TimeShard::runForward(const Batch &batch) {
  segments.restart(batch);
  if (ranks.rank() > 0)
    receive(ranks, ranks.rank() - 1, segments.currentStates(), "states");
  share = &segments.fill(batch, 0);
  if (hasNext()) {
    {
      TraceScope scope(ranks.trace(), TraceEvent::Lane::Computing, "forward");
      segments.run("eval", batch, 0);
    }
    send(ranks, ranks.rank() + 1, segments.currentStates(), "states");
  }
  std::vector<double> weights;
  for (size_t i = 0; i < session.program.model.losses.size(); ++i)
    weights.push_back(segments.weightOf(batch, 0, i));
  return weights;
}

/// Unused cotangents stay zero.
TimeShard::Backward &TimeShard::prepare(const std::string &function) {
  Backward &backward = backwards[share];
  if (backward.function == function)
    return backward;
  const Model &model = session.program.model;
  ViewTable views;
  auto add = [&](StateArrays &arrays, size_t index, const std::string &name, Access access) {
    const Array &input = share->inputs[index];
    Array &array = arrays[index] = {DType::F32, input.shape, Buffer(input.data.size())};
    views[name] = {array.data.data(), array.shape, sizeof(float), access};
  };
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const ArrayInfo &info = model.inputs[i];
    if (info.carried.empty() || info.dtype != DType::F32)
      continue;
    add(backward.finals, i, "cotangent:" + info.carried, Access::Read);
    add(backward.firsts, i, "input_grad:" + info.name, Access::Write);
  }
  backward.call = session.prepare(function, share, views);
  backward.function = function;
  return backward;
}

void TimeShard::receiveCotangents(const std::string &function) {
  Backward &backward = prepare(function);
  if (hasNext())
    receive(ranks, ranks.rank() + 1, backward.finals, "cotangents");
}

void TimeShard::sendCotangents() {
  if (ranks.rank() > 0)
    send(ranks, ranks.rank() - 1, backwards.at(share).firsts, "cotangents");
}

/// Returns the rank if it has time steps.
std::optional<int> ShardMessages::neighbor(int distance) const {
  int other = ranks.rank() + distance;
  return other >= 0 && other < shares ? std::optional<int>(other) : std::nullopt;
}

void ShardMessages::send(int to, const ShardState &state, const char *what) noexcept {
  orExit([&] {
    ranks.send(to, {static_cast<const char *>(state.data), state.bytes}, what, state.channel);
  });
}

void ShardMessages::receive(int from, const ShardState &state, const char *what) noexcept {
  orExit([&] { ranks.receive(from, state.data, state.bytes, what, state.channel); });
}

void ShardMessages::enter(const ShardState &state) noexcept {
  if (std::optional<int> before = neighbor(state.isReverse ? 1 : -1))
    receive(*before, state, "states");
}

void ShardMessages::leave(const ShardState &state) noexcept {
  if (std::optional<int> behind = neighbor(state.isReverse ? -1 : 1))
    send(*behind, state, "states");
}

void ShardMessages::sendCotangent(const ShardState &state) noexcept {
  std::optional<int> before = neighbor(state.isReverse ? 1 : -1);
  if (!before)
    return;
  send(*before, state, "cotangents");
  memset(state.data, 0, state.bytes);
}

void ShardMessages::receiveCotangent(const ShardState &state) noexcept {
  if (std::optional<int> behind = neighbor(state.isReverse ? -1 : 1))
    receive(*behind, state, "cotangents");
  else
    memset(state.data, 0, state.bytes);
}

void ShardMessages::scan(const ShardMap &map) noexcept {
  std::vector<float> whole;
  whole.reserve(map.samples * floatsOfMap(map.size));
  for (int64_t sample = 0; sample < map.samples; ++sample) {
    const float *matrix = map.matrix + sample * map.size * map.size;
    const float *own = map.own + sample * map.size;
    whole.insert(whole.end(), matrix, matrix + map.size * map.size);
    whole.insert(whole.end(), own, own + map.size);
  }
  // Cotangents flow against the direction of the loop.
  orExit([&] { ranks.scan(map.isReverse, whole, map.into, map.samples, map.size, "maps"); });
}
