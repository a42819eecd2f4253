// RUN: bppsa-opt %s --convert-streams-to-runtime | FileCheck %s

// CHECK-DAG:   func.func private @bppsa_rt_select_stream(i64)
// CHECK-DAG:   func.func private @bppsa_rt_record_event(i64)
// CHECK-DAG:   func.func private @bppsa_rt_wait_event(i64)
// CHECK-LABEL: func.func @f
// CHECK:         %[[THREE:.*]] = arith.constant 3 : i64
// CHECK:         call @bppsa_rt_record_event(%[[THREE]])
// CHECK:         %[[SUB:.*]] = arith.constant 1 : i64
// CHECK:         call @bppsa_rt_select_stream(%[[SUB]])
// CHECK:         %[[AGAIN:.*]] = arith.constant 3 : i64
// CHECK:         call @bppsa_rt_wait_event(%[[AGAIN]])
// CHECK:         %[[MAIN:.*]] = arith.constant 0 : i64
// CHECK:         call @bppsa_rt_select_stream(%[[MAIN]])
// CHECK-NOT:     bppsa.
func.func @f() {
  bgpu.record_event 3
  bgpu.select_stream 1
  bgpu.wait_event 3
  bgpu.select_stream 0
  return
}
