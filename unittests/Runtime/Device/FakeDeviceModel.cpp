//===- FakeDeviceModel.cpp - The fake model on a device -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Kernels for the emulated device if BPPSA_FAKE_EMULATED is defined, otherwise for the driver in
// FakeCudaDriver.cpp. All kernel arguments have eight bytes. If the environment contains
// FAKE_MODEL_STREAMS, parameter gradients run on the sub stream.
//
//===----------------------------------------------------------------------===//

#include "../FakeModel.h"
#include "bppsa/Runtime/ObjectInterface.h"
#ifdef BPPSA_FAKE_EMULATED
#include "bppsa/Emulator/EmulatorInterface.h"
#endif

#include <cstdlib>
#include <cstring>

using namespace fake;

//===----------------------------------------------------------------------===//
// Kernels, for thread `thread` of a one-dimensional launch
//===----------------------------------------------------------------------===//

namespace {
/// Reads the arguments of a kernel in order.
class Reader {
public:
  explicit Reader(void **arguments) : next(arguments) {}
  operator float *() { return take<float *>(); }
  operator int64_t *() { return take<int64_t *>(); }
  operator double *() { return take<double *>(); }
  operator char *() { return take<char *>(); }
  operator int64_t() { return take<int64_t>(); }

private:
  template <typename T> T take() { return *static_cast<T *>(*next++); }
  void **next;
};
} // namespace

extern "C" {
void scaled_means(void **arguments, int64_t thread) {
  Reader reader(arguments);
  float *x = reader, *scale = reader, *scaled = reader;
  int64_t steps = reader, samples = reader;
  if (thread < samples * features)
    scaled[thread] = scaledMean(x, scale, steps, samples, thread / features, thread % features);
}

void head(void **arguments, int64_t thread) {
  Reader reader(arguments);
  float *scaled = reader, *weight = reader, *bias = reader, *logits = reader;
  int64_t samples = reader;
  if (thread < samples * classes)
    logits[thread] = logit(scaled, weight, bias, thread / classes, thread % classes);
}

void loss(void **arguments, int64_t thread) {
  Reader reader(arguments);
  float *logits = reader;
  char *target = reader;
  float *loss = reader;
  double *correct = reader, right = 0;
  int64_t samples = reader;
  if (thread > 0)
    return;
  *loss = lossAndGradient(logits, samples, target, right);
  if (correct)
    *correct = right;
}

void parameter_gradients(void **arguments, int64_t thread) {
  Reader reader(arguments);
  float *delta = reader, *scaled = reader, *weight = reader, *bias = reader;
  int64_t samples = reader;
  if (thread < classes)
    parameterGradients(delta, scaled, samples, thread, weight, bias);
}

void input_gradients(void **arguments, int64_t thread) {
  Reader reader(arguments);
  float *delta = reader, *weight = reader, *scale = reader, *gradient = reader;
  int64_t steps = reader, samples = reader;
  if (thread < steps * samples * features)
    gradient[thread] = inputGradient(delta, weight, scale, steps, samples, thread);
}

void optimizer(void **arguments, int64_t thread) {
  Reader reader(arguments);
  float *p = reader, *g = reader, *m = reader, *v = reader, *h = reader;
  int64_t count = reader;
  if (thread < count)
    updateElement(p, g, m, v, h, thread);
}

void sum_of_squares(void **arguments, int64_t thread) {
  Reader reader(arguments);
  float *g = reader;
  double *sum = reader;
  int64_t count = reader;
  if (thread == 0)
    *sum = sumOfSquares(g, count);
}
}

enum { ScaledMeans, Head, Loss, ParameterGradients, InputGradients, Optimizer, SumOfSquares };

//===----------------------------------------------------------------------===//
// Host functions
//===----------------------------------------------------------------------===//

/// Launches a kernel with at least `threads` threads.
template <typename... Arguments>
static void launch(int64_t kernel, int64_t threads, Arguments... values) {
  static_assert(((sizeof values == 8) && ...));
  constexpr int64_t block = 32;
  void *arguments[] = {&values...};
  bppsa_rt_launch(kernel, (threads + block - 1) / block, 1, 1, block, 1, 1, arguments,
                  sizeof...(values));
}

namespace {
/// args: x, scale, weight, bias, ...
struct Forward {
  explicit Forward(void **args, float *output = nullptr);
  ~Forward();
  void loss(void **args, double *correct) const {
    launch(Loss, 1, logits, data<char>(args[4]), data<float>(args[5]), correct, samples);
  }

