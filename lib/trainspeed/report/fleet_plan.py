"""The command plan for a fleet: what the report would take on each machine. It is planned on a node of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from trainspeed.conduct.cluster.node import Cluster, Node, NodeLost, Refused
from trainspeed.conduct.cluster.orders import ReportOrder, answer_of, encode_message
from trainspeed.conduct.forecast import PlanSums
from trainspeed.core.format import counted, minutes
from trainspeed.core.ledger import RUNS_FILE
from trainspeed.report.fleet_file import MachineOfFleet, check_together, read_fleet
from trainspeed.report.machine_report import check_nodes

MOST_AT_ONCE = 32
S_PER_HOUR = 3600.0


def plan_fleet(file: Path, *, out: Path, order: ReportOrder, cluster: Cluster) -> int:
    """Print the runs, blocks, minutes and price of a report on every machine; return the exit code.

    Args:
        file: `fleet.yaml`.
        out: The fleet's folder, whose earlier runs tell how long a trial takes.
    Raises:
        UserError: Something is wrong with what was asked for.
    """
    machines = read_fleet(file).machines
    try:
        check_together(machines, order.together)
        nodes = {name: cluster.nodes(name, machine.nodes) for name, machine in machines.items()}
        check_nodes(nodes)  # what a report would refuse, its plan does
        with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
            found = pool.map(lambda name: _plan_on(nodes[name], machines[name], out / name, order), nodes)
            sums = dict(zip(nodes, found, strict=True))
    finally:
        cluster.close()
    for line in lines_of(machines, sums):
        print(line, flush=True)
    return 0 if all(isinstance(found, PlanSums) for found in sums.values()) else 1


def _plan_on(
    nodes: Sequence[Node], machine: MachineOfFleet, folder: Path, order: ReportOrder
) -> PlanSums | str:
    """Return what a report would take there, or why that is not known."""
    ledger = folder / RUNS_FILE
    files = {RUNS_FILE: ledger.read_text(encoding="utf-8")} if ledger.is_file() else {}
    order = msgspec.structs.replace(
        order, command="plan", arguments=(*order.arguments, "--hands", str(machine.nodes)), files=files
    )
    if not nodes:
        return "its nodes are lost"
    said = ""
    try:
        for line in nodes[0].call("report", encode_message(order)):
            answer = answer_of(line)
            said += answer.said or ""
            if answer.plan and not answer.code:
                return answer.plan
    except (NodeLost, Refused) as problem:
        return str(problem)
    return next((line for line in reversed(said.splitlines()) if line.strip()), "it has no plan")


def lines_of(machines: Mapping[str, MachineOfFleet], sums: Mapping[str, PlanSums | str]) -> list[str]:
    """Return a line for each machine, and one for all of them."""
    lines, longest_s, prices = [], 0.0, []
    for name, found in sums.items():
        if isinstance(found, str):
            lines.append(f"{name}: {found}")
            continue
        machine = machines[name]
        blocks = f"{found.fewest} to " if found.fewest < found.most else ""
        line = f"{name}, {counted(machine.nodes, 'node')}: {counted(found.runs, 'run')} in {blocks}"
        line += f"{counted(found.most, 'block')}, "
        line += f"about {minutes(found.seconds)}"
        longest_s = max(longest_s, found.seconds)
        if machine.usd_per_hour is not None:
            # Rounded, so that the sum is that of what is shown.
            prices.append(round(machine.usd_per_hour * machine.nodes * found.seconds / S_PER_HOUR, 2))
            line += f", ${prices[-1]:.2f}"
        lines.append(line)
    whole = f"All of it, side by side: about {minutes(longest_s)}"
    unpriced = [name for name in sums if machines[name].usd_per_hour is None]
    if prices:
        whole += f", ${sum(prices):.2f}" + (f" and what {', '.join(unpriced)} cost" if unpriced else "")
    return [*lines, f"{whole}."]
