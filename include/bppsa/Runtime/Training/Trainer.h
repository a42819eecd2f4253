//===- Trainer.h - The training loop --------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_TRAINER_H
#define BPPSA_RUNTIME_TRAINING_TRAINER_H

#include "bppsa/Runtime/Options.h"

namespace bppsa::runtime {

/// Runs `train`. Returns the exit status: 0; 1 where the checkpoint or the log could not be
/// written, which has been said; or 128 + the signal that interrupted it.
int train(const Program &program, const Options &options);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_TRAINER_H
