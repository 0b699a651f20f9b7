"""Where a lever takes hold in a training, and how a run sees whether it did. Knows no framework.

A framework's hooks are in a table of its own, name of the lever -> `Hook`; those that need none are in `host`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.result import Seen
from trainspeed.core.trial import Trial
from trainspeed.worker.data.sets import Images
from trainspeed.worker.failures import Unsupported, first_line

Options = Mapping[str, Mapping[str, Any]]  # what is built -> keyword arguments for it
Step = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Hook:
    """What a lever does, each function with the lever's value first; one that it does not need is None.

    Attributes:
        flags: (value, device): sets flags of the process, before anything is built.
        images: (value, images, trial): returns the data set that is trained on and evaluated with.
        options: (value): keyword arguments of what is built, by what that is: see `Levers.options`.
        trial_options: (value, trial): the same, where the trial decides too; raises Unsupported where it cannot be.
        model: (value, model): returns the model that is trained, before it is spread or compiled.
        spread: (value, model): returns the model as its strategy has wrapped it, before it is compiled.
        step: (value, training, step): returns a step that does it too.
        seen: (value, training): what was in effect, after training.
    """

    flags: Callable[[str, str], None] | None = None
    images: Callable[[str, Images, Trial], Images] | None = None
    options: Callable[[str], Options] | None = None
    trial_options: Callable[[str, Trial], Options] | None = None
    model: Callable[[str, Any], Any] | None = None
    spread: Callable[[str, Any], Any] | None = None
    step: Callable[[str, Any, Step], Step] | None = None
    seen: Callable[[str, Any], Seen]


class Levers:
    """The levers of a trial, with their hooks.

    Args:
        hooks: Of the framework.
    Raises:
        Unsupported: One of them has no hook in the framework's table.
    """

    def __init__(self, trial: Trial, hooks: Mapping[str, Hook]) -> None:
        if lacking := [name for name, _ in trial.levers if name not in hooks]:
            raise Unsupported(f"{', '.join(lacking)}: it has no hook in worker/levers/ for {trial.framework}")
        self._trial = trial
        self._of_trial = [(value, hooks[name]) for name, value in trial.levers]
        self._names = [name for name, _ in trial.levers]

    def set_flags(self, device: str) -> None:
        """Set the flags of the process; device is "cpu" or "gpu".

        Raises:
            Unsupported: One of them does nothing on such a device.
        """
        for name in self._names:
            if why := LEVERS[name].why_not(self._trial.framework, device):
                raise Unsupported(f"{name}: {why}")
        for value, hook in self._of_trial:
            if hook.flags:
                hook.flags(value, device)

    def images(self, images: Images) -> Images:
        """Return the data set that is trained on and evaluated with."""
        for value, hook in self._of_trial:
            images = hook.images(value, images, self._trial) if hook.images else images
        return images

    def options(self, place: str) -> dict[str, Any]:
        """Return the keyword arguments for what is built: "optimizer", "compile", "ddp", "fit", "feed" and so on."""
        merged: dict[str, dict[str, Any]] = defaultdict(dict)
        for value, hook in self._of_trial:
            own = hook.options(value) if hook.options else {}
            of_trial = hook.trial_options(value, self._trial) if hook.trial_options else {}
            for where, keywords in (*own.items(), *of_trial.items()):
                merged[where].update(keywords)
        return merged[place]

    def model(self, model: Any) -> Any:
        """Return the model that is trained."""
        for value, hook in self._of_trial:
            model = hook.model(value, model) if hook.model else model
        return model

    def spread(self, model: Any) -> Any:
        """Return the model as its strategy has wrapped it."""
        for value, hook in self._of_trial:
            model = hook.spread(value, model) if hook.spread else model
        return model

    def step(self, training: Any, step: Step) -> Step:
        """Return the step that is trained with."""
        for value, hook in self._of_trial:
            step = hook.step(value, training, step) if hook.step else step
        return step

    def seen(self, training: Any) -> dict[str, Seen]:
        """Return what was in effect of each lever, after training; a look that fails has seen nothing of its lever."""
        pairs = zip(self._names, self._of_trial, strict=True)
        return {name: _looked(hook, value, training) for name, (value, hook) in pairs}


def _looked(hook: Hook, value: str, training: Any) -> Seen:
    try:
        return hook.seen(value, training)
    except Exception as problem:  # the other levers are worth having without it
        return None, f"{type(problem).__name__}: {first_line(problem)}"
