//===- CudaDeviceTest.cpp - The CUDA device on the fake driver ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The fake driver executes work only when the host waits, and denies the host access to device
// memory.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Device/DeviceMirror.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Session.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>

using namespace bppsa::runtime;

namespace {
class CudaDeviceTest : public testing::Test {
protected:
  static void SetUpTestSuite() { setenv("BPPSA_CUDA_DRIVER", FAKE_CUDA_DRIVER, 1); }

  Device &device = *programDevice();
};
} // namespace

static std::vector<int> numbers(size_t count, int first) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Returns the message of the Error that `action` throws.
template <typename Action> static std::string errorOf(Action &&action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST_F(CudaDeviceTest, IsTheOneOfTheProgram) {
  EXPECT_TRUE(isDeviceProgram());
  EXPECT_FALSE(isEmulatedProgram());
  EXPECT_EQ(device.description(), "Fake GPU (sm_90)");
}

TEST_F(CudaDeviceTest, CopiesLastUntilTheyAreDone) {
  // From empty copies to several times the size of the page-locked memory.
  for (size_t count : {0u, 1u, 1000u, 3u << 20, 7000001u}) {
    std::vector<int> source = numbers(count, 7), found(count);
    void *memory = device.allocate(count * sizeof(int));
    device.copyToDevice(memory, source.data(), count * sizeof(int));
    std::fill(source.begin(), source.end(), 0);
    device.copyToHost(found.data(), memory, count * sizeof(int));
    device.synchronize();
    EXPECT_EQ(found, numbers(count, 7));
    device.release(memory);
  }
}

TEST_F(CudaDeviceTest, ManySmallCopiesStayInOrder) {
  constexpr int rounds = 5000;
  void *memory = device.allocate(4000);
  std::vector<std::vector<int>> found(rounds, std::vector<int>(1000));
  for (int i = 0; i < rounds; ++i) {
    device.copyToDevice(memory, numbers(1000, i).data(), 4000);
    device.copyToHost(found[i].data(), memory, 4000);
  }
  device.synchronize();
  for (int i = 0; i < rounds; ++i)
    ASSERT_EQ(found[i], numbers(1000, i));
  device.release(memory);
}

TEST_F(CudaDeviceTest, Fills) {
  std::vector<int> found(100);
  void *memory = device.allocate(400);
  device.fill(memory, 0x11, 400);
  device.copyToHost(found.data(), memory, 400);
  device.synchronize();
  EXPECT_EQ(found, std::vector<int>(100, 0x11111111));
  device.release(memory);
}

TEST_F(CudaDeviceTest, CountsBytesInUse) {
  uint64_t before = device.liveBytes();
  device.resetPeakBytes();
  void *a = device.allocate(1000), *b = device.allocate(5000000);
  EXPECT_EQ(device.liveBytes(), before + 5001000);
  device.release(a);
  device.release(b);
  device.release(nullptr);
  EXPECT_EQ(device.liveBytes(), before);
  EXPECT_EQ(device.peakBytes(), before + 5001000);
  EXPECT_THROW(device.release(a), Error);
}

TEST_F(CudaDeviceTest, LaunchesInOrderWithCopiedArguments) {
  // Arguments of sum_of_squares(g, sum, count).
  std::vector<float> g = {1, 2, 3};
  void *values = device.allocate(12), *sum = device.allocate(8);
  int64_t kernel = 6, count = 3;
  double found[2] = {};
  device.copyToDevice(values, g.data(), 12);
  for (double &result : found) {
    void *arguments[] = {&values, &sum, &count};
    bppsa_rt_launch(kernel, 1, 1, 1, 32, 1, 1, arguments, 3);
    bppsa_rt_launch(kernel, 1, 0, 1, 32, 1, 1, nullptr, 0);
    device.copyToHost(&result, sum, sizeof result);
    --count;
  }
  device.synchronize();
  EXPECT_EQ(found[0], 14);
  EXPECT_EQ(found[1], 5);
  device.release(values);
  device.release(sum);
}

namespace {
/// Calls whose sub stream computes the sum of squares of the main stream's results.
class TwoStreams {
public:
  explicit TwoStreams(Device &device) : device(device) {
    // Arguments of scaled_means(x, scale, scaled, steps, samples) for one step and one sample.
    std::vector<float> ones(3, 1);
    for (void **array : {&x, &scale, &scaled, &sum})
      *array = device.allocate(64);
    device.copyToDevice(scale, ones.data(), 12);
  }
  ~TwoStreams() {
    for (void *array : {x, scale, scaled, sum})
      device.release(array);
  }

  /// Returns the sum of squares of three times `value`.
  double call(float value, bool cooperates = false) {
    std::vector<float> values(3, value);
    double nothing = -1, found = -2;
    device.copyToDevice(x, values.data(), 12);
    device.copyToDevice(sum, &nothing, 8);
    device.beginCall();
    device.selectStream(0);
    void *means[] = {&x, &scale, &scaled, &one, &one};
    // Twice, because a single launch does not become a graph.
    for (int i = 0; i < 2; ++i)
      device.launch(0, {{1, 1, 1}, {4, 1, 1}}, means, 5);
    device.recordEvent(0);
    device.selectStream(1);
    device.waitEvent(0);
    void *squares[] = {&scaled, &sum, &three};
    device.launch(6, {{1, 1, 1}, {1, 1, 1}, cooperates}, squares, 3);
    device.recordEvent(1);
    device.selectStream(0);
    device.waitEvent(1);
    // Overwrites the values that the sub stream has read.
    void *others[] = {&scale, &scale, &scaled, &one, &one};
    for (int i = 0; i < 2; ++i)
      device.launch(0, {{1, 1, 1}, {4, 1, 1}}, others, 5);
    device.endCall();
    device.copyToHost(&found, sum, 8);
    device.synchronize();
    return found;
  }

private:
  Device &device;
  void *x, *scale, *scaled, *sum;
  int64_t one = 1, three = 3;
};
} // namespace

// Must run before tests that make the driver reject graphs.
TEST_F(CudaDeviceTest, GraphsHaveTwoStreams) {
  TwoStreams streams(device);
  std::string path = testing::TempDir() + "streams.log";
  remove(path.c_str());
  setenv("FAKE_CUDA_LOG", path.c_str(), 1);
  // Events of earlier sequences must not affect this one.
  for (float value : {1, 2, 3})
    EXPECT_EQ(streams.call(value), 3 * value * value);
  unsetenv("FAKE_CUDA_LOG");
  std::ifstream log(path);
  std::string line, lines;
  while (std::getline(log, line))
    if (line.find("load") == std::string::npos && line.find("find") == std::string::npos)
      lines += line + ";";
  // Nodes of the main stream have its priority.
  std::string twice = " scaled_means:-5 scaled_means:-5";
  std::string replay = "replay" + twice + " sum_of_squares" + twice + ";";
  twice = "launch scaled_means;launch scaled_means;";
  EXPECT_EQ(lines, twice + "beside sum_of_squares;" + twice + "graph of 5;" + replay + replay);
}

TEST_F(CudaDeviceTest, StreamsWaitForEvents) {
  TwoStreams streams(device);
  for (const char *order : {"late", "early"}) {
    setenv("FAKE_CUDA_STREAMS", order, 1);
    // First as single launches, then as graphs. Cooperative launches are never part of a graph.
    for (float value : {1, 2, 3, 4}) {
      EXPECT_EQ(streams.call(value), 3 * value * value) << order;
      EXPECT_EQ(streams.call(value, /*cooperates=*/true), 3 * value * value) << order;
    }
  }
  unsetenv("FAKE_CUDA_STREAMS");
}

TEST_F(CudaDeviceTest, MissingEventsShow) {
  // Omits the wait of the sub stream for the main stream, or vice versa.
  double found[2];
  for (bool waits : {false, true}) {
    std::vector<float> zeros(3), ones(3, 1);
    void *x = device.allocate(12), *scaled = device.allocate(12), *sum = device.allocate(8);
    double nothing = -1;
    int64_t one = 1, three = 3;
    device.copyToDevice(x, ones.data(), 12);
    device.copyToDevice(scaled, zeros.data(), 12);
    device.copyToDevice(sum, &nothing, 8);
    device.synchronize();
    setenv("FAKE_CUDA_STREAMS", waits ? "late" : "early", 1);
    void *means[] = {&x, &x, &scaled, &one, &one}, *squares[] = {&scaled, &sum, &three};
    device.launch(0, {{1, 1, 1}, {4, 1, 1}}, means, 5);
    device.recordEvent(0);
    device.selectStream(1);
    if (waits)
      device.waitEvent(0);
    device.launch(6, {{1, 1, 1}, {1, 1, 1}}, squares, 3);
    device.recordEvent(1);
    device.selectStream(0);
    if (!waits)
      device.waitEvent(1);
    device.copyToHost(&found[waits], sum, 8);
    device.synchronize();
    unsetenv("FAKE_CUDA_STREAMS");
    device.waitEvent(1);
    device.synchronize();
    for (void *array : {x, scaled, sum})
      device.release(array);
  }
  EXPECT_EQ(found[0], 0) << "the sub stream was early";
  EXPECT_EQ(found[1], -1) << "the sub stream was late";
  EXPECT_EQ(errorOf([&] { device.waitEvent(99); }),
            "a function waits for event 99, which it has not recorded; compile the model again");
}

TEST_F(CudaDeviceTest, MemoryWaitsForTheSubStream) {
  void *used = device.allocate(300);
  device.selectStream(1);
  int64_t zero = 0;
  void *sum = device.allocate(8), *arguments[] = {&used, &sum, &zero};
  device.launch(6, {{1, 1, 1}, {1, 1, 1}}, arguments, 3);
  device.recordEvent(5);
  device.launch(6, {{1, 1, 1}, {1, 1, 1}}, arguments, 3);
  device.recordEvent(6);
  device.selectStream(0);
  device.release(used);
  // Checks whether the released block is reused. Enough blocks are allocated to use up blocks of
  // earlier calls first.
  int count = 0;
  auto expectUsed = [&](bool isFree) {
    count = 3 * count + 5;
    std::vector<void *> arrays;
    for (int i = 0; i < count; ++i)
      arrays.push_back(device.allocate(300));
    EXPECT_EQ(std::count(arrays.begin(), arrays.end(), used), isFree ? 1 : 0);
    for (void *array : arrays)
      device.release(array);
  };
  expectUsed(false);
  device.waitEvent(5);
  expectUsed(false);
  device.waitEvent(6);
  expectUsed(true);
  device.release(sum);
}

TEST_F(CudaDeviceTest, CallsBecomeGraphs) {
  // Sums of the first elements of an array, by launches of sum_of_squares(g, sum, count).
  std::vector<float> g = {1, 2, 3, 4, 5};
  void *values = device.allocate(20), *sums = device.allocate(24);
  device.copyToDevice(values, g.data(), 20);
  std::string path = testing::TempDir() + "graphs.log";
  remove(path.c_str());
  setenv("FAKE_CUDA_LOG", path.c_str(), 1);
  auto call = [&](std::vector<int64_t> counts) {
    device.beginCall();
    for (size_t i = 0; i < counts.size(); ++i) {
      void *sum = static_cast<double *>(sums) + i;
      void *arguments[] = {&values, &sum, &counts[i]};
      device.launch(6, {{1, 1, 1}, {1, 1, 1}}, arguments, 3);
    }
    device.endCall();
    std::vector<double> found(counts.size());
    device.copyToHost(found.data(), sums, counts.size() * sizeof(double));
    device.synchronize();
    return found;
  };
  using Sums = std::vector<double>;
  EXPECT_EQ(call({1, 2}), Sums({1, 5})) << "started one by one";
  EXPECT_EQ(call({1, 2}), Sums({1, 5})) << "a graph";
  EXPECT_EQ(call({1, 3}), Sums({1, 14})) << "the graph with another argument";
  EXPECT_EQ(call({1, 2, 3}), Sums({1, 5, 14})) << "another sequence";
  EXPECT_EQ(call({4, 3}), Sums({30, 14})) << "the graph again";
  EXPECT_EQ(call({5}), Sums({55})) << "a single launch";
  setenv("FAKE_CUDA_FAIL", "cuGraphExecKernelNodeSetParams:801", 1);
  EXPECT_EQ(call({2, 1}), Sums({5, 1})) << "the graph cannot be changed";
  unsetenv("FAKE_CUDA_FAIL");
  EXPECT_EQ(call({2, 1}), Sums({5, 1})) << "no graphs any more";
  unsetenv("FAKE_CUDA_LOG");
  std::ifstream log(path);
  std::string line, lines;
  while (std::getline(log, line))
    if (line.find("load") == std::string::npos)
      lines += line.substr(0, line.find(" sum_of_squares")) + ";";
  EXPECT_EQ(lines, "launch;launch;graph of 2;replay;update;replay;launch;launch;launch;"
                   "update;replay;launch;update;launch;launch;launch;launch;");
  device.release(values);
  device.release(sums);
}

TEST_F(CudaDeviceTest, CooperativeLaunchesHaveToFit) {
  // Arguments of sum_of_squares(g, sum, count).
  std::vector<float> g = {1, 2, 3};
  void *values = device.allocate(12), *sum = device.allocate(8);
  int64_t kernel = 6, count = 3;
  double found = 0;
  void *arguments[] = {&values, &sum, &count};
  device.copyToDevice(values, g.data(), 12);
  EXPECT_EQ(bppsa_rt_multiprocessors(), 4);
  bppsa_rt_launch_cooperative(kernel, 4, 1, 1, 32, 1, 1, arguments, 3);
  device.copyToHost(&found, sum, sizeof found);
  device.synchronize();
  EXPECT_EQ(found, 14);
  EXPECT_EQ(errorOf([&] {
              device.launch(kernel, {{5, 1, 1}, {32, 1, 1}, /*cooperative=*/true}, arguments, 3);
            }),
            "kernel 'sum_of_squares': [5, 1, 1] blocks of [32, 1, 1] threads have to run at the "
            "same time, and Fake GPU with its 4 multiprocessors cannot hold them; use a larger "
            "GPU, or --target=cpu");
  device.release(values);
  device.release(sum);
}

TEST_F(CudaDeviceTest, RefusesImpossibleLaunches) {
  int64_t zero = 0;
  void *arguments[] = {&zero, &zero, &zero};
  EXPECT_EQ(errorOf([&] { device.launch(6, {{1, 1, 1}, {32, 33, 1}}, arguments, 3); }),
            "launching 'sum_of_squares' with [1, 1, 1] blocks of [32, 33, 1] threads failed: "
            "CUDA_ERROR_INVALID_VALUE (in the driver's words)");
  EXPECT_NE(errorOf([&] {
              device.launch(6, {{int64_t(1) << 32, 1, 1}, {1, 1, 1}}, arguments, 3);
            }).find("is too large"),
            std::string::npos);
}

TEST_F(CudaDeviceTest, SaysWhatIsMissing) {
  // The GPU has 256 MiB, partly allocated.
  std::string line = errorOf([&] { device.allocate(uint64_t(400) << 20); });
  EXPECT_EQ(line.find("the device is out of memory: "), 0u) << line;
  EXPECT_NE(line.find("400.00 MiB more are needed"), std::string::npos) << line;
}

TEST_F(CudaDeviceTest, SlicesShareTheArena) {
  device.releaseArena();
  uint64_t before = device.liveBytes();
  device.reserveArena(1024);
  device.reserveArena(512);
  EXPECT_EQ(device.liveBytes(), before + 1024);
  auto *first = static_cast<char *>(device.allocateSlice(0, 256));
  device.freeSlice(first);
  EXPECT_EQ(device.allocateSlice(0, 512), first);
  EXPECT_EQ(device.allocateSlice(512, 512), first + 512);
  EXPECT_THROW(device.allocateSlice(512, 513), Error);
  EXPECT_THROW(device.allocateSlice(1025, 0), Error);
  device.releaseArena();
  EXPECT_EQ(device.liveBytes(), before);
}

TEST_F(CudaDeviceTest, MarksHaveTimes) {
  device.wantMarks();
  device.mark(StepMark::Forward);
  device.mark(StepMark::End);
  device.synchronize();
  EXPECT_GE(device.seconds(StepMark::Forward, StepMark::End), 0);
}

TEST_F(CudaDeviceTest, MirrorsCopyWhatChanged) {
  std::vector<int> host = numbers(100, 1);
  DeviceMirror mirror(host.data(), 400);
  auto onDevice = [&] {
    std::vector<int> found(100);
    device.copyToHost(found.data(), mirror.address(host.data()), 400);
    device.synchronize();
    return found;
  };
  mirror.toDevice();
  EXPECT_EQ(onDevice(), numbers(100, 1));
  host[0] = -1;
  mirror.toDevice();
  EXPECT_EQ(onDevice(), numbers(100, 1)) << "nobody said that the host has changed it";
  mirror.hostChanged(4);
  mirror.toDevice();
  EXPECT_EQ(onDevice(), host);
  mirror.fetch();
  EXPECT_EQ(host[0], -1);
  device.fill(mirror.address(host.data()), 0, 400);
  mirror.deviceChanged();
  mirror.fetch();
  EXPECT_EQ(host[0], 0);
}

TEST_F(CudaDeviceTest, ParametersStayOnTheDevice) {
  Program program = Program::load(linkedProgram());
  Dataset data = Dataset::synthetic(program.model, 8, 5, {});
  Batch batch = data.whole();
  Session session(program, true);
  Call step = session.prepare("step.sequential", &batch);
  const float *weight = session.parameters.values(1);
  float before = weight[0];
  session.hyper[bppsa::program::kRateSlot] = 0.1F;
  session.hyper[bppsa::program::kStepSlot] = session.hyper[bppsa::program::kScaleSlot] = 1;
  session.hyper[bppsa::program::kEpsilonSlot] = 1e-8F;
  step.start();
  EXPECT_EQ(session.loss, 0) << "nobody has waited";
  double squares = session.gradientSquares();
  EXPECT_GT(session.loss, 0);
  EXPECT_GT(squares, 0);
  session.update();
  EXPECT_EQ(weight[0], before) << "the host has not asked for it";
  EXPECT_NE(session.parameters.values(1)[0], before);
  double sum = 0;
  for (int i = 0; i < 12; ++i)
    sum += std::pow(session.parameters.gradient(1)[i], 2);
  for (int i = 0; i < 4; ++i)
    sum += std::pow(session.parameters.gradient(2)[i], 2);
  EXPECT_NEAR(sum, squares, 1e-12);
  EXPECT_NO_THROW(requireFiniteGradients(session));
}
