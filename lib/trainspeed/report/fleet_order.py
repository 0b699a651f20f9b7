"""What a fleet is asked for: checked here first, then said to the nodes with the files that it names, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from trainspeed.conduct.cluster.orders import ReportOrder
from trainspeed.core.user_model import find_model, is_user_model, user_models_in
from trainspeed.report.parameters import yaml_text
from trainspeed.report.request import NODES, new_session
from trainspeed.report.run import NOTEBOOKS

PARAMS = "params.yaml"  # the file that a node gets them in


def order_of(
    command: Literal["report", "plan"],
    *,
    preset: str = "auto",
    notebooks: Sequence[str] = (),
    params: Path | str | None = None,
    model: str | None = None,
    budget: str | None = None,
    nodes: str | None = None,
    folder: Path = NOTEBOOKS,
) -> ReportOrder:
    """Return the order that is the same for every machine. The other arguments are those of `new_session`.

    The preset "auto" goes on as it is: each machine knows whether it has a GPU.

    Raises:
        UserError: A name or a value is wrong.
    """
    chosen: dict[str, Any] = {"preset": preset, "notebooks": notebooks, "model": model, "budget": budget}
    chosen |= {"nodes": nodes}
    session = new_session(folder=folder, params=params, **chosen)
    arguments = ["--preset", preset]
    arguments += ["--params", PARAMS] if params else []
    arguments += ["--model", model] if model else []
    arguments += [f"--budget={budget}"] if budget else []
    arguments += ["--nodes", nodes] if nodes else []
    sources = {PARAMS: yaml_text(params)} if params else {}
    models = user_models_in([*session.parameters.values()]) | (
        {model} if model and is_user_model(model) else set()
    )
    return ReportOrder(
        command=command,
        arguments=tuple(arguments),
        notebooks=tuple(notebooks),
        sources=sources | _files_of(models),
        together=_most_together(session.parameters.values()),
    )


def _most_together(parameters: Iterable[Mapping[str, Any]]) -> int:
    """Return the largest number of nodes of any notebook; one that is no number is told where it is planned."""
    counts = (count for values in parameters for count in values.get(NODES, ()))
    return max((count for count in counts if isinstance(count, int)), default=1)


def _files_of(models: Iterable[str]) -> dict[str, str]:
    """Return the path of each model's file, as a trial names it -> its text."""
    return {name.rpartition(":")[0]: find_model(name).read_text(encoding="utf-8") for name in sorted(models)}
