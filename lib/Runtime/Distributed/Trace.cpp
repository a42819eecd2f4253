//===- Trace.cpp - Timeline of a rank -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/Trace.h"
#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Files/AtomicFile.h"

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

using namespace bppsa::runtime;
using nlohmann::ordered_json;

static const char *const laneNames[] = {"computing", "sending", "waiting"};

void Trace::add(TraceEvent event) {
  if (!isKept)
    return;
  std::lock_guard lock(mutex);
  events.push_back(std::move(event));
}

void Trace::addSeconds(std::string name, double seconds) {
  if (!isKept)
    return;
  std::lock_guard lock(mutex);
  numbers.emplace_back(std::move(name), seconds);
}

std::string Trace::toJson(int rank) const {
  using namespace std::chrono;
  std::lock_guard lock(mutex);
  // Unlike now(), system clocks are comparable between processes.
  double offset = duration<double>(system_clock::now().time_since_epoch()).count() - now();
  auto micros = [&](double seconds) { return (seconds + offset) * 1e6; };
  ordered_json list = ordered_json::array();
  auto name = [&](const char *what, int lane, const std::string &text) {
    list.push_back(
        {{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", lane}, {"args", {{"name", text}}}});
  };
  name("process_name", 0, "rank " + std::to_string(rank));
  for (int lane = 0; lane < 3; ++lane)
    name("thread_name", lane, laneNames[lane]);
  for (const TraceEvent &event : events) {
    ordered_json entry = {{"ph", "X"},
                          {"name", event.name},
                          {"pid", rank},
                          {"tid", static_cast<int>(event.lane)},
                          {"ts", micros(event.start)},
                          {"dur", (event.end - event.start) * 1e6}};
    if (event.to >= 0)
      entry["args"] = {
          {"to", event.to}, {"priority", event.priority}, {"ready", micros(event.ready)}};
    list.push_back(std::move(entry));
  }
  for (const auto &[what, seconds] : numbers)
    list.push_back({{"ph", "C"},
                    {"name", what},
                    {"pid", rank},
                    {"ts", micros(now())},
                    {"args", {{"seconds", seconds}}}});
  std::string text = list.dump();
  return text.substr(1, text.size() - 2);
}

TraceScope::TraceScope(Trace &trace, TraceEvent::Lane lane, std::string name)
    : trace(trace), event{lane, std::move(name), now(), 0} {}

TraceScope::~TraceScope() {
  event.end = now();
  trace.add(std::move(event));
}

void bppsa::runtime::writeTrace(const std::string &path, const std::vector<std::string> &ranks) {
  AtomicFile file(path);
  const char *separator = "{\"traceEvents\":[\n";
  for (const std::string &events : ranks) {
    file.write(separator, strlen(separator));
    file.write(events.data(), events.size());
    separator = ",\n";
  }
  file.write("]}\n", 3);
  file.commit();
}
