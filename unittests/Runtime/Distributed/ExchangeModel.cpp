//===- ExchangeModel.cpp - Model checker of the gradient exchange ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ExchangeModel.h"

#include <random>
#include <unordered_set>

using namespace exchange_model;

std::vector<Op> exchange_model::makeScript(const RunShape &shape) {
  std::vector<Op> ops;
  auto forAll = [&](Op::Kind kind, bool isReversed = false) {
    for (int i = 0; i < shape.slices; ++i)
      ops.push_back({kind, isReversed ? shape.slices - 1 - i : i});
  };
  for (int batch = 0; batch < shape.batches; ++batch) {
    ops.push_back({Op::Kind::StartStep});
    bool isLastOfEpoch = shape.endsEpochs || batch + 1 == shape.batches;
    if (shape.overlaps && batch > 0 && !shape.endsEpochs)
      forAll(Op::Kind::Take);
    forAll(Op::Kind::Give, /*isReversed=*/true);
    ops.push_back({Op::Kind::StartGather});
    ops.push_back({Op::Kind::FinishGather});
    if (!shape.overlaps || isLastOfEpoch)
      forAll(Op::Kind::Take);
  }
  return ops;
}

//===----------------------------------------------------------------------===//
// Training threads
//===----------------------------------------------------------------------===//

bool World::hasGathered(int number) const {
  const Rank &rank = ranks[number];
  for (int other = 0; other < shape->ranks; ++other)
    if (other != number &&
        (channels[channelOf(number, other, MessageKind::Gather, 0)].sent < rank.gathers ||
         channels[channelOf(other, number, MessageKind::Gather, 0)].received < rank.gathers))
      return false;
  return true;
}

/// Returns true if the training thread is not blocked.
bool World::canRun(int number) const {
  const Rank &rank = ranks[number];
  if (rank.nextOp == script->size())
    return false;
  Op op = (*script)[rank.nextOp];
  switch (op.kind) {
  case Op::Kind::Give:
    return rank.pushed[op.slice] == rank.contributed[op.slice];
  case Op::Kind::Take:
    return rank.summed[op.slice] == rank.contributed[op.slice];
  case Op::Kind::FinishGather:
    return hasGathered(number);
  default:
    return true;
  }
}

void World::runOp(int number) {
  Rank &rank = ranks[number];
  Op op = (*script)[rank.nextOp++];
  switch (op.kind) {
  case Op::Kind::Give:
    require(rank.summed[op.slice] == rank.contributed[op.slice],
            "a gradient is written before its last sum is there");
    ++rank.contributed[op.slice];
    return rank.given.push_back({Task::Kind::Push, op.slice});
  case Op::Kind::StartGather:
    ++rank.gathers;
    return rank.given.push_back({Task::Kind::Gather});
  case Op::Kind::StartStep:
    if (shape->faults.receivesWithStep)
      rank.given.push_back({Task::Kind::StartStep});
    return;
  case Op::Kind::Take:
  case Op::Kind::FinishGather:
    return;
  }
}

//===----------------------------------------------------------------------===//
// Message threads
//===----------------------------------------------------------------------===//

void World::perform(int number, const SliceProtocol::Actions &actions) {
  for (const SliceProtocol::Action &action : actions) {
    auto kind = action.kind == SliceProtocol::Action::Kind::ReceivePushes
                    ? Task::Kind::ReceivePushes
                : action.kind == SliceProtocol::Action::Kind::AddUp ? Task::Kind::AddUp
                                                                    : Task::Kind::SendSums;
    ranks[number].work.push_back({kind, static_cast<int>(action.slice) * shape->ranks + number});
  }
}

void World::receivePushes(int number, int slice) {
  Rank &rank = ranks[number];
  if (shape->faults.receivesWithStep &&
      (rank.wanted[slice] == rank.collecting[slice] || rank.collecting[slice] == rank.steps))
    return;
  ++rank.collecting[slice];
  forOthers(number, [&](int other) { ++find(other, number, MessageKind::Push, slice).receives; });
}

