//===- train_in_c.c - trains an ONNX model inside a C program -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
//   train_in_c irmas_gru.onnx trained.onnx
//
// compiles the GRU for this processor in memory, takes 200 steps on a batch of made-up sequences,
// and writes the trained model.
//
//===----------------------------------------------------------------------===//

#include "bppsa-c/Compiler.h"
#include "bppsa-c/Program.h"

#include <stdio.h>
#include <stdlib.h>

enum { Steps = 50, Samples = 16, Features = 12, Classes = 11 };

static void require(BppsaStatus status) {
  if (status == BppsaSuccess)
    return;
  fprintf(stderr, "error: %s\n", bppsaGetLastError());
  exit(1);
}

int main(int argc, char **argv) {
  static float x[Steps][Samples][Features];
  static int64_t target[Samples];
  for (int t = 0; t < Steps; ++t)
    for (int b = 0; b < Samples; ++b)
      x[t][b][b % Features] = (float)(t % (b + 2)) / (float)(b + 2);
  for (int b = 0; b < Samples; ++b)
    target[b] = b % Classes;

  BppsaProgram program;
  BppsaOptions options = bppsaOptionsCreate();
  require(bppsaOptionsSet(options, "loss", "cross-entropy"));
  BppsaModel model = {argc > 1 ? argv[1] : "irmas_gru.onnx", NULL, 0};
  require(bppsaCompileToProgram(model, options, NULL, NULL, &program));
  bppsaOptionsDestroy(options);

  DLDevice cpu = {kDLCPU, 0};
  DLDataType float32 = {kDLFloat, 32, 1}, int64 = {kDLInt, 64, 1};
  int64_t xShape[] = {Steps, Samples, Features}, targetShape[] = {Samples};
  DLTensor inputs = {x, cpu, 3, float32, xShape, NULL, 0};
  DLTensor classes = {target, cpu, 1, int64, targetShape, NULL, 0};
  BppsaNamedArray arrays[] = {{"x", &inputs}, {"target", &classes}};
  double loss, accuracy;
  for (int step = 0; step < 200; ++step)
    require(bppsaProgramStep(program, arrays, 2, 0.01, &loss));
  require(bppsaProgramEval(program, arrays, 2, &loss, &accuracy));
  printf("loss %.4f accuracy %.2f\n", loss, accuracy);
  if (argc > 2)
    require(bppsaProgramSave(program, argv[2]));
  bppsaProgramDestroy(program);
  return 0;
}
