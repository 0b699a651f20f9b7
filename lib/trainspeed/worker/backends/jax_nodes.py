"""JAX on several nodes, with a process on each: how they meet, agree on turns, and part. Knows no model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import jax
import keras
import numpy as np
from jax._src import distributed
from jaxlib import _jax

from trainspeed.worker.backends.rank_variables import NCCL_INTERFACE
from trainspeed.worker.gang import Gang
from trainspeed.worker.timing import Another

# Nodes rest as long as others have their turns, which may take days: who has begun a run ends it.
REST_MS = 20 * 86_400 * 1000
YES, NO = "yes", "no"
NO_PROXY = "no_grpc_proxy"


class JaxNodes:
    """This process and those on the other nodes, which train as one.

    Args:
        gang: The nodes; no device may have been touched before.
    """

    def __init__(self, gang: Gang) -> None:
        self._follows = gang.follows
        if gang.interface:
            os.environ[NCCL_INTERFACE] = f"={gang.interface}"
            # XLA's gloo takes the address of the host's name, and JAX has no setting for it: the name may lead nowhere.
            _jax.make_gloo_tcp_collectives = partial(_jax.make_gloo_tcp_collectives, interface=gang.interface)
        # gRPC would ask the proxy of the user's web traffic for the way to the other nodes.
        os.environ[NO_PROXY] = ",".join(gang.addresses)
        address = gang.addresses[0]
        jax.distributed.initialize(
            coordinator_address=f"[{address}]:{gang.port}" if ":" in address else f"{address}:{gang.port}",
            num_processes=gang.nodes,
            process_id=gang.node,
            cluster_detection_method="deactivate",  # the gang alone says who takes part
        )

    def decided(self, another: Another) -> Another:
        """Return what node 0 answers, on every node; the others rest until it does.

        Args:
            another: Node 0's; not asked on the others.
        """
        client = distributed.global_state.client

        def answered(epoch_s: Sequence[float]) -> bool:
            key = f"trainspeed/after/{len(epoch_s)}"
            if self._follows:
                return client.blocking_key_value_get(key, REST_MS) == YES
            answer = another(epoch_s)
            client.key_value_set(key, YES if answer else NO)
            return answer

        return answered

    def part(self, *models: keras.Model) -> None:
        """Keep the weights of these models on this node, to be looked at alone, and let the other nodes go."""
        variables = {id(v): v for model in models for v in (*model.variables, *model.metrics_variables)}
        variables |= {id(v): v for model in models if model.compiled for v in model.optimizer.variables}
        values = {name: np.asarray(variable.value) for name, variable in variables.items()}
        keras.distribution.set_distribution(None)
        for name, variable in variables.items():
            variable._layout = None
            variable.assign(values[name])
        jax.distributed.shutdown()