  float *x, *scale, *weight, *bias, *scaled, *logits;
  int64_t steps, samples;

private:
  float *take(int64_t slot, int64_t count);
  /// Slices for the scaled means, and for the logits unless they are an output.
  bppsa_arena_slice slices[2] = {};
};

/// The arena has two slots for values of all samples; `infer` needs only one. A scan also needs an
/// array of all steps.
int64_t slotBytes(int64_t samples) { return (samples * 16 + 255) / 256 * 256; }
int64_t inferArena(const int64_t *symbols) { return slotBytes(symbols[1]); }
int64_t stepArena(const int64_t *symbols) { return 2 * slotBytes(symbols[1]); }
int64_t scanArena(const int64_t *symbols) {
  return stepArena(symbols) + 16 * symbols[0] * symbols[1];
}
} // namespace

float *Forward::take(int64_t slot, int64_t count) {
  _mlir_ciface_bppsa_rt_arena_take(&slices[slot], slot * slotBytes(samples), count * sizeof(float));
  return static_cast<float *>(slices[slot].aligned);
}

Forward::Forward(void **args, float *output)
    : x(data<float>(args[0])), scale(data<float>(args[1])), weight(data<float>(args[2])),
      bias(data<float>(args[3])), logits(output), steps(size(args[0], 0)),
      samples(size(args[0], 1)) {
  scaled = take(0, samples * features);
  if (!logits)
    logits = take(1, samples * classes);
  launch(ScaledMeans, samples * features, x, scale, scaled, steps, samples);
  launch(Head, samples * classes, scaled, weight, bias, logits, samples);
}

Forward::~Forward() {
  for (bppsa_arena_slice &slice : slices)
    if (slice.allocated)
      _mlir_ciface_bppsa_rt_arena_drop(&slice);
}

static void infer(void **args) { Forward(args, data<float>(args[4])); }

static void eval(void **args) {
#ifdef BPPSA_FAKE_MSE
  Forward(args).loss(args, nullptr);
#else
  Forward(args).loss(args, data<double>(args[6]));
#endif
}

static void gradients(void **args, bool ofInput) {
  bppsa_rt_phase(0);
  Forward f(args);
  f.loss(args, nullptr);
  bppsa_rt_phase(1);
  bool hasStreams = getenv("FAKE_MODEL_STREAMS") != nullptr;
  if (hasStreams) {
    bppsa_rt_select_stream(0);
    bppsa_rt_record_event(0);
    bppsa_rt_select_stream(1);
    bppsa_rt_wait_event(0);
  }
  launch(ParameterGradients, classes, f.logits, f.scaled, data<float>(args[6]),
         data<float>(args[7]), f.samples);
  if (hasStreams) {
    bppsa_rt_record_event(1);
    bppsa_rt_select_stream(0);
  }
  // Launches an empty grid if there is nothing to compute.
  launch(InputGradients, ofInput ? f.steps * f.samples * features : 0, f.logits, f.weight, f.scale,
         ofInput ? data<float>(args[8]) : nullptr, f.steps, f.samples);
  if (hasStreams)
    bppsa_rt_wait_event(1);
}

static void step(void **args) { gradients(args, false); }
static void scanStep(void **args) { gradients(args, false); }
static void grad(void **args) { gradients(args, true); }

static void update(void **args) {
  int64_t count = size(args[0], 0);
  launch(Optimizer, count, data<float>(args[0]), data<float>(args[1]), data<float>(args[2]),
         data<float>(args[3]), data<float>(args[4]), count);
}

static void sumsq(void **args) {
  launch(SumOfSquares, 1, data<float>(args[0]), data<double>(args[1]), size(args[0], 0));
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

#ifdef BPPSA_FAKE_EMULATED
template <void (*kernel)(void **, int64_t)> static void emulated(void **arguments) {
  kernel(arguments, int64_t(bppsa_emu_ctaid_x()) * bppsa_emu_ntid_x() + bppsa_emu_tid_x());
}
#define KERNEL(name) {#name, emulated<name>}
#define IMAGE(arch)
#else
#define KERNEL(name) {#name, nullptr}
/// The fake driver's equivalent of a cubin or PTX: the architecture and the argument count of each
/// kernel.
#define IMAGE_TEXT(arch)                                                                           \
  arch " scaled_means 5 head 5 loss 5 parameter_gradients 5 input_gradients 6 optimizer 6 "        \
       "sum_of_squares 3"
#define IMAGE(arch) {arch, IMAGE_TEXT(arch), sizeof(IMAGE_TEXT(arch))},
#endif

extern "C" {
#include "../FakeModelTables.inc"

extern const bppsa_device_kernel bppsa_device_kernels[] = {
    KERNEL(scaled_means),    KERNEL(head),      KERNEL(loss),           KERNEL(parameter_gradients),
    KERNEL(input_gradients), KERNEL(optimizer), KERNEL(sum_of_squares), {nullptr, nullptr}};
extern const bppsa_device_image bppsa_device_images[] = {
    IMAGE("sm_80") IMAGE("sm_86") IMAGE("sm_90") IMAGE("ptx"){nullptr, nullptr, 0}};
}
