"""What nodes answer, read by several threads at once: each machine of a fleet has its own."""

import subprocess
import sys

from trainspeed.core.paths import ROOT

READ_AT_ONCE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from trainspeed.conduct.cluster.orders import Reply, answer_of, encode_message

sys.setswitchinterval(1e-6)
answer = encode_message(Reply(facts={"machine": {}, "versions": {}, "code": "x"}))
together = Barrier(16)
def read(_):
    together.wait()
    return answer_of(answer).facts.code
with ThreadPoolExecutor(16) as pool:
    print(*pool.map(read, range(16)))
"""


def test_the_first_answers_of_several_nodes_are_read_at_once():
    """In two fresh processes, where nothing has been read: without a decoder made beforehand, most of them crash."""
    for _ in range(2):
        command = [sys.executable, "-c", READ_AT_ONCE]
        done = subprocess.run(command, cwd=ROOT / "lib", capture_output=True, text=True, timeout=100)
        assert (done.returncode, done.stdout.split()) == (0, ["x"] * 16)
