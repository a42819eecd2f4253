//===- CompilerTest.cpp - the compiler as a library -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Compiler.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <thread>

using namespace bppsa;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {
struct Result {
  std::optional<std::string> output;
  std::vector<std::string> errors, warnings;
};
} // namespace

static std::string getExample(const std::string &name) { return BPPSA_EXAMPLES "/" + name; }

static std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "cannot be read";
}

static DiagnosticHandler collectIn(Result &result) {
  return [&result](const CompileDiagnostic &diagnostic) {
    bool isError = diagnostic.severity == CompileDiagnostic::Severity::Error;
    (isError ? result.errors : result.warnings).push_back(diagnostic.message);
  };
}

static Result compile(const ModelSource &model, const CompileOptions &options) {
  Result result;
  result.output = compileModel(model, options, collectIn(result));
  return result;
}

/// Options for the fastest compilation to objects.
static CompileOptions getObjectOptions() {
  CompileOptions options;
  options.emit = EmitKind::Object;
  options.mcpu = "x86-64-v2";
  options.optLevel = 1;
  return options;
}

static CompileOptions getImportOptions() {
  CompileOptions options;
  options.stopAfter = Phase::Import;
  return options;
}

TEST(CompilerTest, CompilationsAtTheSameTimeGiveTheSameBytes) {
  const std::string models[] = {getExample("bitstream_rnn.onnx"), getExample("irmas_gru.onnx"),
                                getExample("bitstream_rnn.onnx")};
  CompileOptions options[] = {getObjectOptions(), getObjectOptions(), getObjectOptions()};
  options[1].training.backward = BackwardKind::Sequential;
  options[2].training.target = TargetKind::CUDA;
  options[2].emit = EmitKind::PTX;
  Result alone[3], together[3];
  for (int i : {0, 1, 2})
    alone[i] = compile({models[i]}, options[i]);
  std::vector<std::thread> threads;
  for (int i : {0, 1, 2})
    threads.emplace_back([&, i] { together[i] = compile({models[i]}, options[i]); });
  for (std::thread &thread : threads)
    thread.join();
  for (int i : {0, 1, 2}) {
    EXPECT_THAT(alone[i].errors, IsEmpty());
    ASSERT_TRUE(alone[i].output && together[i].output);
    // EXPECT_EQ would print megabytes.
    EXPECT_TRUE(*alone[i].output == *together[i].output);
  }
  EXPECT_TRUE(llvm::StringRef(*alone[0].output)
                  .starts_with("\x7f"
                               "ELF"));
  EXPECT_FALSE(*alone[0].output == *alone[1].output);
  EXPECT_THAT(*alone[2].output, HasSubstr(".target sm_90"));
}

TEST(CompilerTest, ABadModelIsADiagnostic) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  Result bad = compile({"model.onnx", "no model at all"}, getImportOptions());
  Result missing = compile({"missing.onnx"}, getImportOptions());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_FALSE(bad.output);
  EXPECT_THAT(bad.errors, ElementsAre(HasSubstr("not an ONNX model")));
  EXPECT_FALSE(missing.output);
  EXPECT_THAT(missing.errors, ElementsAre("cannot be read: No such file or directory"));
  // The process continues.
  EXPECT_TRUE(compile({getExample("bitstream_rnn.onnx")}, getImportOptions()).output);
}

TEST(CompilerTest, WrongOptionsAreDiagnostics) {
  CompileOptions options;
  options.training.losses = {"hinge"};
  options.optLevel = 4;
  Result result = compile({getExample("bitstream_rnn.onnx")}, options);
  EXPECT_FALSE(result.output);
  EXPECT_THAT(result.errors, ElementsAre(HasSubstr("'hinge'"), HasSubstr("-O")));
}

TEST(CompilerTest, TheBytesOfAModelAreEnough) {
  std::string path = getExample("bitstream_rnn.onnx"), bytes = readFile(path);
  Result fromFile = compile({path}, getObjectOptions());
  Result fromBytes = compile({"nowhere/bitstream_rnn.onnx", bytes}, getObjectOptions());
  EXPECT_THAT(fromBytes.errors, IsEmpty());
  ASSERT_TRUE(fromFile.output && fromBytes.output);
  EXPECT_TRUE(*fromFile.output == *fromBytes.output);
}

TEST(CompilerTest, WarningsComeWithTheResult) {
  Result result = compile({getExample("irmas_gru_dynamo.onnx")}, getImportOptions());
  EXPECT_TRUE(result.output);
  EXPECT_THAT(result.warnings,
              ElementsAre(HasSubstr("not trained, as buffers or constants: 'val_2'")));
}

TEST(CompilerTest, FilesAreWrittenWhole) {
  ModelSource model = {getExample("bitstream_rnn.onnx")};
  llvm::SmallString<64> directory;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("compiler", directory));
  std::string path = (directory + "/out").str();
  Result result;
  EXPECT_TRUE(compileModelToFile(model, getImportOptions(), path, collectIn(result)));
  EXPECT_EQ(readFile(path), *compile(model, getImportOptions()).output);
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_FALSE(
      compileModelToFile(model, getImportOptions(), directory.str().str(), collectIn(result)));
  EXPECT_FALSE(compileModelToFile(model, getImportOptions(), "/dev/full", collectIn(result)));
  EXPECT_THAT(result.errors,
              ElementsAre("cannot write " + directory.str().str() + ": Is a directory",
                          "cannot write /dev/full: No space left on device"));
  llvm::sys::fs::remove_directories(directory);
}

TEST(CompilerTest, AMissingRunTimeLibraryIsADiagnostic) {
  CompileOptions options = getObjectOptions();
  options.emit = EmitKind::Executable;
  options.runtimeLibrary = "missing.a";
  Result result = compile({getExample("bitstream_rnn.onnx")}, options);
  EXPECT_FALSE(result.output);
  EXPECT_THAT(result.errors, ElementsAre(HasSubstr("the run-time library is missing: missing.a")));
  options.runtimeLibrary = BPPSA_RUNTIME;
  EXPECT_TRUE(compile({getExample("bitstream_rnn.onnx")}, options).output);
}

namespace {
/// Adds inline assembly with an unknown register to every lowered module.
struct AskForRegister : mlir::PassInstrumentation {
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    if (pass->getArgument() != "reconcile-unrealized-casts")
      return;
    auto functions = mlir::cast<mlir::ModuleOp>(op).getOps<mlir::LLVM::LLVMFuncOp>();
    auto defined = llvm::find_if(functions, [](auto function) { return !function.isExternal(); });
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&(*defined).front());
    mlir::LLVM::InlineAsmOp::create(
        builder, op->getLoc(), builder.getI32Type(), mlir::ValueRange(), "", "={frobnicate}",
        /*has_side_effects=*/true, /*is_align_stack=*/false,
        mlir::LLVM::tailcallkind::TailCallKind::None, /*asm_dialect=*/nullptr,
        /*operand_attrs=*/nullptr);
  }
};
} // namespace

// By default, LLVM prints an error and exits if it cannot generate code.
TEST(CompilerTest, ErrorsOfLLVMAreDiagnostics) {
  CompileOptions options = getObjectOptions();
  options.preparePassManager = [](mlir::PassManager &pm) {
    pm.addInstrumentation(std::make_unique<AskForRegister>());
    return true;
  };
  testing::internal::CaptureStderr();
  Result result = compile({getExample("bitstream_rnn.onnx")}, options);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(result.output);
  ASSERT_THAT(result.errors, Not(IsEmpty()));
  EXPECT_THAT(result.errors, Each(AllOf(HasSubstr("frobnicate"), Not(HasSubstr("\n")))));
}
