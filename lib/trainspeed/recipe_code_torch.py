"""The code to paste for a torch recipe: see `recipe_code`. Text only; knows no framework."""

from __future__ import annotations

from trainspeed.trial import WITH_WORKERS, Trial

TYPES = {"fp16": "torch.float16", "bf16": "torch.bfloat16"}


def torch_code(trial: Trial) -> str:
    """Return a torch program that trains as the trial does."""
    parts = [_imports(trial), _settings(trial), _batches(trial), _model(trial), _loop(trial)]
    return "\n".join(line for part in parts for line in part)


def _imports(trial: Trial) -> list[str]:
    lines = ["import os", ""] if trial.strategy == "ddp" else []
    if trial.pipeline == "threads":
        lines = [
            *lines[:-1],
            "from collections import deque",
            "from concurrent.futures import ThreadPoolExecutor",
            "",
        ]
    functions = "cross_entropy, interpolate" if trial.pipeline == "resize" else "cross_entropy"
    lines += ["import torch", f"from torch.nn.functional import {functions}"]
    if trial.strategy == "ddp":
        lines.append("from torch.nn.parallel import DistributedDataParallel")
    return [
        *lines,
        "",
        "# Yours: make_model(), a module that returns logits;",
        "# images, a float32 tensor (count, 3, height, width), and labels, an int64 tensor (count,).",
    ]


def _settings(trial: Trial) -> list[str]:
    kind = "tf32" if trial.precision == "tf32" else "ieee"
    lines = ['device = torch.device("cuda" if torch.cuda.is_available() else "cpu")']
    if trial.strategy == "ddp":
        lines = [
            f"# Start it with: torchrun --nproc-per-node {trial.devices} train.py",
            "# Without a GPU a device is one CPU core; one process that uses all cores may be as fast.",
            'rank = int(os.environ["LOCAL_RANK"])',
            'device = torch.device("cuda", rank) if torch.cuda.is_available() else torch.device("cpu")',
            'if device.type == "cuda":',
            "    torch.cuda.set_device(device)",
            'torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")',
            "ranks = torch.distributed.get_world_size()",
        ]
    lines += [
        "torch.backends.cudnn.benchmark = True",
        f'torch.backends.cudnn.conv.fp32_precision = "{kind}"',
        f'torch.backends.cuda.matmul.fp32_precision = "{kind}"',
    ]
    if trial.layout == "channels_last":
        lines.append("images = images.contiguous(memory_format=torch.channels_last)")
    if trial.strategy == "ddp":
        lines.append(
            "shuffled = torch.Generator().manual_seed(0)  # alike on all ranks, which share each batch"
        )
    return lines


def _batches(trial: Trial) -> list[str]:
    """The functions that choose, make and augment a batch."""
    ddp = trial.strategy == "ddp"
    size = trial.batch_size
    shuffled = f"torch.randperm(len(images){', generator=shuffled' if ddp else ''}).split({size})"
    share = "chosen.chunk(ranks)[rank]" if ddp else "chosen"
    lines = [
        "",
        "",
        "def order():  # of an epoch; a last, smaller batch would be compiled anew",
        f"    batches = {shuffled}",
        f"    return [{share} for chosen in batches if len(chosen) == {size}]",
        "",
        "",
    ]
    if trial.augment:
        lines += [
            "def augment(x):  # yours; here half of the images are mirrored",
            "    mirrored = torch.rand(len(x), 1, 1, 1, device=x.device) < 0.5",
            "    return torch.where(mirrored, x.flip(3), x)",
            "",
            "",
        ]
    return [*lines, *WORKERS[trial.pipeline](trial)] if trial.pipeline in WITH_WORKERS else lines


def _made(trial: Trial) -> str:
    """The images of a batch, as they are made on the host."""
    on_host = trial.augment and trial.pipeline != "in_model"
    return "augment(images[chosen])" if on_host else "images[chosen]"


