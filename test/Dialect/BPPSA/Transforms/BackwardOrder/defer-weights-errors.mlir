// RUN: not bppsa-opt %s -bppsa-defer-weights="functions=step" 2>&1 | FileCheck %s

// CHECK: bppsa-defer-weights: needs functions of one block, found 'step'; change 'functions'
func.func private @step()
