"""The command line: `python -m trainspeed report | render | plan | compare | data`. Knows the words, not the work."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from trainspeed.core.errors import UserError

MISTAKE = 2


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; a user's mistake is one line and 2."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except UserError as problem:
        print(f"trainspeed: {problem}", file=sys.stderr, flush=True)
        return MISTAKE
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trainspeed", description="Measure what makes your training faster."
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    report = commands.add_parser("report", help="measure, and write the report")
    _add_choice(report)
    report.add_argument("--resume", action="store_true", help="continue the newest session in the folder")
    report.set_defaults(run=_report)

    plan = commands.add_parser("plan", help="print the trials and the time a report would take")
    _add_choice(plan)
    plan.set_defaults(run=_plan)

    render = commands.add_parser("render", help="write the report of runs that exist already")
    _add_folder(render)
    render.add_argument("--from", dest="source", type=Path, help="folder with the runs (default: --out)")
    render.set_defaults(run=_render)

    compare = commands.add_parser("compare", help="the same trials of two folders of runs side by side")
    for name in ("a", "b"):  # a missing one is told in a line of our own
        compare.add_argument(
            name, metavar=name.upper(), nargs="?", default="", help="folder with runs, or a ledger"
        )
    _add_out(compare)
    for name in ("a", "b"):
        price = f"price of an hour of {name.upper()}'s machine, in US dollars"
        compare.add_argument(f"--{name}-usd-per-hour", metavar="USD", help=price)
    compare.set_defaults(run=_compare)

    data = commands.add_parser("data", help="download the data sets")
    data.set_defaults(run=_data)
    return parser


def _add_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("outputs"), help="output folder (default: outputs)")


def _add_folder(parser: argparse.ArgumentParser) -> None:
    _add_out(parser)
    parser.add_argument(
        "--notebooks",
        type=_words,
        default=(),
        help='names, such as "layout amp" (default: all)',
    )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    parser.add_argument(
        "--preset", default="auto", help="smoke, quick, standard, article, or auto: quick without a GPU"
    )
    parser.add_argument("--params", type=Path, help="YAML file: notebook -> parameters, on top of the preset")
    parser.add_argument(
        "--model",
        help="a model of your own, path/file.py:function, in the place of all others: see examples/",
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


# The imports wait, so that `--help` and a mistyped option answer at once.
def _report(options: argparse.Namespace) -> int:
    from trainspeed.report.run import report

    return report(
        preset=options.preset,
        notebooks=options.notebooks,
        out=options.out,
        params_file=options.params,
        resume=options.resume,
        has_gpu=_has_gpu(options.preset),
        model=_own_model(options.model),
    )


def _plan(options: argparse.Namespace) -> int:
    from trainspeed.report.run import plan

    return plan(
        preset=options.preset,
        notebooks=options.notebooks,
        out=options.out,
        params_file=options.params,
        has_gpu=_has_gpu(options.preset),
        model=_own_model(options.model),
    )


def _render(options: argparse.Namespace) -> int:
    from trainspeed.report.run import render

    return render(out=options.out, source=options.source, notebooks=options.notebooks)


def _compare(options: argparse.Namespace) -> int:
    from trainspeed.report.compare import compare_reports

    return compare_reports(
        options.a,
        options.b,
        out=options.out,
        a_usd_per_hour=options.a_usd_per_hour,
        b_usd_per_hour=options.b_usd_per_hour,
    )


def _data(options: argparse.Namespace) -> int:
    from trainspeed.conduct.data_sets import fetch

    fetch()
    return 0


def _own_model(words: str | None) -> str | None:
    """Return the model's name in a trial; kernels and workers learn its folder by their environment."""
    from trainspeed.core import user_model

    name, folder = user_model.locate_model(words, Path.cwd()) if words else (None, Path.cwd())
    if words or not os.environ.get(user_model.FOLDER):
        os.environ[user_model.FOLDER] = str(folder)
    return name


def _has_gpu(preset: str) -> bool:
    """Whether the driver shows a GPU; only the preset "auto" asks."""
    if preset != "auto":
        return False
    from trainspeed.conduct.devices import gpu_seen

    return gpu_seen()


if __name__ == "__main__":
    sys.exit(main())
