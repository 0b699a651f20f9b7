"""The command line: `python -m trainspeed report | render | plan | data`. Knows the words, not the work."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trainspeed.errors import UserError

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

    data = commands.add_parser("data", help="download the data sets")
    data.set_defaults(run=_data)
    return parser


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("outputs"), help="output folder (default: outputs)")
    parser.add_argument(
        "--notebooks",
        type=_words,
        default=(),
        help='names, such as "layout amp" (default: all but the summary)',
    )


def _add_choice(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    parser.add_argument(
        "--preset", default="auto", help="smoke, quick, standard, article, or auto: quick without a GPU"
    )
    parser.add_argument("--params", type=Path, help="YAML file: notebook -> parameters, on top of the preset")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


# The imports wait, so that `--help` and a mistyped option answer at once.
def _report(options: argparse.Namespace) -> int:
    from trainspeed.report import report

    return report(
        preset=options.preset,
        notebooks=options.notebooks,
        out=options.out,
        params_file=options.params,
        resume=options.resume,
        has_gpu=_has_gpu(options.preset),
    )


def _plan(options: argparse.Namespace) -> int:
    from trainspeed.report import plan

    return plan(
        preset=options.preset,
        notebooks=options.notebooks,
        out=options.out,
        params_file=options.params,
        has_gpu=_has_gpu(options.preset),
    )


def _render(options: argparse.Namespace) -> int:
    from trainspeed.report import render

    return render(out=options.out, source=options.source, notebooks=options.notebooks)


def _data(options: argparse.Namespace) -> int:
    from trainspeed.datasets import download

    download()
    return 0


def _has_gpu(preset: str) -> bool:
    """Whether the driver shows a GPU; only the preset "auto" asks."""
    if preset != "auto":
        return False
    from trainspeed.detect import machine

    return bool(machine()["gpus"])


if __name__ == "__main__":
    sys.exit(main())
