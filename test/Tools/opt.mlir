// RUN: bppsa-opt --version | FileCheck %s --check-prefix=VERSION
// RUN: bppsa-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// RUN: bppsa-opt %s --verify-roundtrip | FileCheck %s

// VERSION: LLVM version 22.1
// DIALECTS: bppsa

// CHECK-LABEL: func.func @nothing()
func.func @nothing() {
  return
}
