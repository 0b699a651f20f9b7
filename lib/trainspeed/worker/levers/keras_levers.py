"""What each lever does in Keras, on TensorFlow and on JAX alike."""

from __future__ import annotations

from collections.abc import Mapping

from trainspeed.worker.levers import host, keras_feeding, keras_host
from trainspeed.worker.levers.hook import Hook

HOOKS: Mapping[str, Hook] = {**host.HOOKS, **keras_host.HOOKS, **keras_feeding.HOOKS}
