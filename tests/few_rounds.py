"""Planted in a fork of a worker: a probe of epochs that is over soon."""

from trainspeed.worker.probes import epoch

epoch.ROUNDS = 1
