"""What the multi-GPU notebook measures: several devices, what their steps are made of, and what feeds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainspeed.conduct.devices import cores_here, devices_here
from trainspeed.conduct.plan import Plan, TrialSet, one_per_framework, planner
from trainspeed.core.trial import Trial
from trainspeed.studies.multi_gpu import pipelines as feeding
from trainspeed.studies.multi_gpu import scaling
from trainspeed.studies.multi_gpu.costs import check_forecast, exchange_trials, share_trials
from trainspeed.studies.multi_gpu.scaling import device_counts, scaling_trials


@dataclass(frozen=True, kw_only=True)
class MultiGpuPlan(Plan):
    """One device against several, and the input pipelines.

    Attributes:
        core: Compared in every block.
        survey: The other kind of scaling, further models and batch sizes, shown with fewer blocks.
        alone: What a step on several devices is made of: a device's share, the exchange of gradients.
        fed: The input pipelines, with input and compute alone.
        counts: Numbers of devices.
    """

    core: TrialSet
    survey: TrialSet
    alone: TrialSet
    fed: TrialSet
    counts: Sequence[int]

    @property
    def scaled(self) -> tuple[Trial, ...]:
        """Whole steps on one device and on several."""
        return (*self.core, *self.survey)


@planner
def plan_multi_gpu(
    *,
    frameworks: Sequence[str],
    strategies: Sequence[str],
    devices: Sequence[int],
    max_devices: int,
    models: Sequence[str],
    layouts: Sequence[str],
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
    forecast_overlap: float,
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
    available, _ = devices_here("multi_gpu")
    counts = device_counts(devices, max_devices, available)
    fed_counts = device_counts(pipeline_devices or counts, max_devices, available, name="pipeline_devices")
    check_forecast(link_alpha_s, link_bytes_per_s, forecast_devices, forecast_overlap)

    def scaled(models: Sequence[str], batch_sizes: Sequence[int], kinds: Sequence[str]) -> tuple[Trial, ...]:
        return scaling_trials(
            frameworks,
            strategies,
            counts,
            kinds=kinds,
            asked=devices,
            model=models,
            layout=layouts,
            precision=precisions,
            compile=compile,
            batch_size=batch_sizes,
            image_size=image_size,
            images_per_epoch=images_per_epoch,
            epochs=epochs,
            dataset=dataset,
            seed=seed,
        )

    core = scaled(models, batch_sizes, compared)
    both = (scaling.STRONG, scaling.WEAK)
    survey = scaled(models, batch_sizes, both)
    survey += scaled(models, survey_batch_sizes, both) if survey_batch_sizes else ()
    survey += scaled(survey_models, batch_sizes, both) if survey_models else ()
    fed = feeding.pipeline_trials(
        pipeline_frameworks,
        pipelines,
        feeding.worker_counts(workers, cores_here()),
        fed_counts,
        model=pipeline_models,
        crossed=crossed_pipelines,
        layout="channels_last",
        image_size=image_size,
        epochs=epochs,
        dataset=dataset,
        seed=seed,
        batch_size=pipeline_batch_size,
        images_per_epoch=pipeline_images_per_epoch,
        queue=queue,
    )
    alone = share_trials(core) + exchange_trials(core)
    few = {"blocks": survey_blocks, "parameter": "survey_blocks"}
    return MultiGpuPlan(
        core=TrialSet(
            trials=core,
            blocks=blocks,
            controls=one_per_framework(core, controls),
            factors=scaling.COMPARED_FACTORS,
        ),
        survey=TrialSet(trials=survey, factors=scaling.COMPARED_FACTORS, **few),
        alone=TrialSet(trials=alone, **few),
        fed=TrialSet(
            trials=fed, blocks=pipeline_blocks, factors=feeding.COMPARED_FACTORS, parameter="pipeline_blocks"
        ),
        counts=counts,
        accuracy_blocks=accuracy_blocks,
        seed=seed,
    )
