//===- Ranks.cpp - The processes of a distributed run ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/Ranks.h"
#include "Tags.h"
#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Distributed/ShardScan.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>
#include <functional>

using namespace bppsa::runtime;

static MessageLoop *errorLoop = nullptr;

Ranks::Ranks(const std::function<Transport *()> &open, Throttle throttle, double stallTimeout,
             bool isTraced)
    : events(isTraced),
      messages(std::make_unique<MessageLoop>(open, throttle, stallTimeout, events)) {
  errorLoop = messages.get();
  setErrorPrinter([](const char *message, int status) { errorLoop->fail(message, status); });
}

Ranks::~Ranks() {
  if (!messages)
    return;
  messages.reset();
  setErrorPrinter(nullptr);
}

namespace {
struct Beginning {
  uint64_t size;
  char bytes[504];
};

} // namespace

struct Ranks::Gathering {
  Gathering(int rank, int count, const char *what)
      : rank(rank), what(what), beginnings(count), all(count), toReceive(count, true),
        toSend(count, true) {
    toReceive[rank] = toSend[rank] = false;
  }

  bool isOver() const {
    return std::count(toReceive.begin(), toReceive.end(), true) == 0 &&
           std::count(toSend.begin(), toSend.end(), true) == 0;
  }
  std::string describeMissing() const {
    std::string from = list(toReceive);
    return from.empty() ? text("rank ", list(toSend), " to receive '", what, "'")
                        : text("'", what, "' of rank ", from);
  }
  /// "0, 2"
  static std::string list(const std::vector<bool> &ranks) {
    std::string numbers;
    for (size_t other = 0; other < ranks.size(); ++other)
      if (ranks[other])
        numbers += text(numbers.empty() ? "" : ", ", other);
    return numbers;
  }

  const int rank;
  const char *what;
  std::vector<Beginning> beginnings;
  std::vector<std::string> all;
  std::vector<bool> toReceive, toSend;
  double begin = now(), end = 0;
};

std::shared_ptr<Ranks::Gathering> Ranks::start(const std::string &own, const char *what) {
  auto gathering = std::make_shared<Gathering>(rank(), count(), what);
  gathering->all[rank()] = own;
  if (isAlone())
    return gathering;
  Beginning &first = gathering->beginnings[rank()];
  first.size = own.size();
  memcpy(first.bytes, own.data(), std::min(own.size(), sizeof first.bytes));
  messages->call([this, gathering] {
    for (int other = 0; other < count(); ++other)
      if (other != rank()) {
        receive(gathering, other);
        send(gathering, other);
      }
  });
  return gathering;
}

void Ranks::receive(const std::shared_ptr<Gathering> &gathering, int other) {
  auto ended = [this, gathering, other] {
    messages->update([&] {
      gathering->toReceive[other] = false;
      gathering->end = now();
    });
  };
  Beginning &from = gathering->beginnings[other];
  messages->receive(other, tags::kGather, &from, sizeof from, [this, gathering, other, ended] {
    const Beginning &from = gathering->beginnings[other];
    std::string &all = gathering->all[other];
    all.assign(from.bytes, std::min<uint64_t>(from.size, sizeof from.bytes));
    if (from.size == all.size())
      return ended();
    size_t has = all.size();
    all.resize(from.size);
    messages->receive(other, tags::kGatherTail, all.data() + has, from.size - has, ended);
  });
}

void Ranks::send(const std::shared_ptr<Gathering> &gathering, int other) {
  std::function<void()> ended = [this, gathering, other] {
    messages->update([&] {
      gathering->toSend[other] = false;
      gathering->end = now();
    });
  };
  const Beginning &first = gathering->beginnings[rank()];
  const std::string &whole = gathering->all[rank()];
  size_t fits = std::min(whole.size(), sizeof first.bytes);
  bool isWhole = fits == whole.size();
  messages->post({other, tags::kGather, &first, sizeof first, kFirstPriority, gathering->what,
                  isWhole ? ended : std::function<void()>([] {})});
  if (!isWhole)
    messages->post({other, tags::kGatherTail, whole.data() + fits, whole.size() - fits,
                    kFirstPriority, gathering->what, ended});
}

std::vector<std::string> Ranks::finish(Gathering &gathering) {
  if (!isAlone())
    messages->wait(
        gathering.what, [&] { return gathering.isOver(); },
        [&] { return gathering.describeMissing(); });
  return std::move(gathering.all);
}

std::vector<std::string> Ranks::gather(const std::string &own, const char *what) {
  return finish(*start(own, what));
}

std::vector<std::vector<double>> Ranks::gather(const std::vector<double> &own, const char *what) {
  return finishGather(*startGather(own, what));
}

std::vector<double> Ranks::sum(const std::vector<double> &own, const char *what) {
  std::vector<double> sums(own.size());
  for (const std::vector<double> &part : gather(own, what))
    std::transform(sums.begin(), sums.end(), part.begin(), sums.begin(), std::plus<>());
  return sums;
}

std::shared_ptr<Ranks::Gathering> Ranks::startGather(const std::vector<double> &own,
                                                     const char *what) {
  return start({reinterpret_cast<const char *>(own.data()), own.size() * sizeof(double)}, what);
}

std::vector<std::vector<double>> Ranks::finishGather(Gathering &gathering) {
  std::vector<std::vector<double>> all;
  for (const std::string &text : finish(gathering)) {
    all.emplace_back(text.size() / sizeof(double));
    memcpy(all.back().data(), text.data(), text.size());
  }
  return all;
}

std::optional<double> Ranks::secondsOf(const Gathering &gathering) {
  if (isAlone())
    return 0;
  std::optional<double> seconds;
  messages->update([&] {
    if (gathering.isOver())
      seconds = gathering.end - gathering.begin;
  });
  return seconds;
}

void Ranks::send(int to, std::string bytes, const char *what, int64_t channel) {
  auto owned = std::make_shared<std::string>(std::move(bytes));
  messages->post(
      {to, tags::state(channel), owned->data(), owned->size(), kFirstPriority, what, [owned] {}});
}

void Ranks::receive(int from, void *data, uint64_t bytes, const char *what, int64_t channel) {
  auto isThere = std::make_shared<bool>(false);
  messages->receive(from, tags::state(channel), data, bytes,
                    [this, isThere] { messages->update([&] { *isThere = true; }); });
  messages->wait(
      what, [&] { return *isThere; }, [&] { return text("'", what, "' of rank ", from); });
}

void Ranks::prepareScans(int members) {
  // Transport::prepareScans() blocks the message thread, which then cannot receive errors, so
  // synchronize first.
  gather(std::string(), "scans");
  messages->prepareScans(members);
}

void Ranks::scan(bool fromFirst, const std::vector<float> &own, float *offsets, int64_t samples,
                 int64_t size, const char *what) {
  std::vector<float> before(own.size());
  auto isThere = std::make_shared<bool>(false);
  messages->scan(fromFirst, own.data(), before.data(), samples, size,
                 [this, isThere] { messages->update([&] { *isThere = true; }); });
  messages->wait(
      what, [&] { return *isThere; }, [&] { return text("the scan of '", what, "' over ranks"); });
  for (int64_t sample = 0; sample < samples; ++sample)
    std::copy_n(&before[sample * floatsOfMap(size) + size * size], size, offsets + sample * size);
}

Share bppsa::runtime::shareOf(int64_t size, int rank, int count) {
  auto begin = [&](int64_t number) { return (size * number + count - 1) / count; };
  return {begin(rank), begin(rank + 1)};
}
