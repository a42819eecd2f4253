//===- Ranks.cpp - Processes that work together ---------------------------------===//
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

using namespace bppsa::runtime;

/// Where errors of this process go while there are several ranks.
static MessageLoop *errorLoop = nullptr;

Ranks::Ranks(const std::function<Transport *()> &open, Throttle throttle, bool isTraced)
    : events(isTraced), messages(std::make_unique<MessageLoop>(open, throttle, events)) {
  errorLoop = messages.get();
  setErrorPrinter([](const char *message, int status) { errorLoop->fail(message, status); });
}

Ranks::~Ranks() {
  if (!messages)
    return;
  messages.reset();
  setErrorPrinter(nullptr);
}

//===----------------------------------------------------------------------===//
// Gathering
//===----------------------------------------------------------------------===//

namespace {
/// The beginning of what a rank gives, and how long the whole is.
struct Beginning {
  uint64_t size;
  char bytes[504];
};

} // namespace

/// A gathering that goes on.
struct Ranks::Gathering {
  Gathering(int count, const char *what)
      : what(what), beginnings(count), all(count), missing(2 * (count - 1)) {}

  const char *what;
  std::vector<Beginning> beginnings;
  std::vector<std::string> all;
  /// Messages that have not ended.
  int missing;
  /// When it began, and when the last message came to its end.
  double begin = now(), end = 0;
};

std::shared_ptr<Ranks::Gathering> Ranks::start(const std::string &own, const char *what) {
  auto gathering = std::make_shared<Gathering>(count(), what);
  if (isAlone()) {
    gathering->all[0] = own;
    return gathering;
  }
  Beginning &first = gathering->beginnings[rank()];
  first.size = own.size();
  size_t fits = std::min(own.size(), sizeof first.bytes);
  memcpy(first.bytes, own.data(), fits);
  gathering->all[rank()] = own;
  std::function<void()> ended = [this, gathering] {
    messages->update([&] {
      --gathering->missing;
      gathering->end = now();
    });
  };
  const std::string &whole = gathering->all[rank()];
  for (int other = 0; other < count(); ++other) {
    if (other == rank())
      continue;
    Beginning &from = gathering->beginnings[other];
    messages->receive(other, tags::gather, &from, sizeof from, [this, gathering, other, ended] {
      const Beginning &from = gathering->beginnings[other];
      std::string &all = gathering->all[other];
      all.assign(from.bytes, std::min<uint64_t>(from.size, sizeof from.bytes));
      if (from.size == all.size())
        return ended();
      size_t has = all.size();
      all.resize(from.size);
      messages->receive(other, tags::gatherRest, all.data() + has, from.size - has, ended);
    });
    bool isWhole = fits == own.size();
    messages->post({other, tags::gather, &first, sizeof first, firstPriority, what,
                    isWhole ? ended : std::function<void()>([] {})});
    if (!isWhole)
      messages->post({other, tags::gatherRest, whole.data() + fits, own.size() - fits,
                      firstPriority, what, ended});
  }
  return gathering;
}

std::vector<std::string> Ranks::finish(Gathering &gathering) {
  if (!isAlone())
    messages->wait(gathering.what, [&] { return gathering.missing == 0; });
  return std::move(gathering.all);
}

std::vector<std::string> Ranks::gather(const std::string &own, const char *what) {
  return finish(*start(own, what));
}

std::vector<std::vector<double>> Ranks::gather(const std::vector<double> &own, const char *what) {
  return finishGather(*startGather(own, what));
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
    if (gathering.missing == 0)
      seconds = gathering.end - gathering.begin;
  });
  return seconds;
}

//===----------------------------------------------------------------------===//
// Messages to one rank
//===----------------------------------------------------------------------===//

void Ranks::send(int to, std::string bytes, const char *what, int64_t channel) {
  auto owned = std::make_shared<std::string>(std::move(bytes));
  messages->post(
      {to, tags::state(channel), owned->data(), owned->size(), firstPriority, what, [owned] {}});
}

void Ranks::receive(int from, void *data, uint64_t bytes, const char *what, int64_t channel) {
  auto isThere = std::make_shared<bool>(false);
  messages->receive(from, tags::state(channel), data, bytes,
                    [this, isThere] { messages->update([&] { *isThere = true; }); });
  messages->wait(what, [&] { return *isThere; });
}

void Ranks::prepareScans(int members) {
  // The thread of the messages hears of no error while it waits there: all ranks come this far.
  gather(std::string(), "scans");
  messages->prepareScans(members);
}

void Ranks::scan(bool fromFirst, const std::vector<float> &own, float *offsets, int64_t samples,
                 int64_t size, const char *what) {
  std::vector<float> before(own.size());
  auto isThere = std::make_shared<bool>(false);
  messages->scan(fromFirst, own.data(), before.data(), samples, size,
                 [this, isThere] { messages->update([&] { *isThere = true; }); });
  messages->wait(what, [&] { return *isThere; });
  for (int64_t sample = 0; sample < samples; ++sample)
    std::copy_n(&before[sample * floatsOfMap(size) + size * size], size, offsets + sample * size);
}

Share bppsa::runtime::shareOf(int64_t size, int rank, int count) {
  auto begin = [&](int64_t number) { return (size * number + count - 1) / count; };
  return {begin(rank), begin(rank + 1)};
}
