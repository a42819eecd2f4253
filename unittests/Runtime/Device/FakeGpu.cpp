//===- FakeGpu.cpp - A GPU in host memory ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "FakeGpu.h"
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <vector>

using namespace fake;

std::string fake::setting(const char *name, const char *fallback) {
  const char *value = getenv(name);
  return value ? value : fallback;
}

void Gpu::protect(int protection) {
  for (auto [address, size] : blocks)
    mprotect(pointer(address), size, protection);
}

bool Gpu::step(Stream &stream) {
  if (stream.empty() || !stream.front().canRun())
    return false;
  Operation next = std::move(stream.front());
  stream.pop_front();
  if (sticky == 0 && next.work)
    next.work();
  return true;
}

bool Gpu::stepOthers(const Stream &stream) {
  for (Stream &other : streams)
    if (&other != &stream && step(other))
      return true;
  return false;
}

Result Gpu::runUntil(Stream &stream, const std::function<bool()> &stop) {
  protect(PROT_READ | PROT_WRITE);
  bool early = setting("FAKE_CUDA_STREAMS") == "early";
  while (!stop()) {
    while (early && stepOthers(stream))
      continue;
    if (!step(stream) && !stepOthers(stream))
      break;
  }
  protect(PROT_NONE);
  return sticky;
}

Result Gpu::runAll() {
  for (Stream &stream : streams)
    runUntil(stream, [&] { return stream.empty(); });
  return sticky;
}

void Gpu::begin() {
  if (setting("FAKE_CUDA_STREAMS") != "early")
    return;
  protect(PROT_READ | PROT_WRITE);
  while (stepOthers(streams.front()))
    continue;
  protect(PROT_NONE);
}

Gpu &fake::gpu() {
  static Gpu instance;
  return instance;
}

void fake::log(const std::string &line) {
  std::string path = setting("FAKE_CUDA_LOG");
  if (path.empty())
    return;
  FILE *file = fopen(path.c_str(), "a");
  fprintf(file, "%s\n", line.c_str());
  fclose(file);
}

Result fake::begin(const char *entry) {
  std::string fail = setting("FAKE_CUDA_FAIL"), prefix = std::string(entry) + ":";
  if (fail.compare(0, prefix.size(), prefix) == 0)
    return std::stoi(fail.substr(prefix.size()));
  return gpu().sticky;
}

Result fake::enqueue(const char *entry, Stream *stream, Operation operation) {
  Result result = begin(entry);
  if (result == 0) {
    stream->push_back(std::move(operation));
    gpu().begin();
  }
  return result;
}

bool fake::canRun(const KernelParameters &p) {
  return p.gridX > 0 && p.gridY > 0 && p.gridZ > 0 && p.blockX * p.blockY * p.blockZ <= 1024;
}

std::function<void()> fake::workOf(const KernelParameters &parameters) {
  Kernel kernel = *parameters.function;
  std::vector<uint64_t> values;
  for (size_t i = 0; i < kernel.arguments; ++i)
    values.push_back(*static_cast<uint64_t *>(parameters.arguments[i]));
  int64_t threads = int64_t(parameters.gridX) * parameters.blockX;
  return [=]() mutable {
    if (kernel.name == setting("FAKE_CUDA_FAULT"))
      gpu().sticky = illegalAddress;
    if (gpu().sticky != 0)
      return;
    std::vector<void *> addresses;
    for (uint64_t &value : values)
      addresses.push_back(&value);
    for (int64_t thread = 0; thread < threads; ++thread)
      kernel.body(addresses.data(), thread);
  };
}
