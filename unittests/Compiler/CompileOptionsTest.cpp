//===- CompileOptionsTest.cpp - validate options of the compiler ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/CompileOptions.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace bppsa;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

static CompileOptions forCUDA() {
  CompileOptions options;
  options.training.target = TargetKind::CUDA;
  return options;
}

TEST(CompileOptionsTest, DefaultsAreAccepted) {
  EXPECT_THAT(validate({}), IsEmpty());
  EXPECT_THAT(validate(forCUDA()), IsEmpty());
}

TEST(CompileOptionsTest, OptionsOfGPUsAreAccepted) {
  CompileOptions options = forCUDA();
  options.gpuArchitectures = {"sm_80", "sm_90"};
  options.training.precision = "tf32";
  options.emulate = true;
  options.emit = EmitKind::PTX;
  EXPECT_THAT(validate(options), IsEmpty());
}

TEST(CompileOptionsTest, EveryMistakeIsNamed) {
  CompileOptions options;
  options.training.losses = {"hinge"};
  options.training.optimizer = "lion";
  options.training.scan = "chunked:0";
  options.training.memoryLimit = -1;
  options.batchAxes = {"x:1", "x"};
  options.optLevel = 4;
  options.reportLength = 0;
  EXPECT_THAT(validate(options),
              ElementsAre("--loss must be cross-entropy, nll, mse, l1, huber, bce-with-logits, vjp "
                          "or none, found 'hinge'",
                          "--optimizer must be sgd, momentum, adam, adamw or rmsprop, found 'lion'",
                          "--scan must be auto, linear, blelloch, hybrid:L (L >= 0) or "
                          "chunked[:C] (C >= 1), found 'chunked:0'",
                          "--memory-limit must be at least 0, found -1",
                          "--batch-axis must be NAME:AXIS, found 'x'",
                          "-O must be followed by 0, 1, 2 or 3, found 4",
                          "--report-length and --report-batch must be at least 1"));
}

TEST(CompileOptionsTest, OptionsOfGPUsNeedOne) {
  CompileOptions options;
  options.emulate = true;
  options.gpuArchitectures = {"sm_90"};
  options.training.precision = "fp32";
  options.emit = EmitKind::PTX;
  EXPECT_THAT(validate(options), ElementsAre(HasSubstr("--emulate"), HasSubstr("--gpu-arch"),
                                             HasSubstr("--precision"), HasSubstr("--emit=ptx")));
}

TEST(CompileOptionsTest, WordsOfGPUsAreChecked) {
  CompileOptions options = forCUDA();
  options.gpuArchitectures = {"sm_90", "sm_20"};
  options.training.precision = "fp16";
  options.emit = EmitKind::Assembly;
  EXPECT_THAT(validate(options), ElementsAre("--precision must be fp32, tf32 or bf16, found 'fp16'",
                                             "--emit=asm is for --target=cpu; use --emit=ptx",
                                             HasSubstr("found 'sm_90,sm_20'")));
}
