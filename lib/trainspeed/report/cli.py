"""The command line: `python -m trainspeed report | check | render | share | plan | fleet | …`. Does no work itself."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from trainspeed.core.errors import UNKNOWN_FORM, UserError
from trainspeed.core.files import CHECK

MISTAKE = 2


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; a user's mistake is printed in one line and returns 2."""
    options = _parser().parse_args(arguments)
    try:
        _check_folder()
        return options.run(options)
    except UserError as problem:
        print(f"trainspeed: {problem}", file=sys.stderr, flush=True)
        return MISTAKE
    except KeyboardInterrupt:
        return 130


def _check_folder() -> None:
    """Raise a UserError where the folder in which the user works, from which paths are seen, has been deleted."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise UserError("the working directory has been deleted: change to another one, `cd …`") from None


def _parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(add_help=False)
    out.add_argument("--out", type=Path, default=Path("outputs"), help="output folder (default: outputs)")
    folder = argparse.ArgumentParser(add_help=False, parents=[out])
    names = 'names, such as "layout amp" (default: all)'
    folder.add_argument("--notebooks", type=_names, default=(), help=names)
    choice = argparse.ArgumentParser(add_help=False, parents=[folder])
    presets = "smoke, quick, standard, article, or auto: quick without a GPU"
    choice.add_argument("--preset", default="auto", help=presets)
    params = "YAML file, or its text, 'layout: {blocks: 10}': notebook -> parameters, on top of the preset"
    choice.add_argument("--params", type=_params, help=params)
    budget = "time that the whole report may take, such as 90s, 15m or 1h30m (default: the preset's)"
    choice.add_argument("--budget", help=budget)
    model = "a model in place of all others: your own, path/file.py:function, timm/<name> or keras/<name>"
    choice.add_argument("--model", help=model)
    nodes = "equal nodes that train together, beside one alone: within a fleet"
    choice.add_argument("--nodes", help=nodes)

    where = argparse.ArgumentParser(add_help=False)
    where.add_argument("--fleet", type=Path, help="fleet.yaml: machines, how many of each, prices")
    where.add_argument("--head", default="", help="the head's address (default: that of the last `node`)")

    parser = argparse.ArgumentParser(
        prog="trainspeed", description="Measure what makes your training faster."
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    report = commands.add_parser("report", parents=[choice], help="measure, and write the report")
    report.add_argument("--resume", action="store_true", help="continue the newest session in the folder")
    report.set_defaults(run=_report)
    plan_help = "print the trials and the time a report would take"
    plan = commands.add_parser("plan", parents=[choice, where], help=plan_help)
    plan.add_argument("--hands", type=int, default=1, help=argparse.SUPPRESS)
    plan.add_argument("--sums", type=Path, help=argparse.SUPPRESS)
    plan.set_defaults(run=_plan)
    render_help = "write the report of runs that exist already"
    render = commands.add_parser("render", parents=[folder], help=render_help)
    render.add_argument("--from", dest="source", type=Path, help="folder with the runs (default: --out)")
    render.set_defaults(run=_render)
    share_help = "put a report into one file to send on, and its verdicts into Markdown, JSON and a badge"
    share = commands.add_parser("share", parents=[out], help=share_help)
    share.add_argument("--from", dest="source", type=Path, help="folder with runs, whose report is shared")
    share.set_defaults(run=_share)
    compare_help = "show the same trials of two or more folders of runs side by side"
    compare = commands.add_parser("compare", parents=[out], help=compare_help)
    # Optional here, so that missing ones get our own message of one line.
    side = "folder with runs, or a ledger; the others are compared with the first"
    compare.add_argument("sides", metavar="SIDE", nargs="*", default=[], help=side)
    compare.add_argument("--runs", metavar="SIDES", help="the same in one text, with spaces between")
    price = 'price of an hour of each side\'s machine, in US dollars, such as "1.2 - 3.9"; -: not known'
    compare.add_argument("--usd", help=price)
    compare.add_argument(
        "--usd-of-two", metavar="USD", help="the same, of two sides that are named one by one"
    )
    compare.set_defaults(run=_compare)
    history_help = "show the sessions of a folder, or of several, in the order of time"
    history = commands.add_parser("history", parents=[out], help=history_help)
    history.add_argument(
        "ledgers", metavar="LEDGER", nargs="*", default=[], help="folder with runs (default: --out)"
    )
    history.add_argument("--runs", metavar="LEDGERS", help="the same in one text, with spaces between")
    history.set_defaults(run=_history)
    check_help = "check on this machine that times, work and memory are measured right"
    commands.add_parser("check", parents=[out], help=check_help).set_defaults(run=_check)
    node = commands.add_parser("node", help="make this machine a node of a fleet")
    node.add_argument("--as", dest="machine", default="", help="what it is called in fleet.yaml")
    node.add_argument("--head", help="the head's host:port; without it this machine is the head")
    node.add_argument("--address", help="this machine's address in the fleet's network, or its interface")
    node.add_argument("--measure", action="store_true", help="measure on the head, too")
    node.set_defaults(run=_node)
    fleet_help = "measure on every machine of a fleet, and compare them"
    fleet = commands.add_parser("fleet", parents=[choice, where], help=fleet_help)
    fleet.add_argument("--resume", action="store_true", help="continue the newest session in each folder")
    fleet.set_defaults(run=_fleet)
    commands.add_parser("data", help="download the data sets").set_defaults(run=_data)
    return parser


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


# These functions import what they call, so that `--help` and a mistyped option answer at once.
def _report(options: argparse.Namespace) -> int:
    from trainspeed.report.run import report

    return report(resume=options.resume, **_choice(options))


def _check(options: argparse.Namespace) -> int:
    from trainspeed.report.run import report

    # The notebook's own parameters are the long form; presets of reports have a short one.
    return report(out=options.out, notebooks=(CHECK,), preset=CHECK)


def _plan(options: argparse.Namespace) -> int:
    from trainspeed.report.run import plan

    if options.fleet:
        from trainspeed.report.fleet_plan import plan_fleet

        order, file = _order("plan", options), _fleet_file(options)
        return plan_fleet(file, out=options.out, order=order, cluster=_cluster(options.head))
    return plan(hands=options.hands, sums=options.sums, **_choice(options))


def _render(options: argparse.Namespace) -> int:
    from trainspeed.report.run import render

    return render(out=options.out, source=options.source, notebooks=options.notebooks)


def _share(options: argparse.Namespace) -> int:
    from trainspeed.report.share import share

    return share(out=options.out, source=options.source)


def _compare(options: argparse.Namespace) -> int:
    from trainspeed.report.compare import compare_reports, prices_typed, sides_typed

    sides = sides_typed(options.sides, options.runs)
    return compare_reports(sides, prices_typed(options.usd, options.usd_of_two), out=options.out)


def _history(options: argparse.Namespace) -> int:
    from trainspeed.report.compare import draw_history, sides_typed

    return draw_history(sides_typed(options.ledgers, options.runs), out=options.out)


def _node(options: argparse.Namespace) -> int:
    from trainspeed.conduct.cluster import ray_node

    measures = options.measure or bool(options.head)
    return ray_node.start_node(options.machine, options.head, options.address, measures=measures)


def _fleet(options: argparse.Namespace) -> int:
    from trainspeed.report.fleet import fleet

    order = _order("report", options)
    file = _fleet_file(options)
    return fleet(file, out=options.out, order=order, cluster=_cluster(options.head), resume=options.resume)


def _order(command: str, options: argparse.Namespace) -> Any:
    from trainspeed.report.fleet_order import order_of

    chosen = {name: value for name, value in _choice(options).items() if name not in ("out", "has_gpu")}
    return order_of(command, **chosen)


def _fleet_file(options: argparse.Namespace) -> Path:
    """Return the file of a fleet, once it has been read."""
    from trainspeed.report.fleet_file import read_fleet

    if not options.fleet:
        raise UserError(
            "no FLEET: name a file, FLEET=fleet.yaml, with a line such as `machines: {a10g: {nodes: 2}}`."
        )
    read_fleet(options.fleet)
    return options.fleet


def _cluster(head: str) -> Any:
    """Return what reaches the nodes; the variables are read as it is imported."""
    from trainspeed.conduct.cluster import credentials, ray_node

    address, port = ray_node.check_head(head or credentials.remembered_head())
    os.environ.update(ray_node.engine_variables())
    from trainspeed.conduct.cluster.ray_cluster import RayCluster

    return RayCluster(f"{address}:{port}")


def _data(options: argparse.Namespace) -> int:
    from trainspeed.conduct.machine import download

    download()
    return 0


def _choice(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "preset": options.preset,
        "notebooks": options.notebooks,
        "out": options.out,
        "params": options.params,
        "has_gpu": _has_gpu(options.preset),
        "model": _model(options.model),
        "budget": options.budget,
        "nodes": options.nodes,
    }


def _params(given: str) -> Path | str:
    from trainspeed.report.parameters import file_or_text

    return file_or_text(given)


def _model(path_and_function: str | None) -> str | None:
    """Return the model's name in a trial; kernels and workers learn its folder from their environment."""
    from trainspeed.core import user_model
    from trainspeed.core.library_model import in_a_library, is_library_model

    name, folder = None, Path.cwd()
    if is_library_model(path_and_function):
        name = path_and_function
    elif path_and_function and (meant := in_a_library(path_and_function)):
        raise UserError(
            "MODEL", path_and_function, f": did you mean {' or '.join(meant)}?", form=UNKNOWN_FORM
        )
    elif path_and_function:
        name, folder = user_model.locate_model(path_and_function, folder)
    if name or not os.environ.get(user_model.FOLDER_VARIABLE):
        os.environ[user_model.FOLDER_VARIABLE] = str(folder)
    return name


def _has_gpu(preset: str) -> bool:
    """Whether a GPU would be trained on; only the preset "auto" asks."""
    if preset != "auto":
        return False
    from trainspeed.conduct.machine import has_gpu

    return has_gpu()
