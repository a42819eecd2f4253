//===- Passes.td - Differentiation passes ------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIFFERENTIATION_PASSES
#define BPPSA_DIFFERENTIATION_PASSES

include "mlir/Pass/PassBase.td"

def AddLoss : Pass<"bppsa-add-loss", "::mlir::ModuleOp"> {
  let summary = "adds a function that computes the loss of a model";
  let description = [{
    Adds `@loss`: the body of `@forward`, and the mean of a loss over all
    positions of one of its results. The result is chosen by its attribute
    `bppsa.output`; the first one is the default.

    With several outputs, each has a loss, of one kind or of its own, and `@loss`
    returns their sum, each times its factor, and then the losses themselves.
    Targets, weights and numbers of right positions stand in the order of the
    losses. A loss of several whose positions all have the weight zero is zero, and so is any loss
    of a model with `dist.rank_mean`, and with `shares`.

    | loss | of output x and target t, for one position |
    |---|---|
    | `cross-entropy` | `log(sum(exp(x))) - x[t]` along the last axis of x |
    | `nll` | `-x[t]`; x holds the logarithms of probabilities |
    | `mse` | `(x - t)^2` |
    | `l1` | `abs(x - t)` |
    | `huber` | `(x - t)^2 / 2` up to a distance of 1, then `abs(x - t) - 1/2` |
    | `bce-with-logits` | `log(1 + exp(x)) - t x` |
    | `vjp` | `x t`, added up over all outputs and not divided by the positions |
    | `none` | x itself, the only element of the output; there is no target |

    The target of `cross-entropy` and `nll` holds classes (i64) and has the
    shape of the output without its last axis; `@loss` then also returns how
    many positions are right, at which the class with the largest output is that
    of the target. Any other target has the shape of the output. Sums over positions are
    accumulated in f64.

    With `weights`, `@loss` takes another array of the shape of the target, with
    the attribute `bppsa.weight`, the loss is the weighted mean, and positions count
    as right by their weights. The weight of a class multiplies that of
    every position with this target. With `label-smoothing=s` and C classes, a
    position with the target t has the loss
    `(1 - s) w[t] loss(t) + s / C * sum(w[c] loss(c))`.

    ```mlir
    func.func @forward(%x: tensor<?x4xf32>) -> (tensor<?x10xf32> {bppsa.output = "y"})
    ```
    gets, with `loss=cross-entropy`, the company of
    ```mlir
    func.func @loss(%x: tensor<?x4xf32>, %target: tensor<?xi64> {bppsa.target})
        -> (tensor<f32> {bppsa.loss}, tensor<f64> {bppsa.correct})
    ```
  }];
  let options = [
    ListOption<"losses", "loss", "std::string",
               "words of --loss, by default cross-entropy: one for all outputs, or one for each">,
    ListOption<"outputs", "output", "std::string",
               "names of the results that losses are computed from">,
    ListOption<"factors", "factors", "double",
               "what the loss of each output is multiplied by; empty for ones">,
    Option<"weights", "weights", "bool", /*default=*/"false",
           "take a weight for each position">,
    ListOption<"classWeights", "class-weights", "double",
               "a weight for each class; needs weights=true">,
    Option<"labelSmoothing", "label-smoothing", "double", /*default=*/"0",
           "share of each target that is spread over all classes; needs weights=true">,
    Option<"shares", "shares", "bool", /*default=*/"false",
           "losses are those of shares of a batch, in which nothing may count">,
  ];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::bppsa::BPPSADialect"
  ];
}