void World::runTask(int number, Task task) {
  Rank &rank = ranks[number];
  int slice = task.slice, owner = shape->ownerOf(slice);
  switch (task.kind) {
  case Task::Kind::Begin:
    return perform(number, rank.protocol.begin());
  case Task::Kind::Push:
    if (owner == number) {
      ++rank.pushed[slice];
      return perform(number, rank.protocol.ownGiven(ownedNumber(slice)));
    }
    ++find(owner, number, MessageKind::Sum, slice).receives;
    return rank.queue.post(shape->priorityOf(slice, /*isSum=*/false),
                           {owner, MessageKind::Push, slice});
  case Task::Kind::Gather:
    return forOthers(number, [&](int other) {
      ++find(other, number, MessageKind::Gather, 0).receives;
      Message message = {other, MessageKind::Gather, 0};
      if (shape->faults.gathersInTurn)
        rank.queue.post(/*priority=*/-1, message);
      else
        handToNetwork(number, message);
    });
  case Task::Kind::ReceivePushes:
    ++rank.wanted[slice];
    return receivePushes(number, slice);
  case Task::Kind::AddUp:
    forOthers(number, [&](int other) {
      const Channel &sums = find(number, other, MessageKind::Sum, slice);
      require(sums.sent == sums.sends, "a sum is overwritten while it is sent");
    });
    ++rank.summed[slice];
    return;
  case Task::Kind::SendSums:
    if (shape->faults.postsBehindOthers)
      return rank.given.push_back({Task::Kind::PostSums, slice});
    [[fallthrough]];
  case Task::Kind::PostSums:
    return forOthers(number, [&](int other) {
      rank.queue.post(shape->priorityOf(slice, /*isSum=*/true), {other, MessageKind::Sum, slice});
    });
  case Task::Kind::StartStep:
    ++rank.steps;
    for (int own = number; own < shape->slices; own += shape->ranks)
      receivePushes(number, own);
    return;
  }
}

//===----------------------------------------------------------------------===//
// The network
//===----------------------------------------------------------------------===//

void World::handToNetwork(int number, const Message &message) {
  Channel &channel = find(number, message.to, message.kind, message.slice);
  ++channel.sends;
  // The rule of SendQueue. Only before the first step may the receiver be late.
  if (message.kind != MessageKind::Gather && shape->faults.areNone())
    require(channel.receives >= channel.sends || channel.sends == 1,
            "a message takes its turn before it can be received");
}

void World::endSend(int number, const Message &message) {
  Rank &rank = ranks[number];
  ++find(number, message.to, message.kind, message.slice).sent;
  if (message.kind != MessageKind::Gather || shape->faults.gathersInTurn)
    rank.queue.noteSent();
  if (message.kind == MessageKind::Push)
    ++rank.pushed[message.slice];
  if (message.kind == MessageKind::Sum)
    perform(number, rank.protocol.sumSent(ownedNumber(message.slice)));
}

