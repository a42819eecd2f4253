//===- FuzzTest.cpp - damaged models do not crash the importer ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Import/ImportONNX.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace {
/// Changes a few bytes: overwrites, inserts, removes, repeats and truncates.
std::string mutate(std::string bytes, std::mt19937 &random) {
  auto below = [&](size_t limit) { return random() % std::max<size_t>(limit, 1); };
  for (size_t i = 0, changes = 1 + below(6); i < changes && !bytes.empty(); ++i) {
    size_t position = below(bytes.size());
    switch (below(6)) {
    case 0:
      bytes[position] = static_cast<char>(random());
      break;
    case 1:
      bytes[position] ^= 1 << below(8);
      break;
    case 2:
      bytes.insert(position, 1 + below(4), static_cast<char>(random()));
      break;
    case 3:
      bytes.erase(position, 1 + below(8));
      break;
    case 4:
      bytes.insert(below(bytes.size()), bytes.substr(position, below(64)));
      break;
    default:
      if (below(4) == 0)
        bytes.resize(position);
    }
  }
  return bytes;
}

class Fuzz : public testing::TestWithParam<const char *> {
protected:
  /// Imports `bytes`. A rejection must be a single one-line diagnostic.
  void check(llvm::StringRef bytes) {
    llvm::MemoryBufferRef buffer(bytes, "fuzz.onnx");
    MLIRContext context(MLIRContext::Threading::DISABLED);
    for (bool asImage : {false, true}) {
      unsigned errors = 0;
      ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
        EXPECT_EQ(diagnostic.str().find('\n'), std::string::npos) << diagnostic.str();
        ++errors;
      });
      bool failed = asImage ? mlir::failed(bppsa::loadOnnxImage(buffer, &context))
                            : mlir::failed(bppsa::importONNX(buffer, &context));
      EXPECT_EQ(errors, failed ? 1u : 0u);
    }
  }
};
} // namespace

TEST_P(Fuzz, DamagedModel) {
  std::string path = std::string(BPPSA_SOURCE_DIR) + "/examples/" + GetParam();
  auto file = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(file) << path;
  const char *chosen = std::getenv("BPPSA_FUZZ_SEED");
  unsigned first = chosen ? std::atoi(chosen) : 0, count = chosen ? 1 : 500;
  for (unsigned seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("BPPSA_FUZZ_SEED=" + std::to_string(seed));
    RecordProperty("seed", static_cast<int>(seed));
    std::mt19937 random(seed);
    check(mutate((*file)->getBuffer().str(), random));
    if (HasFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Fuzz,
                         testing::Values("bitstream_rnn.onnx", "irmas_gru.onnx",
                                         "irmas_gru_dynamo.onnx", "keras_lstm.onnx",
                                         "lstm_tagger_dynamo.onnx", "rnn_fixed_t.onnx"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return name.substr(0, name.find('.'));
                         });
