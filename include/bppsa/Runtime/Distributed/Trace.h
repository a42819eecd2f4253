//===- Trace.h - Timeline of a rank ---------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISTRIBUTED_TRACE_H
#define BPPSA_RUNTIME_DISTRIBUTED_TRACE_H

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace bppsa::runtime {

struct TraceEvent {
  enum class Lane { Computing, Sending, Waiting };
  Lane lane;
  std::string name;
  double start, end;
  /// For messages: the receiver (otherwise -1), the priority, and when the message was ready.
  int to = -1;
  int64_t priority = 0;
  double ready = 0;
};

/// Thread-safe.
class Trace {
public:
  explicit Trace(bool isKept) : isKept(isKept) {}

  void add(TraceEvent event);
  void addSeconds(std::string name, double seconds);
  /// Formats entries of the Chrome trace format, in system clock time.
  std::string toJson(int rank) const;

private:
  bool isKept;
  mutable std::mutex mutex;
  std::vector<TraceEvent> events;
  std::vector<std::pair<std::string, double>> numbers;
};

class TraceScope {
public:
  TraceScope(Trace &trace, TraceEvent::Lane lane, std::string name);
  ~TraceScope();
  TraceScope(const TraceScope &) = delete;

private:
  Trace &trace;
  TraceEvent event;
};

void writeTrace(const std::string &path, const std::vector<std::string> &ranks);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_TRACE_H
