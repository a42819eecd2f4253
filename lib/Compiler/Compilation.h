//===- Compilation.h - one run of the compiler ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_COMPILER_COMPILATION_H
#define BPPSA_LIB_COMPILER_COMPILATION_H

#include "bppsa/Analysis/Report.h"
#include "bppsa/Compiler/Pipelines/CompileOptions.h"
#include "bppsa/Target/CPUObject.h"
#include "bppsa/Target/GPUObject.h"
#include "bppsa/Target/ProgramParts.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

namespace bppsa {

/// What the driver writes.
enum class EmitKind { Executable, Shared, Object, MLIR, LLVM, Assembly, PTX, Report };

/// The phases of a compilation, in order. A run can stop after any of them.
enum class Phase { Import, Loss, Differentiate, Scan, Lower, End };

/// The command line of one run.
struct DriverOptions {
  std::string input, output, compilerPath;
  TrainingOptions training;
  EmitKind emit = EmitKind::Executable;
  Phase stopAfter = Phase::End;
  std::string dumpDirectory, mcpu;
  /// For GPUs: the architectures to assemble code for, and whether the program runs
  /// its kernels on the CPU instead.
  llvm::SmallVector<std::string> gpuArchitectures;
  bool emulate = false;
  llvm::SmallVector<std::string> batchAxes;
  unsigned optLevel = 3;
  /// Elements of initializers that are zero stay so and leave the patterns.
  bool pruneZeros = false;
  /// Sizes that a report assumes where only the run time knows them.
  int64_t reportLength = 1000, reportBatch = 16;
};

/// The kernels of a program for GPUs: for the emulator or for devices.
struct DeviceCode {
  llvm::SmallVector<EmulatedKernel> emulated;
  llvm::SmallVector<GPUImage> images;
};

/// Runs one compilation and writes its output file. Every failure has been
/// reported as one diagnostic when this returns.
class Compilation {
public:
  Compilation(mlir::MLIRContext &context, const DriverOptions &options)
      : context(context), options(options) {}

  llvm::LogicalResult run();
  /// What the user should know of a compilation that succeeded: one line, or none.
  llvm::StringRef getWarning() const { return warning; }

private:
  llvm::LogicalResult import();
  mlir::FailureOr<ImportOptions> parseImportOptions();
  llvm::LogicalResult checkLossOutput();
  llvm::LogicalResult runFrontend();
  llvm::LogicalResult runPhase(llvm::StringRef name,
                               llvm::function_ref<void(mlir::OpPassManager &)> build,
                               mlir::ModuleOp target, bool verifyEach = true);
  llvm::LogicalResult dump(mlir::ModuleOp target, llvm::StringRef phase);
  llvm::LogicalResult lowerAndEmit();
  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
  lower(mlir::ModuleOp part, const CPUTarget &target, llvm::StringRef name);
  ReportHeader getReportHeader();
  llvm::LogicalResult emitReport();
  llvm::LogicalResult emitText(mlir::ModuleOp program);
  llvm::LogicalResult emitProgram(mlir::ModuleOp program);
  llvm::LogicalResult emitObject(llvm::Module &code, const CPUTarget &target, unsigned optLevel,
                                 llvm::StringRef path);
  llvm::LogicalResult emitHost(const ProgramParts &parts, llvm::StringRef objectPath);
  llvm::LogicalResult emitKernels(const ProgramParts &parts, unsigned group,
                                  const CPUTarget &target, llvm::StringRef objectPath);
  llvm::LogicalResult emitTables(const ProgramParts &parts, llvm::StringRef objectPath);
  llvm::LogicalResult link(llvm::ArrayRef<std::string> objects);

  // Programs for GPUs (GPUEmission.cpp).
  /// What `splitDevice` makes of the kernels.
  using DeviceGroups = llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>>;
  llvm::LogicalResult lowerAndEmitGPU();
  llvm::LogicalResult lowerDevice(mlir::ModuleOp group, unsigned number);
  std::unique_ptr<llvm::Module> translateGroup(mlir::ModuleOp group, unsigned number,
                                               llvm::LLVMContext &llvmContext, unsigned optLevel);
  llvm::LogicalResult emitGPUText(mlir::ModuleOp program);
  mlir::FailureOr<std::string> emitGroupPTX(mlir::ModuleOp group, unsigned number);
  mlir::FailureOr<std::string> emitDevicePTX(DeviceGroups groups);
  llvm::LogicalResult emitImages(DeviceGroups groups,
                                 llvm::function_ref<llvm::LogicalResult()> emitHost,
                                 llvm::SmallVectorImpl<GPUImage> &images);
  llvm::LogicalResult emitEmulatedGroup(mlir::ModuleOp group, unsigned number,
                                        llvm::StringRef objectPath,
                                        llvm::SmallVectorImpl<EmulatedKernel> &kernels);
  llvm::LogicalResult emitEmulated(DeviceGroups groups,
                                   llvm::function_ref<llvm::LogicalResult()> emitHost,
                                   llvm::ArrayRef<std::string> objects,
                                   llvm::SmallVectorImpl<EmulatedKernel> &kernels);
  llvm::LogicalResult emitGPUHost(mlir::ModuleOp program, llvm::ArrayRef<std::string> kernels,
                                  llvm::StringRef objectPath);
  llvm::LogicalResult emitGPUTables(llvm::ArrayRef<std::string> kernels, const DeviceCode &code,
                                    llvm::StringRef objectPath);
  llvm::LogicalResult emitGPUProgram(mlir::ModuleOp program);
  llvm::LogicalResult writeOutput(llvm::function_ref<void(llvm::raw_ostream &)> print);
  llvm::LogicalResult fail(const llvm::Twine &message);

  mlir::MLIRContext &context;
  const DriverOptions &options;
  std::string warning;
  OnnxImage image;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<CPUTarget> targets;
  llvm::SmallVector<ExportedFunction> functions;
};

/// The name of a phase on the command line.
llvm::StringRef getPhaseName(Phase phase);

} // namespace bppsa

#endif // BPPSA_LIB_COMPILER_COMPILATION_H
