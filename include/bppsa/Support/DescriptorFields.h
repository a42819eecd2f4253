//===- DescriptorFields.h - passes arrays as words --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Arrays are passed to functions as words: the address of the first element, and the sizes and
// strides that are dynamic in the type. Any other value is one word of its converted type. Casts
// between arrays and words are resolved by bppsa-resolve-words.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_DESCRIPTORFIELDS_H
#define BPPSA_SUPPORT_DESCRIPTORFIELDS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// Fields of an array descriptor; the last two have one element per dimension.
enum DescriptorField : int64_t { kAllocated, kAligned, kOffset, kSizes, kStrides };

/// The layout of an array, as far as it is static.
struct ArrayLayout {
  mlir::MemRefType type;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;

  /// Returns nullopt if `type` is not an array or its layout is not strided.
  static std::optional<ArrayLayout> get(mlir::Type type);
  /// Returns the static value of the descriptor field at `position`; nullopt if it is dynamic. The
  /// offset of a passed array is zero unless its type specifies one.
  std::optional<int64_t> getConstant(llvm::ArrayRef<int64_t> position) const;
  /// Returns the positions of the fields passed as words, in order, starting with the aligned
  /// address.
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> getWords() const;
};

/// Returns whether `type` is an array with a static offset, whose first word is the aligned address
/// of its descriptor.
bool isArrayAtKnownOffset(mlir::Type type);

/// Return whether `cast` converts an array to words, or words to an array.
bool isCastToWords(mlir::UnrealizedConversionCastOp cast);
bool isCastFromWords(mlir::UnrealizedConversionCastOp cast);

/// Returns the types of the words of a value of `type`.
llvm::SmallVector<mlir::Type> getWordTypes(mlir::Type type,
                                           const mlir::LLVMTypeConverter &converter);

/// Casts `value` to words.
llvm::SmallVector<mlir::Value> castToWords(mlir::OpBuilder &builder, mlir::Location loc,
                                           mlir::Value value,
                                           const mlir::LLVMTypeConverter &converter);

/// Casts `words` to a value of `type`.
mlir::Value castFromWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                          mlir::ValueRange words);

} // namespace bppsa

#endif // BPPSA_SUPPORT_DESCRIPTORFIELDS_H
