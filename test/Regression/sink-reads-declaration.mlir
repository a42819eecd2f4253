// RUN: bppsa-opt %s --bppsa-sink-reads | FileCheck %s

// The pass took the first block of a function without any.
// CHECK: func.func private @declared(memref<?xf32>)
func.func private @declared(memref<?xf32>)