void World::endReceive(int number, int from, const Message &message) {
  Rank &rank = ranks[number];
  ++find(from, number, message.kind, message.slice).received;
  if (message.kind == MessageKind::Push)
    perform(number, rank.protocol.pushArrived(ownedNumber(message.slice)));
  if (message.kind == MessageKind::Sum)
    ++rank.summed[message.slice];
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

std::vector<World::Choice> World::choices() const {
  std::vector<Choice> all;
  for (int number = 0; number < shape->ranks; ++number) {
    const Rank &rank = ranks[number];
    if (canRun(number))
      all.push_back({Choice::Kind::Op, number});
    if (!rank.work.empty()) {
      // The message thread completes a task before it starts another.
      all.push_back({Choice::Kind::Work, number});
      continue;
    }
    if (!rank.given.empty())
      all.push_back({Choice::Kind::Given, number});
    if (rank.queue.canSend())
      all.push_back({Choice::Kind::Send, number});
  }
  for (int channel = 0; channel < static_cast<int>(channels.size()); ++channel) {
    int to = messageOf(channel).to, from = senderOf(channel);
    if (channels[channel].sent < channels[channel].matched() && ranks[from].work.empty())
      all.push_back({Choice::Kind::EndSend, from, channel});
    if (channels[channel].received < channels[channel].matched() && ranks[to].work.empty())
      all.push_back({Choice::Kind::EndReceive, to, channel});
  }
  return all;
}

bool World::isIndependent(Choice choice) const {
  const Faults &faults = shape->faults;
  Message message = messageOf(choice.channel);
  switch (choice.kind) {
  case Choice::Kind::Op:
    // Appends a task to the queue of the message thread.
    return !faults.postsBehindOthers;
  case Choice::Kind::Work:
    // The message thread can only continue this task.
    return !faults.postsBehindOthers;
  case Choice::Kind::EndSend:
    // The end of a push only makes room for other messages in flight. The end of a sum may also
    // start the next one.
    return message.kind != MessageKind::Sum;
  case Choice::Kind::EndReceive:
    return message.kind != MessageKind::Push;
  case Choice::Kind::Given:
  case Choice::Kind::Send:
    // The choice of the next message depends on their order.
    return false;
  }
  return false;
}

void World::take(Choice choice) {
  Rank &rank = ranks[choice.rank];
  auto takeFirst = [](std::deque<Task> &tasks) {
    Task task = tasks.front();
    tasks.pop_front();
    return task;
  };
  switch (choice.kind) {
  case Choice::Kind::Op:
    return runOp(choice.rank);
  case Choice::Kind::Given:
    return runTask(choice.rank, takeFirst(rank.given));
  case Choice::Kind::Work:
    return runTask(choice.rank, takeFirst(rank.work));
  case Choice::Kind::Send:
    return handToNetwork(choice.rank, rank.queue.send());
  case Choice::Kind::EndSend:
    return endSend(choice.rank, messageOf(choice.channel));
  case Choice::Kind::EndReceive:
    return endReceive(choice.rank, senderOf(choice.channel), messageOf(choice.channel));
  }
}

bool World::isOver() const {
  for (int number = 0; number < shape->ranks; ++number) {
    const Rank &rank = ranks[number];
    if (rank.nextOp < script->size() || !rank.given.empty() || !rank.work.empty() ||
        !rank.queue.isEmpty() || rank.queue.countInFlight() > 0)
      return false;
  }
  return true;
}

std::string World::key() const {
  std::string key;
  auto add = [&](int64_t number) { key.push_back(static_cast<char>(number)); };
  auto addTasks = [&](const std::deque<Task> &tasks) {
    add(static_cast<int64_t>(tasks.size()));
    for (Task task : tasks)
      add(static_cast<int>(task.kind) * 16 + task.slice);
  };
  for (const Rank &rank : ranks) {
    add(static_cast<int64_t>(rank.nextOp));
    addTasks(rank.given);
    addTasks(rank.work);
    for (int number : rank.protocol.describe())
      add(number);
    add(rank.queue.countInFlight());
    rank.queue.forEachWaiting([&](const Message &message) {
      add(message.to * 64 + static_cast<int>(message.kind) * 16 + message.slice + 1);
    });
    add(0);
    add(rank.steps);
    for (const std::vector<uint8_t> *counters :
         {&rank.pushed, &rank.summed, &rank.wanted, &rank.collecting})
      for (uint8_t counter : *counters)
        add(counter);
  }
  for (const Channel &channel : channels)
    for (uint8_t counter : {channel.sends, channel.receives, channel.sent, channel.received})
      add(counter);
  return key;
}

Result exchange_model::exploreAll(const RunShape &shape, bool isReduced) {
  std::vector<Op> script = makeScript(shape);
  Result result;
  std::unordered_set<std::string> seen;
  std::vector<World> open = {World(shape, script)};
  while (!open.empty()) {
    World world = std::move(open.back());
    open.pop_back();
    std::vector<World::Choice> choices = world.choices();
    if (choices.empty() && !world.isOver())
      result.failure = "deadlock";
    auto independent = std::find_if(choices.begin(), choices.end(), [&](World::Choice choice) {
      return isReduced && world.isIndependent(choice);
    });
    if (independent != choices.end())
      choices = {*independent};
    for (World::Choice choice : choices) {
      World next = world;
      next.take(choice);
      if (!next.violation.empty())
        result.failure = next.violation;
      if (seen.insert(next.key()).second)
        open.push_back(std::move(next));
    }
    result.states = seen.size();
    if (!result.failure.empty())
      break;
  }
  return result;
}

Result exchange_model::exploreOne(const RunShape &shape, unsigned seed) {
  std::vector<Op> script = makeScript(shape);
  World world(shape, script);
  std::mt19937 random(seed);
  Result result;
  for (auto choices = world.choices(); !choices.empty(); choices = world.choices()) {
    world.take(choices[random() % choices.size()]);
    ++result.states;
    if (!world.violation.empty())
      return {result.states, world.violation};
  }
  if (!world.isOver())
    result.failure = "deadlock";
  return result;
}