def Interlock : Pass<"bppsa-interlock", "::mlir::ModuleOp"> {
  let summary = "lets the layers of a module follow the losses of near modules only";
  let description = [{
    Adds a copy of `of`, a function of several losses l1, ..., lK, named `name`, whose gradients are those
    of interlocking backpropagation (Gomez et al., JMLR 23, 2022). Its last result, with the attribute
    `bppsa.objective`, is what `bppsa-differentiate` then differentiates; the losses stay what they
    are.

    The losses cut the function into K modules. What leads to loss i and to a later one, and to
    none before it, is module i; what leads to no other loss is the head of loss i, or for the last loss
    a part of module K. What leads to loss i may read activations of modules 1 to i.

    | `combine` | the parameters of module i follow |
    |---|---|
    | `last` | the loss of module min(i + window - 1, K), the furthest whose cotangents reach them |
    | `sum` | the sum of the losses of the modules i to min(i + window - 1, K) |
    | `mean` | the mean of these |

    Parameters of a head follow its loss; no other does through that head. Cotangents thus pass at most window - 1
    modules down: `window=1` is local, 2 pairwise, and K or more end-to-end backpropagation.
    A parameter of several modules has the sum of what they give. `bppsa.stage` of a parameter of the copy is the number of the
    first module, from 0, that needs it itself or for its head.

    ```mlir
    func.func @loss(...) -> (tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss})
    ```
    gets, with `window=1`, the company of
    ```mlir
    func.func private @interlocked_loss(...) -> (tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.loss},
                                                 tensor<f32> {bppsa.loss}, tensor<f32> {bppsa.objective})
    ```
  }];
  let options = [
    Option<"of", "of", "std::string", /*default=*/"\"loss\"", "function to copy">,
    Option<"name", "name", "std::string", /*default=*/"\"interlocked_loss\"",
           "name of the copy">,
    Option<"window", "window", "int64_t", /*default=*/"1",
           "modules whose losses reach a module: its own and those after it">,
    Option<"combine", "combine", "std::string", /*default=*/"\"last\"",
           "last, sum or mean of these losses">,
    ListOption<"factors", "factors", "double", "what each loss is multiplied by; empty for ones">,
  ];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::bppsa::BPPSADialect"
  ];
}

