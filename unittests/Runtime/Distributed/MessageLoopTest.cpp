//===- MessageLoopTest.cpp - The messages of a rank -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "MemoryNetwork.h"
#include "bppsa/Runtime/Call.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

using namespace bppsa::runtime;
using memory::onRanks;

/// Returns the names of the messages that a rank has sent, in order.
static std::vector<std::string> sentBy(Ranks &ranks) {
  auto events = nlohmann::json::parse("[" + ranks.trace().toJson(ranks.rank()) + "]");
  std::vector<std::pair<double, std::string>> sent;
  for (const nlohmann::json &event : events)
    if (event.at("ph") == "X" && event.at("tid") == static_cast<int>(TraceEvent::Lane::Sending))
      sent.emplace_back(event.at("ts").get<double>(), event.at("name").get<std::string>());
  std::sort(sent.begin(), sent.end());
  std::vector<std::string> names;
  for (const auto &[time, name] : sent)
    names.push_back(name);
  return names;
}

TEST(MessageLoop, UrgentMessagesOvertakeOthers) {
  char from[4] = {1, 2, 3, 4}, to[4] = {};
  onRanks(2, {1000, 0}, [&](Ranks &ranks) {
    MessageLoop &loop = ranks.loop();
    if (ranks.rank() == 1) {
      for (int i = 0; i < 4; ++i)
        loop.receive(0, 10 + i, &to[i], 1, [] {});
      return loop.drain();
    }
    // Posts all messages in one call, so that none is sent before the last is queued.
    loop.call([&] {
      const int64_t priorities[] = {7, 5, 5, -1};
      for (int i = 0; i < 4; ++i)
        loop.post(
            {1, 10 + i, &from[i], 1, priorities[i], std::string(1, static_cast<char>('a' + i))});
    });
    loop.drain();
    EXPECT_EQ(sentBy(ranks), (std::vector<std::string>{"d", "b", "c", "a"}));
  });
  EXPECT_TRUE(std::equal(from, from + 4, to));
}

TEST(MessageLoop, AThrottledMessageTakesItsTime) {
  std::vector<char> from(2000, 'x'), to(2000);
  onRanks(2, {100000, 0.05}, [&](Ranks &ranks) {
    double start = now();
    if (ranks.rank() == 0)
      ranks.loop().post({1, 10, from.data(), from.size(), 0, "m"});
    else
      ranks.loop().receive(0, 10, to.data(), to.size(), [&, start] {
        // 20 ms of transmission and 50 ms of latency.
        EXPECT_GE(now() - start, 0.06);
      });
    ranks.loop().drain();
  });
  EXPECT_EQ(to, from);
}

TEST(MessageLoop, DrainingWaitsForAllMessages) {
  std::atomic<int> sent = 0, received = 0;
  std::vector<char> from(50), to(50);
  onRanks(2, {1e5, 0.001}, [&](Ranks &ranks) {
    for (int i = 0; i < 50; ++i)
      if (ranks.rank() == 0)
        ranks.loop().post({1, 10 + i, &from[i], 1, 0, "m", [&] { ++sent; }});
      else
        ranks.loop().receive(0, 10 + i, &to[i], 1, [&] { ++received; });
    ranks.loop().drain();
    EXPECT_EQ(ranks.rank() == 0 ? sent : received, 50);
  });
}

TEST(MessageLoop, ARankThatEndsLeavesNoMessageBehind) {
  int from = 17, to = 0;
  onRanks(3, {1e5, 0.02}, [&](Ranks &ranks) {
    if (ranks.rank() == 2)
      ranks.loop().post({0, 10, &from, sizeof from, 0, "m"});
    if (ranks.rank() == 0)
      ranks.loop().receive(2, 10, &to, sizeof to, [] {});
  });
  EXPECT_EQ(to, 17);
}

TEST(MessageLoopDeathTest, ARankThatFailsEndsAll) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto fail = [] {
    onRanks(3, {}, [](Ranks &ranks) {
      ranks.setErrorHint("nothing was saved");
      ranks.gather("x");
      if (ranks.rank() == 1)
        ranks.loop().fail("no data", 3);
      ranks.gather("y");
    });
  };
  EXPECT_EXIT(fail(), testing::ExitedWithCode(3), "^error: rank 1: no data; nothing was saved\n$");
}

/// Rank 2 does not join the gathering.
TEST(MessageLoopDeathTest, AWaitWithoutProgressEndsAll) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto stall = [] {
    auto body = [](Ranks &ranks) {
      ranks.setPosition("epoch 1, batch 2 (step 2)");
      if (ranks.rank() == 1)
        ranks.gather("x");
      std::this_thread::sleep_for(std::chrono::seconds(20));
    };
    onRanks(3, {}, body, /*stallTimeout=*/0.3);
  };
  EXPECT_EXIT(stall(), testing::ExitedWithCode(1),
              "^error: rank 1: waited 0.3 s for 'numbers' of rank 0, 2 in epoch 1, batch 2 "
              ".step 2., and no message arrived; .*--stall-timeout=0.3\n$");
}

/// Each message restarts the timeout.
TEST(MessageLoop, AWaitWithProgressGoesOn) {
  onRanks(
      2, {},
      [](Ranks &ranks) {
        char byte = 0;
        for (int i = 0; i < 6; ++i)
          if (ranks.rank() == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(400));
            ranks.send(1, "x", "states", i);
          } else {
            ranks.loop().receive(0, /*tag=*/3 + i, &byte, 1, [] {});
          }
        ranks.gather("x");
      },
      /*stallTimeout=*/1.5);
}

TEST(Ranks, GatherTextsOfAnyLength) {
  onRanks(4, {}, [](Ranks &ranks) {
    for (size_t length : {0, 3, 504, 505, 100000}) {
      auto textOf = [&](int rank) { return std::string(length, static_cast<char>('a' + rank)); };
      std::vector<std::string> all = ranks.gather(textOf(ranks.rank()));
      for (int rank = 0; rank < 4; ++rank)
        EXPECT_EQ(all.at(rank), textOf(rank));
    }
  });
}
