"""SIGSTOP and SIGCONT at random times do not change the bits of the results."""

import os
import signal
import time

import training
from campaign import Campaign, check_end, end, start


class Stops(Campaign):
    """Training that is stopped and continued many times."""

    name = "stops"
    count, short = 200, 2

    def prepare(self, folder):
        self.trainings = training.learn_all(self.programs, folder / "trained", self.limit)

    def run(self, source, folder):
        trained = self.trainings[source.choice(self.programs.names)]
        trained.write_data(folder)
        command = trained.words()
        process = start(folder, command)
        stops = 0
        for _ in range(source.choice([1, 2, 5, 20])):
            time.sleep(source.uniform(0, trained.seconds / 3))
            if process.poll() is not None:
                break
            os.killpg(process.pid, signal.SIGSTOP)
            time.sleep(source.choice([0.001, 0.02, 0.2]))
            os.killpg(process.pid, signal.SIGCONT)
            stops += 1
        run = end(process, command, self.limit)
        check_end(run, accepted=(0,))
        trained.check_complete(run, folder)
        return "stopped" if stops else "ended before"
