"""What each report was asked to run: `sessions.jsonl` beside the ledger, for `RESUME=1` and `make render`.

Knows what MODEL changes of it, by the names of the parameters, so a new notebook with `models` needs nothing here.
Does not run anything.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trainspeed.conduct.context import new_id
from trainspeed.core import user_model
from trainspeed.core.errors import UserError
from trainspeed.core.files import CHECK, COMPARE, DRAWING, SUMMARY
from trainspeed.core.format import minutes
from trainspeed.core.ledger import SESSIONS_FILE, read_lines
from trainspeed.core.library_model import find_library_model, is_library_model
from trainspeed.core.quantities import Duration, Elapsed, Identifier, Name
from trainspeed.core.trial import FRAMEWORKS, USER_DATA
from trainspeed.report import parameters
from trainspeed.report.budget import PARAMETER, budget_of

MODELS = "models"  # the parameter that a notebook on training has
IMAGE_SIZE = "image_size"
NODES = "nodes"  # the parameter that a notebook on several devices has
SURVEY = "survey_models"  # further models, of which none is left where the user brings one


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """One line of `sessions.jsonl`: what a report was asked to run, so that it can be continued.

    Attributes:
        budget_s: Seconds that the whole report may take; None without a limit.
        weights: Notebook -> the seconds that it needs first, next, and so on, of those that share that time.
        reserved_s: Notebook -> about how many seconds it takes, of those whose time the user has fixed.
        chosen_preset: The preset where the user named one; None where the machine decided.
        own: Notebook -> parameter -> the value that `params` has for it.
    """

    session: Identifier
    preset: Identifier
    notebooks: Annotated[tuple[Identifier, ...], Meta(min_length=1, max_length=100)]
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    started_at: Name = ""
    version: Name = ""
    budget_s: Duration | None = None
    weights: Mapping[str, Annotated[tuple[Elapsed, ...], Meta(max_length=10)]] = field(default_factory=dict)
    reserved_s: Mapping[str, Elapsed] = field(default_factory=dict)
    chosen_preset: Identifier | None = None
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def given_s(self) -> dict[str, float | None]:
        """Notebook -> the seconds that the user has given it, None for no limit, of those that share no time."""
        given = {name: own[PARAMETER] for name, own in self.parameters.items() if PARAMETER in own}
        return {name: seconds for name, seconds in given.items() if name not in self.weights}

    @property
    def fixed_s(self) -> dict[str, float]:
        """Notebook -> the seconds that are kept for it."""
        return {name: seconds for name, seconds in self.given_s.items() if seconds} | dict(self.reserved_s)


def new_session(
    *,
    folder: Path,
    preset: str = "auto",
    notebooks: Sequence[str] = (),
    params: Path | str | None = None,
    has_gpu: bool = False,
    model: str | None = None,
    budget: str | None = None,
    nodes: str | None = None,
) -> ReportRequest:
    """Return the request of what a user chose, with all names and parameters checked.

    Args:
        folder: Where the notebooks are.
        preset: Name of a file in the notebooks' `presets`, or auto: standard with a GPU, quick without.
        notebooks: Names, in the order in which they run; all when empty, in the order in which the preset names them.
        params: A YAML file or its text: notebook -> parameters, on top of the preset.
        has_gpu: Whether there is a GPU, for the preset auto.
        model: The user's own or a library's, in place of all others; what `params` says takes precedence.
        nodes: Number of equal nodes that are to train together, as typed.
        budget: The time that the whole report may take, such as "15m"; else the preset's, or that of the file.
    Raises:
        UserError: A name or a value is wrong.
    """
    chosen_preset = None if preset == "auto" else preset
    if chosen_preset is None:
        preset = "standard" if has_gpu else "quick"
    names = tuple(notebooks) or tuple(
        n for n in parameters.in_preset_order(preset, folder) if n not in DRAWING
    )
    if not names:
        raise UserError(f"no notebooks in {folder}")
    names = tuple(sorted(parameters.check_notebooks(names, folder), key=_place))
    if drawing := next((name for name in names if name in DRAWING), None):
        command = f"make {drawing}{' RUNS=…' if drawing == COMPARE else ''}"
        raise UserError(f"{drawing} measures nothing, so no report runs it: `{command}` does.")
    if model is not None:
        _check_model(model)
        names = _notebooks_of_models(names, folder, asked=bool(notebooks))
    values = parameters.resolve_parameters(names, folder, preset=preset, params=params)
    own = parameters.read_parameters(params, folder) if params else {}
    files = [folder / "presets" / f"{preset}.yaml", *filter(None, [params])]
    every = [name for name in parameters.notebook_names(folder) if name not in (*DRAWING, CHECK)]
    budget_s = budget_of(budget, files, [name for name in names if name != CHECK], every)
    sharing = [n for n in names if PARAMETER in values[n] and PARAMETER not in own.get(n, {})]
    if budget_s is None:  # a notebook's own time is for those who run it by itself
        values |= {name: values[name] | {PARAMETER: None} for name in sharing}
    if model is not None:
        values = {name: with_model(values[name], model) | own.get(name, {}) for name in names}
    if nodes:
        count = _node_count(nodes, values)
        values = {name: _with_nodes(values[name], count) | own.get(name, {}) for name in names}
    now = datetime.now(UTC)
    return ReportRequest(
        session=new_id(now),
        preset=preset,
        notebooks=names,
        parameters=values,
        started_at=now.isoformat(timespec="seconds"),
        version=version("trainspeed"),
        budget_s=budget_s,
        weights=dict.fromkeys(sharing, (1.0,)) if budget_s is not None else {},
        chosen_preset=chosen_preset,
        own={name: own[name] for name in names if own.get(name)},
    )


def _node_count(nodes: str, values: Mapping[str, Mapping[str, Any]]) -> int:
    """Return a number of nodes as the user typed it; a UserError where it is none, or no notebook asks for nodes."""
    if not nodes.strip().isdecimal() or int(nodes) < 1:
        raise UserError("NODES", nodes, "must be a whole number of nodes: NODES=2.")
    if not any(NODES in own for own in values.values()):
        raise UserError("NODES", nodes, "is for notebooks on several devices: NOTEBOOKS=multi_gpu, or all.")
    return int(nodes)


def _with_nodes(values: Mapping[str, Any], count: int) -> dict[str, Any]:
    return {**values, NODES: [1, count]} if NODES in values else dict(values)


def _check_model(model: str) -> None:
    """Raise a UserError where the library or the user's file has no such model."""
    if is_library_model(model):
        find_library_model(model)
    else:
        user_model.check_user_model(model)


