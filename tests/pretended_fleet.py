"""Nodes of a fleet that only pretend, for the tests of the commands that ask them."""

import contextlib
import io

import msgspec

from trainspeed.conduct.cluster.facts import code_hash
from trainspeed.conduct.cluster.node import NodeLost, check_come
from trainspeed.conduct.cluster.orders import Reply, ReportOrder, encode_message

CODE = code_hash()


class PretendedNode:
    """Answers what it was given, and keeps what it was asked.

    Attributes:
        code: Hash of its code; None for one that is lost before it says so.
    """

    def __init__(self, name, answers):
        self.name, self.answers, self.asked, self.code = name, answers, [], CODE

    def call(self, method, order="{}"):
        if method == "facts":
            if self.code is None:
                raise NodeLost("it no longer answers")
            yield encode_message(Reply(facts={"machine": {}, "versions": {}, "code": self.code}))
            return
        self.asked.append((method, msgspec.json.decode(order, type=ReportOrder)))
        for answer in self.answers:
            if isinstance(answer, BaseException):
                raise answer
            yield encode_message(answer)


class PretendedCluster:
    """Has the nodes that it was given: machine -> what each of its nodes answers."""

    def __init__(self, **machines):
        self.pretended = {
            machine: [PretendedNode(f"{machine}-{n}", answers) for n, answers in enumerate(nodes, 1)]
            for machine, nodes in machines.items()
        }
        self.closed, self.after = False, {}

    def nodes(self, machine, most, *, after=0):
        self.after[machine] = after
        check_come(machine, most, [name for name, nodes in self.pretended.items() for _ in nodes])
        return self.pretended[machine][:most]

    def renewed(self, nodes):
        return [*nodes]

    def close(self):
        self.closed = True


def printed(call, *arguments, **options):
    """Return the exit code of a command and the lines that it printed."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = call(*arguments, **options)
    return code, said.getvalue().splitlines()
