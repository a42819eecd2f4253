//===- RankFailures.cpp - Propagation of failures between ranks -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"
#include "Tags.h"
#include "bppsa/Runtime/Distributed/MessageLoop.h"
#include "bppsa/Runtime/Error.h"

#include <chrono>
#include <cstdio>

using namespace bppsa::runtime;

static constexpr auto kPatience = std::chrono::seconds(5);

void MessageLoop::listen() {
  if (ownRank != 0)
    return;
  farewells.resize(ranks);
  awaitedFarewells = ranks - 1;
  for (int rank = 1; rank < ranks; ++rank)
    transport->receive(rank, tags::kFarewell, &farewells[rank], sizeof(Farewell), [this, rank] {
      --awaitedFarewells;
      hear(rank);
    });
}

void MessageLoop::hear(int rank) {
  Farewell &farewell = farewells[rank];
  if (farewell.status == 0)
    return;
  farewell.message[sizeof farewell.message - 1] = 0;
  print(rank, farewell.message);
  transport->abort(farewell.status);
}

/// Does nothing after an error that ends all ranks.
void MessageLoop::print(int rank, const std::string &message) {
  std::lock_guard lock(mutex);
  if (std::exchange(hasPrinted, true))
    return;
  std::string after = rank == ownRank || remedy.empty() ? "" : "; " + remedy;
  fprintf(stderr, "error: rank %d: %s%s\n", rank, message.c_str(), after.c_str());
}

void MessageLoop::fail(const std::string &message, int status) {
  if (ownRank == 0) {
    print(0, message);
    call([=] { transport->abort(status); });
    std::this_thread::sleep_for(kPatience);
    _exit(status);
  }
  call([=] {
    farewells.resize(1);
    farewells[0].status = status;
    snprintf(farewells[0].message, sizeof farewells[0].message, "%s", message.c_str());
    hand({0, tags::kFarewell, farewells.data(), sizeof(Farewell), kFirstPriority, ""}, [] {});
  });
  // Rank 0 does not respond. Stagger exits, because the first one ends the others.
  std::this_thread::sleep_for(kPatience + std::min(ownRank - 1, 5) * std::chrono::seconds(2));
  // A signal means that another rank has ended this one.
  if (notedInterrupt() == 0)
    print(ownRank, message);
  _exit(status);
}

void MessageLoop::failStalled(const std::string &missing, const std::string &where) {
  std::string in = where.empty() ? "" : " in " + where;
  std::string left;
  if (ownRank == 0) {
    std::lock_guard lock(mutex);
    left = remedy.empty() ? "" : "; " + remedy;
  }
  fail(text("waited ", stallTimeout, " s for ", missing, in,
            ", and no message arrived; a rank has stopped, or computes for longer than "
            "--stall-timeout=",
            stallTimeout, left),
       1);
}