def _place(name: str) -> int:
    """Return where a notebook comes: whether the instrument is right is known first, and the front page is last."""
    return {CHECK: 0, SUMMARY: 2}.get(name, 1)


def _notebooks_of_models(names: Sequence[str], folder: Path, *, asked: bool) -> tuple[str, ...]:
    """Return the notebooks that train a model, that which checks the instrument, and the front page.

    Where the user named them (`asked`), one that trains no model is an error; else it is left out.
    """
    training = [
        name
        for name in parameters.notebook_names(folder)
        if MODELS in parameters.read_notebook(folder / f"{name}.ipynb")
    ]
    others = [name for name in names if name not in (*training, CHECK, SUMMARY)]
    if not {*names} & {*training} or (asked and others):
        raise UserError(
            f"{(others or names)[0]} trains no model, so MODEL cannot be measured there: use "
            f'NOTEBOOKS="{" ".join(training)}" or fewer.'
        )
    return tuple(name for name in names if name not in others)


def with_model(values: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return a notebook's parameters with the user's or a library's model in place of all others.

    Lists of frameworks are cut to those that the model is for; a list that this would empty gets the model's
    first framework. A user's model brings its own weights, and its own data where its file has some; one of a
    library gets images of a size that it takes.
    """
    of_library = find_library_model(model) if is_library_model(model) else None
    frameworks = of_library.frameworks if of_library else user_model.frameworks_of(model)
    changed = dict(values)
    for name, value in values.items():
        if name == SURVEY:
            changed[name] = []
        elif name == MODELS or name.endswith(f"_{MODELS}"):
            changed[name] = [model]
        elif isinstance(value, list) and value and set(value) <= set(FRAMEWORKS):
            changed[name] = [item for item in value if item in frameworks] or list(frameworks[:1])
        elif name == "weights":
            changed[name] = None
        elif name == IMAGE_SIZE and of_library and MODELS in values:
            changed[name] = of_library.nearest_px(value)
        elif name == "dataset" and value == "auto" and not of_library and user_model.has_data(model):
            changed[name] = USER_DATA
    return changed


def set_by_user(session: ReportRequest, nodes: str | None = None) -> set[str]:
    """Return the notebooks of which a user has set what they measure, be it by `params` or by a number of nodes."""
    on_nodes = [name for name, values in session.parameters.items() if NODES in values] if nodes else ()
    return {*session.own, *on_nodes}


def read_sessions(out: Path) -> list[ReportRequest]:
    """Return the sessions of a folder, oldest first; damaged lines are left out."""
    sessions = []
    for _, line in read_lines(out / SESSIONS_FILE):
        with contextlib.suppress(ValueError, RecursionError):  # no JSON, half a character, too deep
            sessions.append(msgspec.json.decode(line, type=ReportRequest))
    return sessions


def session_to_continue(sessions: Sequence[ReportRequest], notebooks: Sequence[str]) -> ReportRequest | None:
    """Return the newest of some sessions, oldest first, that a resumed report goes on with; None where there is none.

    A check of the instrument beside a report is no newer report.

    Args:
        notebooks: Those that are asked for now, by name or because all are.
    """
    of_check = {*notebooks} == {CHECK}
    return next((one for one in reversed(sessions) if one.notebooks != (CHECK,) or of_check), None)


def check_session(session: ReportRequest, folder: Path) -> None:
    """Raise a UserError where the notebooks have changed so that the session cannot be continued."""
    try:
        for name in parameters.check_notebooks(session.notebooks, folder):
            known = parameters.read_notebook(folder / f"{name}.ipynb")
            parameters.check_parameters(name, known, session.parameters[name])
    except (UserError, KeyError) as problem:
        raise UserError(
            f"session {session.session} cannot be continued, the notebooks have changed since ({problem}): "
            "leave RESUME out"
        ) from None


def check_models_named(session: ReportRequest, names: Sequence[str], wanted: ReportRequest) -> None:
    """Raise a UserError where a session would run a model that the user has not named again.

    A folder may be somebody else's: what its `sessions.jsonl` names is a program.

    Args:
        names: Notebooks of the session that are continued.
        wanted: What the user asks for now, with MODEL and PARAMS in it.
    """
    models = user_model.user_models_in([session.parameters[name] for name in names])
    if unnamed := sorted(models - user_model.user_models_in([*wanted.parameters.values()])):
        raise UserError(
            f"session {session.session} trains {', '.join(map(repr, unnamed))}, which runs as a program: name it "
            "again to continue, with the MODEL=… or PARAMS=… that the report was begun with, or leave RESUME out"
        )


def check_same_budget(session: ReportRequest, wanted: ReportRequest) -> None:
    """Raise a UserError where a session is to go on with another time: how long it takes is set before any result."""
    if wanted.budget_s != session.budget_s:
        own = "has no limit" if session.budget_s is None else f"was given {minutes(session.budget_s)}"
        raise UserError(
            f"BUDGET ({minutes(wanted.budget_s)}) is not that of session {session.session}, which {own}: leave BUDGET "
            "out to go on with it, or leave RESUME out for a new report"
        )


def still_valid(name: str, session: ReportRequest | None, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters a notebook was measured with, as far as it still has them, and what is left out.

    Drawing old runs must not fail because a parameter has been renamed since: its default is used.
    """
    known = parameters.read_notebook(folder / f"{name}.ipynb")
    values = {parameter.name: parameter.default for parameter in known.values()}
    asked = session.parameters.get(name, {}) if session else {}
    doubts = []
    if gone := [parameter for parameter in asked if parameter not in known]:
        doubts.append(f"{name}: parameters that it no longer has are left out: {', '.join(map(repr, gone))}.")
    for parameter in (one for one in asked if one in known):
        try:
            parameters.check_parameters(name, known, {parameter: asked[parameter]})
        except UserError as problem:
            doubts.append(f"{problem} The default is used.")
        else:
            values[parameter] = asked[parameter]
    return values, doubts