def _threads(trial: Trial) -> list[str]:
    return [
        "def make(chosen):",
        f"    return {_made(trial)}, labels[chosen]",
        "",
        "",
        "def batches():  # made by threads, so many ahead of the training",
        "    ahead = deque()",
        f"    with ThreadPoolExecutor({trial.workers}) as threads:",
        "        for chosen in order():",
        "            ahead.append(threads.submit(make, chosen))",
        f"            if len(ahead) > {trial.queue}:",
        "                yield ahead.popleft().result()",
        "        while ahead:",
        "            yield ahead.popleft().result()",
        "",
        "",
    ]


def _processes(trial: Trial) -> list[str]:
    ahead = -(-trial.queue // trial.workers)
    return [
        "class Order:",
        "    def __iter__(self):",
        "        return iter(order())",
        "",
        "",
        "class Batches(torch.utils.data.Dataset):",
        "    def __getitem__(self, chosen):",
        f"        return {_made(trial)}, labels[chosen]",
        "",
        "",
        "# Where processes are not forked (macOS, Windows), all below belongs into a main function.",
        "loader = torch.utils.data.DataLoader(",
        "    Batches(),",
        "    batch_size=None,  # what the data set returns is a whole batch",
        "    sampler=Order(),",
        f"    num_workers={trial.workers},",
        f"    prefetch_factor={ahead},",
        "    persistent_workers=True,",
        ")",
    ]


WORKERS = {"threads": _threads, "processes": _processes}


def _format(trial: Trial) -> str:
    last = trial.layout == "channels_last"
    return f"memory_format={'torch.channels_last' if last else 'torch.contiguous_format'}"


def _model(trial: Trial) -> list[str]:
    lines = [f"model = make_model().to(device, {_format(trial)})"]
    if trial.strategy == "ddp":
        lines.append(
            'model = DistributedDataParallel(model, device_ids=[rank] if device.type == "cuda" else None)'
        )
    if trial.strategy == "data_parallel":
        lines.append(f"model = torch.nn.DataParallel(model, device_ids=list(range({trial.devices})))")
    if trial.compile:
        lines.append("model = torch.compile(model)")
    lines.append("optimizer = torch.optim.Adam(model.parameters())")
    if trial.precision == "fp16":
        lines.append("scaler = torch.amp.GradScaler(device.type)")
    return lines


def _loop(trial: Trial) -> list[str]:
    feeds = {"threads": "for x, y in batches():", "processes": "for x, y in loader:"}
    head = [feeds[trial.pipeline]] if trial.pipeline in feeds else []
    if not head:
        head = ["for chosen in order():", f"    x, y = {_made(trial)}, labels[chosen]"]
    lines = [
        *head,
        '    if device.type == "cuda":',
        "        x, y = x.pin_memory(), y.pin_memory()",
        f"    x = x.to(device, non_blocking=True, {_format(trial)})",
        "    y = y.to(device, non_blocking=True)",
    ]
    if trial.pipeline == "resize":
        lines.append(f'    x = interpolate(x, ({trial.image_size}, {trial.image_size}), mode="bilinear")')
    if trial.pipeline == "in_model" and trial.augment:
        lines.append("    x = augment(x)")
    lines.append("    optimizer.zero_grad(set_to_none=True)")
    loss = "loss = cross_entropy(model(x).float(), y)"
    if trial.precision in TYPES:
        lines += [f"    with torch.autocast(device.type, {TYPES[trial.precision]}):", f"        {loss}"]
    else:
        lines.append(f"    {loss}")
    if trial.precision == "fp16":
        steps = ["scaler.scale(loss).backward()", "scaler.step(optimizer)", "scaler.update()"]
    else:
        steps = ["loss.backward()", "optimizer.step()"]
    lines += [f"    {step}" for step in steps]
    end = ["torch.distributed.destroy_process_group()"] if trial.strategy == "ddp" else []
    return ["for epoch in range(100):", *(f"    {line}" for line in lines), *end]