def ShardTime : Pass<"bppsa-shard-time", "::mlir::ModuleOp"> {
  let summary = "adds what a rank with a share of the steps differentiates";
  let description = [{
    Adds a copy of `of`, named `name`, for a rank that computes a share of the steps of all
    sequences. A last result with `bppsa.objective` is what the rank differentiates in place of its loss:
    the loss times `dist.rank_weight`, and what the losses of the ranks behind add to it. The gradients are
    this rank's share in those of the sum of all losses.

    The function of a stream has final states as results (`bppsa.carried`). For each of these that is f32
    the copy takes a cotangent, an argument with `bppsa.cotangent`: how the losses of all steps behind
    the share depend on that state. The objective has the products of final states and their cotangents;
    its gradients with regard to the states before the share (`bppsa-differentiate` with `wrt=states`) are
    the cotangents of the rank before it.

    In any other function the axes with the symbol of `bppsa.time_axis` are cut. Data flow says what a rank has of
    each value: all of it, its share of the steps, or what the model means on the rank with the last steps
    alone. The first state of each recurrence enters from the rank before (`dist.shard_enter`), the last
    one leaves to the rank behind (`dist.shard_leave`), for reversed recurrences the other way; what is taken from the first
    step, and sums over steps, go to the last rank in the same way. Numbers of steps are those of the whole
    (`dist.shard_first_step`, `dist.shard_all_steps`). Forward recurrences begin on the first rank and reversed ones on the last:
    ranks with late steps run the copy that is made with `reversed-first`, so that both are under way at a time. An operation that mixes steps otherwise is an error.

    ```mlir
    func.func @training_loss(%h: tensor<?x4xf32> {bppsa.input = "h", bppsa.carried = "h_next"})
        -> (tensor<f32> {bppsa.loss}, tensor<?x4xf32> {bppsa.output = "h_next", bppsa.carried = "h"})
    ```
    gets the company of
    ```mlir
    func.func @sharded_loss(%h: tensor<?x4xf32> {bppsa.input = "h", bppsa.carried = "h_next"},
                            %c: tensor<?x4xf32> {bppsa.cotangent = "h_next"})
        -> (tensor<f32> {bppsa.loss}, tensor<?x4xf32> {bppsa.output = "h_next", bppsa.carried = "h"},
            tensor<f32> {bppsa.objective})
    ```
    and in the copy of another function
    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%h0 : tensor<?x4xf32>) ...
    ```
    becomes
    ```mlir
    %first = dist.shard_enter %h0 channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
    %h = bppsa.recurrence sequences(%x : tensor<?x?x3xf32>) initial(%first : tensor<?x4xf32>) ...
    %last = tensor.extract_slice %h[%t, 0, 0] [1, %b, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x4xf32>
    %rest = dist.shard_leave %last channel 0 : tensor<?x4xf32> -> tensor<f32>
    ```
  }];
  let options = [
    Option<"of", "of", "std::string", /*default=*/"\"training_loss\"", "function to copy">,
    Option<"name", "name", "std::string", /*default=*/"\"sharded_loss\"", "name of the copy">,
    Option<"reversedFirst", "reversed-first", "bool", /*default=*/"false",
           "run reversed recurrences in front of forward ones that do not need them">,
  ];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::bppsa::BPPSADialect"
  ];
}

def ScanShards : Pass<"bppsa-scan-shards", "::mlir::ModuleOp"> {
  let summary = "scan the cotangents of shares over ranks";
  let description = [{
    In `functions`, which `bppsa-differentiate` has made of what `bppsa-shard-time` makes, a chain waits for the
    cotangents of its last states, which the rank behind sends, and sends those of its first states on: one rank
    goes back at a time. After this pass each rank makes the affine map from the ones to the others: its matrix by a `bppsa.transition` on
    the share, and what it maps zeros to by a chain that emits nothing. `dist.shard_scan` composes the maps of the
    ranks behind, and the chain starts from what it gives, on all ranks at the same time. With S values of
    all states a rank applies its links S + 2 times in place of waiting for the ranks behind. The cotangent of
    what the model begins with stays on the rank that the loop begins on.

    Scans of reversed loops come before those of forward loops that they do not need, on ranks that run
    the copy made with `reversed-first`, too: all ranks meet in the same order. A chain in graph form is an error.

    ```mlir
    %g = dist.shard_leave transposed %last channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
    %c, %e = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) ...
    %z = dist.shard_enter transposed %c channel 0 : tensor<?x4xf32> -> tensor<?x4xf32>
    ```
    becomes
    ```mlir
    %m = bppsa.transition states [4] saved(%a : tensor<?x?x4xf32>) ... -> tensor<?x4x4xf32>
    %o = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%zeros : tensor<?x4xf32>) ...
    %g = dist.shard_scan %m, %o : tensor<?x4x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
    %c, %e = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>) ...
    ```
  }];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::bppsa::BPPSADialect"
  ];
}

def TraceNaNs : Pass<"bppsa-trace-nans", "::mlir::ModuleOp"> {
  let summary = "add a copy of a function that finds the first NaN";
  let description = [{
    Adds copies of the functions with the roles `step` and `grad`, with the roles `nans_step` and
    `nans_grad`, that return where each of their ops first computes a NaN. The result is one `tensor<Kxi64>`, the output `first_nans`. Element k belongs to entry k of the
    attribute `traced_nodes` of the copy: the node of the model, whether the op belongs to the backward
    pass, whether it is in a loop, and the number of the op in the function (`group`).

    In a loop, the element is the step, negated where the loop runs from the last step to the first.
    Elsewhere it is 0. It is the largest number where there is no NaN. The entry with the least group,
    then the least element, then the least number made the first NaN.

    ```mlir
    func.func @nans_grad(...) -> (tensor<2xi64> {bppsa.output = "first_nans"})
        attributes {traced_nodes = [{backward = false, group = 1 : i64, in_loop = false,
                                     node = "/Log", op = "Log"}, ...]}
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def BuildOptimizer : Pass<"bppsa-build-optimizer", "::mlir::ModuleOp"> {
  let summary = "adds a function that updates the parameters";
  let description = [{
    Adds `@update`, one step of an optimizer on flat arrays: all trained
    parameters, each padded with zeros to a multiple of 16 floats, their
    gradients, and two arrays of state of the same length (one for `momentum`
    and `rmsprop`, none for `sgd`; what is not used is not touched). States
    start as zero. `%hyper` holds the learning rate, the weight decay, the
    number of the step (from 1), a factor for the gradients, beta1 (the momentum
    of `momentum`, the smoothing constant of `rmsprop`), beta2 and epsilon. The
    formulas are those of PyTorch's optimizers: the weight decay is added to the
    gradient, but is a factor on the parameters in `adamw`.

    Adds `@sumsq`, the sum of the squares of an array, in f64 and in an order
    that does not depend on anything but the length.

    Where arguments of functions have `bppsa.nonzeros`, pruned elements and their states stay zero,
    and both functions take the numbers of the blocks of `lanes` elements that are not all pruned,
    as their last argument: they touch nothing else.

    ```mlir
    func.func @update(%params: memref<?xf32>, %grads: memref<?xf32>, %state0: memref<?xf32>,
                      %state1: memref<?xf32>, %hyper: memref<8xf32>)
    func.func @sumsq(%grads: memref<?xf32>, %out: memref<f64>)
    // Of a pruned model:
    func.func @update(..., %hyper: memref<8xf32>, %blocks: memref<?xi32>)
    func.func @sumsq(%grads: memref<?xf32>, %out: memref<f64>, %blocks: memref<?xi32>)
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"adam\"",
           "a word of --optimizer">,
    Option<"lanes", "lanes", "int64_t", /*default=*/"16",
           "Elements of one vector, a divisor of 16; 1 leaves elements to threads that run side "
           "by side, and the order of the sum of squares to the target">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def Differentiate : Pass<"bppsa-differentiate", "::mlir::ModuleOp"> {
  let summary = "adds a function that computes a loss and its gradients";
  let description = [{
    Copies the function `of` and continues it with the reverse-mode derivative
    of its first result, a `tensor<f32>`. The new function returns the loss and
    one gradient for each differentiated argument, in the order of the
    arguments: those with `bppsa.parameter` and without `bppsa.frozen`, with
    `wrt=states` also every f32 argument with `bppsa.carried`, and with
    `wrt=all` every one with `bppsa.input`. The result attribute
    `bppsa.gradient` holds the argument's name.

    Where a result has `bppsa.objective` (`bppsa-interlock`), that is differentiated in place of the
    first one, and is not returned. `bppsa.stop_gradient` has done its work afterwards and is not
    in the new function.

    An argument with `bppsa.nonzeros`, an array of i1, is known to be zero where
    that is false; its gradient is zero there, too, so that it stays so.

    Each op on a path from a differentiated argument to the loss passes its
    cotangent on by the rule of its `VJPOpInterface`; an op without one is an
    error. A `bppsa.recurrence` becomes a `bppsa.chain`. `bppsa.mark_phase`
    divides the forward from the backward part.

    With `cotangents`, the names of results with `bppsa.output`, the function need not
    have a loss. The new one takes a cotangent for each of them (`bppsa.target`), after
    the other arguments, and returns all results of `of`, then the gradients of the sum
    of these outputs times their cotangents: vector-Jacobian products.

    With `links`, cotangents go through each chain of layers by a list of
    `jacobian.link`, each with the rules of its operations and its transposed Jacobian;
    gradients of parameters hang off the list. Chains are cut where a value
    has several users, an operation several active inputs, or no structure is
    known, which remarks of the category `links` explain. Functions with a
    `bppsa.recurrence` have no such chains.

    ```mlir
    func.func @loss(%x: tensor<4xf32> {bppsa.input = "x"}, %w: tensor<4xf32> {bppsa.parameter = "w"})
        -> (tensor<f32> {bppsa.loss})
    ```
    gets the company of
    ```mlir
    func.func @step(%x: tensor<4xf32> {bppsa.input = "x"}, %w: tensor<4xf32> {bppsa.parameter = "w"})
        -> (tensor<f32> {bppsa.loss}, tensor<4xf32> {bppsa.gradient = "w"})
    ```
  }];
  let options = [
    Option<"of", "of", "std::string", /*default=*/"\"loss\"", "function to differentiate">,
    Option<"name", "name", "std::string", /*default=*/"\"step\"", "name of the new function">,
    Option<"role", "role", "std::string", /*default=*/"\"\"",
           "role of the new function in `bppsa.entry`; empty for a function without a role">,
    Option<"variant", "variant", "std::string", /*default=*/"\"\"",
           "variant of the new function in `bppsa.entry`">,
    Option<"wrt", "wrt", "std::string", /*default=*/"\"parameters\"",
           "parameters, states: also the states before the first step, or all: also the inputs">,
    Option<"links", "links", "bool", /*default=*/"false",
           "chains of layers become lists of jacobian.link">,
    ListOption<"cotangents", "cotangents", "std::string",
               "outputs that cotangents are given for, in place of a loss">,
  ];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect", "::bppsa::BPPSADialect"
  ];
}

def SpecializeTraining : Pass<"bppsa-specialize-training", "::mlir::ModuleOp"> {
  let summary = "gives dropout and statistics their training and inference behaviour";
  let description = [{
    Adds a copy of `function`, named `result`, in which each `bppsa.dropout`
    drops elements and each `bppsa.running_statistic` is that of the batch; in
    every other function dropout becomes the identity and the statistic the
    running one.

    Which elements are dropped is a hash of the argument `bppsa.seed` (added
    where there is a dropout), of the dropout's `stream` and of the element's
    position: the backward pass sees the same mask without storing it.

    The copy has a further result `bppsa.updated = "name"` for each parameter with
    `bppsa.statistic` that something normalises with: its value after the step. A parameter without that attribute is frozen:
    it is used in the copy too.

    Where the copy has means over ranks (`dist.rank_mean`), which are the identity elsewhere, it has a
    last result `bppsa.objective`: the loss times `dist.rank_weight`. The gradients of the batch
    are then the sums of those of the ranks, divided by the sum of these weights.

    ```mlir
    func.func @loss(%x: tensor<?xf32>) -> tensor<f32> {
      %0 = bppsa.dropout %x ratio 5.0e-01 stream 0 : tensor<?xf32>
    ```
    gets the company of
    ```mlir
    func.func @training_loss(%x: tensor<?xf32>, %seed: tensor<i64> {bppsa.seed}) -> tensor<f32> {
      %0 = linalg.generic ... ins(%x : tensor<?xf32>)
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"loss\"", "function to copy">,
    Option<"result", "result", "std::string", /*default=*/"\"training_loss\"",
           "name of the copy">,
  ];
  let dependentDialects = [
    "::bppsa::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def RaiseProducts : Pass<"bppsa-raise-products", "::mlir::func::FuncOp"> {
  let summary = "turns matrix products at every step into loops without states";
  let description = [{
    A `linalg.generic` that multiplies a `[T, B, K]` array with a matrix, and the
    addition of a vector after it, become a `bppsa.recurrence` without states.
    It is then computed, and so are its gradients, by the kernels of
    recurrences.

    ```mlir
    %1 = linalg.generic ... ins(%x, %w : tensor<?x?x32xf32>, tensor<5x32xf32>) // x w^T
    ```
    becomes
    ```mlir
    %1 = bppsa.recurrence sequences(%x : tensor<?x?x32xf32>) captures(%w : tensor<5x32xf32>)
        outputs(tensor<?x?x5xf32>) {
    ^bb0(%row: vector<32xf32>, %matrix: vector<5x32xf32>):
      %2 = bppsa.matvec %matrix, %row : vector<5x32xf32>, vector<32xf32> -> vector<5xf32>
      bppsa.yield %2 : vector<5xf32>
    }
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def SliceEarly : Pass<"bppsa-slice-early", "::mlir::func::FuncOp"> {
  let summary = "computes only the slices that are used";
  let description = [{
    Moves each `tensor.extract_slice` before the transpositions, reshapes and
    elementwise ops whose result it cuts, where nothing else uses that result. A
    loss that looks at one time step then cuts the trajectory of a recurrence
    itself, so that its cotangent enters the chain as a seed and not as a
    sequence of zeros.

    ```mlir
    %0 = linalg.transpose ins(%x : tensor<?x?x8xf32>) ... permutation = [1, 0, 2]
    %1 = tensor.extract_slice %0[0, 7, 0] [%b, 1, 8] [1, 1, 1]
    ```
    becomes
    ```mlir
    %0 = tensor.extract_slice %x[7, 0, 0] [1, %b, 8] [1, 1, 1]
    %1 = linalg.transpose ins(%0 : tensor<1x?x8xf32>) ... permutation = [1, 0, 2]
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // BPPSA_DIFFERENTIATION_PASSES
