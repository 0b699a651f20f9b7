"""What the multi-GPU notebook measures: several devices, what their steps are made of, and what feeds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from trainspeed.conduct.machine import cores_here, devices_here, nodes_here
from trainspeed.conduct.plan import Plan, TrialSet, one_per_framework, planner
from trainspeed.core.trial import Trial
from trainspeed.judge.verdict import MIN_BLOCKS
from trainspeed.studies.multi_gpu.costs import share_trials
from trainspeed.studies.multi_gpu.links import (
    OVERLAP_BLOCKS,
    check_forecast,
    link_trials,
    overlap_trials,
)
from trainspeed.studies.multi_gpu.pipelines import baselines, pipeline_trials, worker_counts
from trainspeed.studies.multi_gpu.scaling import (
    LEAST_STEPS,
    STRONG,
    WEAK,
    device_counts,
    images_for,
    node_counts,
    scaling_trials,
)

ARTICLE_FRAMEWORKS = ("tensorflow", "torch")
# In which the arms of a comparison differ.
SCALING_FACTORS = ("devices", "nodes", "strategy", "batch_size")
ACROSS = ("framework", "strategy")  # in which the articles hold trials of two comparisons against each other
PIPELINE_FACTORS = ("pipeline", "workers", "part", "augment")


@dataclass(frozen=True, kw_only=True)
class MultiGpuPlan(Plan):
    """One device against several, and the input pipelines.

    Attributes:
        core: Compared in every block, in the first precision; on one device there is nothing to compare.
        articles: The same in the articles' layouts, where the time is enough.
        survey: The other kind of scaling, further precisions, models and batch sizes, with fewer blocks.
        hidden: The parts of a step whose overlap is looked at: one device's share, the exchange of gradients.
        alone: One device's share of the other steps on several devices.
        sums: What the links between devices are fitted to, before and after all others.
        fed: The input pipelines, with input and compute alone.
        counts: Numbers of devices that are measured.
        least_steps: Steps that an epoch on several devices has.
    """

    core: TrialSet
    articles: TrialSet
    survey: TrialSet
    hidden: TrialSet
    alone: TrialSet
    sums: TrialSet
    fed: TrialSet
    counts: Sequence[int]
    least_steps: int

    @property
    def core_name(self) -> str:
        """Name of the set that is left out last: on one device the pipelines, which it can compare."""
        alone = all(trial.devices * trial.nodes == 1 for trial in self.scaled)
        return "fed" if alone and self.fed.trials and self.fed.blocks else super().core_name

    @property
    def scaled(self) -> tuple[Trial, ...]:
        """Whole steps on one device and on several."""
        return (*self.core, *self.articles, *self.survey)

    @property
    def parts(self) -> tuple[Trial, ...]:
        """Parts of these steps, each alone."""
        return (*self.hidden, *self.alone)


@planner
def plan_multi_gpu(
    *,
    frameworks: Sequence[str],
    strategies: Sequence[str],
    devices: Sequence[int],
    max_devices: int,
    nodes: Sequence[int],
    models: Sequence[str],
    layouts: Sequence[str],
    article_layouts: Sequence[str],
    precisions: Sequence[str],
    compile: Sequence[bool],
    batch_sizes: Sequence[int],
    blocks: int,
    survey_models: Sequence[str],
    survey_batch_sizes: Sequence[int],
    survey_blocks: int,
    compared: Sequence[str],
    pipelines: Sequence[str],
    pipeline_frameworks: Sequence[str],
    pipeline_models: Sequence[str],
    pipeline_devices: Sequence[int],
    crossed_pipelines: Sequence[str],
    pipeline_batch_size: int,
    pipeline_images_per_epoch: int,
    pipeline_blocks: int,
    workers: Sequence[int],
    queue: int,
    forecast_devices: Sequence[int],
    forecast_overlap: float | None,
    link_alpha_s: float | None,
    link_bytes_per_s: float | None,
    controls: Sequence[str],
    image_size: int,
    images_per_epoch: int,
    epochs: int,
    accuracy_blocks: int,
    dataset: str,
    seed: int,
) -> MultiGpuPlan:
    """Return the plan of the notebook's parameters, which its parameter cell explains.

    Raises:
        UserError: A value that cannot be measured, or with which nothing can be forecast.
    """
    available, kind = devices_here("multi_gpu")
    counts = device_counts(devices, max_devices, available)
    many = node_counts(nodes, nodes_here("multi_gpu"))
    totals = sorted({count * number for count in counts for number in many})
    fed_counts = device_counts(pipeline_devices or counts, max_devices, available, name="pipeline_devices")
    check_forecast(link_alpha_s, link_bytes_per_s, forecast_devices, forecast_overlap)
    least_steps = LEAST_STEPS[kind]
    kinds = (STRONG, WEAK) if survey_blocks else compared
    images = images_for(images_per_epoch, batch_sizes, totals, kinds, least_steps)
    equal = {"image_size": image_size, "epochs": epochs, "dataset": dataset, "seed": seed}
    spread = partial(
        scaling_trials, asked=devices, nodes=many, images_per_epoch=images, least_steps=least_steps, **equal
    )
    scaled = partial(spread, frameworks, strategies, counts, layout=layouts, compile=compile)
    first = precisions[:1]
    core = scaled(kinds=compared, model=models, batch_size=batch_sizes, precision=first)
    of_articles = [name for name in frameworks if name in ARTICLE_FRAMEWORKS]
    articles: tuple[Trial, ...] = ()
    if article_layouts and of_articles:
        plain = {"layout": article_layouts, "precision": first, "compile": compile[:1]}
        plain |= {"model": models, "batch_size": batch_sizes}
        articles = spread(of_articles, strategies, counts, kinds=(STRONG,), **plain)
    survey = scaled(model=models, batch_size=batch_sizes, precision=precisions)  # both kinds of scaling
    if survey_batch_sizes:  # of one kind, that fit into a short report
        survey += scaled(kinds=compared, model=models, batch_size=survey_batch_sizes, precision=first)
    survey += scaled(model=survey_models, batch_size=batch_sizes, precision=first) if survey_models else ()
    fed = pipeline_trials(
        pipeline_frameworks,
        pipeline_models,
        pipelines,
        worker_counts(workers, cores_here("multi_gpu")),
        fed_counts,
        crossed=crossed_pipelines,
        layout="channels_last",
        precision=precisions[0],
        batch_size=pipeline_batch_size,
        images_per_epoch=pipeline_images_per_epoch,
        queue=queue,
        **equal,
    )
    few = {"blocks": survey_blocks, "parameter": "survey_blocks"}
    hidden_blocks = max(survey_blocks, min(blocks, OVERLAP_BLOCKS)) if survey_blocks else 0
    forecast_here = forecast_devices and link_alpha_s is None
    sums = link_trials(core, shared_memory=kind != "GPU") if forecast_here else ()
    controlled = one_per_framework(core, controls)
    # One device has nothing to be compared with; there the pipelines are what is compared.
    several = max(totals) > 1
    compared_in = {"blocks": blocks} if several else few
    fed_in = {"blocks": pipeline_blocks, "parameter": "pipeline_blocks"}
    if pipeline_blocks and not several:
        enough = max(pipeline_blocks, min(blocks, MIN_BLOCKS))
        fed_in |= {"blocks": enough, "controls": one_per_framework(baselines(fed), controls)}
    return MultiGpuPlan(
        core=TrialSet(
            trials=core, controls=controlled if several else (), factors=SCALING_FACTORS, **compared_in
        ),
        articles=TrialSet(trials=articles, factors=SCALING_FACTORS, across=ACROSS, **compared_in),
        survey=TrialSet(
            trials=survey,
            anchors=core if survey_batch_sizes else (),
            factors=SCALING_FACTORS,
            lines=bool(survey_batch_sizes),
            **few,
        ),
        hidden=TrialSet(trials=overlap_trials(core), **(few | {"blocks": hidden_blocks})),
        alone=TrialSet(trials=share_trials(core), **few),
        sums=TrialSet(trials=sums, around=True, **(few | {"blocks": 2 if sums else 0})),
        fed=TrialSet(trials=fed, factors=PIPELINE_FACTORS, **fed_in),
        counts=counts,
        least_steps=least_steps,
        accuracy_blocks=accuracy_blocks,
        seed=seed,
    )
