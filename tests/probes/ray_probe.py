"""A head that measures nothing and two nodes, all on this machine: what a run on a node finds, printed as JSON."""

import json
import os
import sys
from pathlib import Path

import psutil

from trainspeed.conduct.cluster import credentials, ray_node
from trainspeed.core.ledger import RUNS_FILE

TRIAL = {"library": "scipy_signal", "mode": "loop", "images": 2, "height": 8, "width": 8}
ORDER = dict(session="s", study="conv2d", device="cpu", timeout_s=60.0, turn_s=0.05, interval_s=1.0)
ORDER |= dict(accuracy_blocks=0, rounds=1, runs=[{"block": 0, "label": "", "trial": TRIAL}])
LONG_ORDER = ORDER | {"session": "long", "turn_s": 0.25}  # four turns: a hundred times what a removal takes


def of_process(pid):
    """What a process was handed down: by its parents alone, as Linux keeps it."""
    folder = Path("/proc") / str(pid)
    status = dict(
        line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line
    )
    variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
    return {
        "nice": psutil.Process(pid).nice(),
        "oom_score_adj": int((folder / "oom_score_adj").read_text()),
        "blocked": int(status["SigBlk"], 16),
        "variables": sorted(variable.partition("=")[0] for variable in variables),
        "token_told": any(str(credentials.token_path()) in variable for variable in variables),
    }


def workers_below(pid):
    """The processes below another one in which frameworks are imported."""
    below = psutil.Process(pid).children(recursive=True)
    return [child.pid for child in below if "trainspeed.worker.main" in child.cmdline()]


def runs_in(lines):
    """The lines of runs in what a node answers until it has measured."""
    answers = [json.loads(line) for line in lines]
    return [
        run for answer in answers if answer.get("file") == RUNS_FILE for run in answer["text"].splitlines()
    ]


def main(folder):
    os.environ |= {credentials.PATH_VARIABLE: f"{folder}/token", "RAY_TMPDIR": folder}
    credentials.make_token()
    os.environ |= ray_node.engine_variables()
    from ray.cluster_utils import Cluster

    from trainspeed.conduct.cluster import ray_cluster
    from trainspeed.conduct.cluster.node import NodeLost, resource_of
    from trainspeed.core.errors import UserError

    common = {"object_store_memory": ray_node.OBJECT_STORE_BYTES, "include_log_monitor": False}
    head = {**common, "num_cpus": 0, "include_dashboard": False}
    machines = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        machines.add_node(**common, num_cpus=1, resources={resource_of("box"): 1})
    found = {}
    cluster = ray_cluster.RayCluster(machines.address)
    try:
        nodes = cluster.nodes("box", 2, after=2)
        found["names"] = [node.name for node in nodes]
        told = json.loads(cluster.connection(nodes))
        found["told"] = told["names"]
        for actor in told["actors"]:
            ray_cluster.ray.get_actor(actor, namespace=ray_cluster.NAMESPACE)
        facts = [json.loads(line) for line in nodes[0].call("facts")]
        found["facts"] = sorted(facts[-1]["facts"])
        found["lines"] = list(nodes[0].call("start", json.dumps(ORDER)))
        found["runs"] = [of_process(pid) for pid in workers_below(os.getpid())]
        ray_cluster.LET_GO_S = 0.0
        for machine, most in (("box", 2), ("bok", 1), ("box", 3)):
            try:
                cluster.nodes(machine, most)
            except UserError as problem:
                found.setdefault("refused", []).append(str(problem))
        measuring = {node.name: node.call("measure", json.dumps(LONG_ORDER)) for node in nodes}
        for lines in measuring.values():
            next(lines)  # it has begun
        machines.remove_node(machines.list_all_nodes()[1], allow_graceful=False)
        answers = {}
        for name, lines in measuring.items():
            try:
                answers[name] = [json.loads(run)["status"] for run in runs_in(lines)]
            except NodeLost:
                answers[name] = "lost"
        found["after"] = sorted(answers.values(), key=str)
        ray_cluster.LET_GO_S, ray_cluster.PLACE_S = 20.0, 20.0
        (alive,) = [name for name, answer in answers.items() if answer != "lost"]
        again = cluster.renewed(nodes)
        found["renewed"] = [node.name == alive for node in again]
        found["still_run"] = len(workers_below(os.getpid()))
        found["answer"] = [len(list(node.call("facts"))) for node in again]
    finally:
        cluster.close()
        machines.shutdown()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
