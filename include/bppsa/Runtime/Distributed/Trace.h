//===- Trace.h - What ranks did when --------------------------------------------===//
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

/// Something that a rank did, in seconds of now().
struct TraceEvent {
  enum class Lane { Computing, Sending, Waiting };
  Lane lane;
  std::string name;
  double start, end;
  /// Of a message: its receiver, its priority, and when it was ready to be sent; else to = -1.
  int to = -1;
  int64_t priority = 0;
  double ready = 0;
};

/// The events of this rank, for the file of --trace. Safe to use from several threads.
class Trace {
public:
  /// Without a file nothing is kept.
  explicit Trace(bool isKept) : isKept(isKept) {}

  void add(TraceEvent event);
  /// A number of seconds, beside the events.
  void addSeconds(std::string name, double seconds);
  /// The events of rank `rank` in the Chrome trace format, with commas between them; times are
  /// those of the system's clock.
  std::string toJson(int rank) const;

private:
  bool isKept;
  mutable std::mutex mutex;
  std::vector<TraceEvent> events;
  std::vector<std::pair<std::string, double>> numbers;
};

/// Adds what happens while it lives.
class TraceScope {
public:
  TraceScope(Trace &trace, TraceEvent::Lane lane, std::string name);
  ~TraceScope();
  TraceScope(const TraceScope &) = delete;

private:
  Trace &trace;
  TraceEvent event;
};

/// Writes the events of all ranks, each as toJson() gives them.
void writeTrace(const std::string &path, const std::vector<std::string> &ranks);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISTRIBUTED_TRACE_H
