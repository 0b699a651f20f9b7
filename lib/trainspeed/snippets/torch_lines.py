"""What a torch program has for each lever. The places are those of `templates/torch.py.j2`."""

from __future__ import annotations

from collections.abc import Mapping

from trainspeed.core.levers.host import THREAD_VARIABLES
from trainspeed.core.trial import Trial
from trainspeed.snippets.lever_lines import IN_TEMPLATE, THRESHOLDS, Lines, Pasted, in_template, same_lines

OPTIMIZERS = {"fused": "fused=True", "foreach": "foreach=True", "loop": "foreach=False"}
BLOCKS = """\
kinds = collections.Counter(type(part) for part in model.modules())
CONTAINERS = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)


def blocks_of(part):  # the outermost of a class that the model repeats, of several layers: name your own
    layers = sum(bool(list(inner.parameters(recurse=False))) for inner in part.modules())
    if kinds[type(part)] > 1 and layers > 1 and not isinstance(part, CONTAINERS):
        return [part]
    return [block for child in part.children() for block in blocks_of(child)]


blocks = blocks_of(model)
torch._dynamo.config.recompile_limit = max(8, 2 * len(blocks))  # each shape counts
for block in blocks:
    block.compile(dynamic=False{mode})"""
HOOKED = """\
def read_mean(module, inputs, output):
    if isinstance(output, torch.Tensor):
        output.detach().float().mean().item()


for module in model.modules():
    if not list(module.children()):
        module.register_forward_hook(read_mean)"""
SCOPES = {
    "with_optimizer": {"after optimizer": "optimizer.step = torch.compile(optimizer.step{mode})"},
    "blocks": {"model": BLOCKS, "modules": "collections"},
}


def _scope(value: str, trial: Trial) -> Lines:
    mode = dict(trial.levers).get("compile_mode")
    keywords = f', mode="{mode}"' if mode else ""
    lines = {place: text.replace("{mode}", keywords) for place, text in SCOPES.get(value, {}).items()}
    return IN_TEMPLATE if value == "with_loss" else lines


THREADS: Mapping[str, Lines] = {
    "all": {"shell": "# PyTorch takes all cores by itself.", "unset": " ".join(THREAD_VARIABLES["torch"])},
    "half": {"flags": "torch.set_num_threads(max(1, torch.get_num_threads() // 2))"},
    "one": {"flags": "torch.set_num_threads(1)"},
    "as_set": {"flags": "# PyTorch takes as many threads as OMP_NUM_THREADS or MKL_NUM_THREADS says."},
}
TORCH: Pasted = {
    "optimizer": lambda value, _: {"optimizer": OPTIMIZERS[value]},
    "compile_mode": same_lines(compile='mode="{value}"'),
    "compile_scope": _scope,
    "pure_bf16": same_lines(model="model = model.bfloat16()", step="x = x.bfloat16()"),
    "math_mode": same_lines(
        flags='torch.backends.mkldnn.conv.fp32_precision = "{value}"\n'
        'torch.backends.mkldnn.matmul.fp32_precision = "{value}"'
    ),
    "flush_denormal": same_lines(flags="torch.set_flush_denormal(True)"),
    "ddp_options": same_lines(
        before_ddp="options = dict(gradient_as_bucket_view=True, static_graph=True, forward_sync_buffers=False)",
        ddp="**options",
    ),
    "ddp_buckets": same_lines(ddp="bucket_cap_mb={value}"),
    "ddp_batched_copy": same_lines(ddp="batched_grad_copy=True"),
    "ddp_compression": same_lines(
        imports="from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook",
        spread="model.register_comm_hook(None, bf16_compress_hook)",
    ),
    "cudnn_benchmark": same_lines(flags="torch.backends.cudnn.benchmark = True"),
    "cudnn_benchmark_limit": same_lines(flags="torch.backends.cudnn.benchmark_limit = 0  # all"),
    "depthwise_kernel": same_lines(flags='torch.backends.cudnn.depthwise_kernel = "{value}"'),
    "set_to_none": in_template,
    "sync_every_step": same_lines(after_step="loss.item()  # waits for the device"),
    "anomaly_mode": same_lines(flags="torch.autograd.set_detect_anomaly(True)"),
    "deterministic": same_lines(
        modules="os",
        flags='os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"\n'
        "torch.use_deterministic_algorithms(True)\ntorch.backends.cudnn.benchmark = False",
    ),
    "activation_hooks": same_lines(model=HOOKED),
    "threads": lambda value, _: THREADS[value],
    "malloc_thresholds": THRESHOLDS,
    "python_gc": same_lines(
        modules="gc", loop="gc.collect()\ngc.disable()  # where memory grows: gc.collect() in each epoch"
    ),
    "resident": in_template,
    "uint8": same_lines(
        data="images = (255 * images).round().to(torch.uint8)  # yours are in [0, 1]",
        moved="x = x.float().div_(255)",
    ),
    "transfer": in_template,
    "loader_persistent": in_template,
    "loader_order": same_lines(loader="in_order=False,"),
    "loader_context": same_lines(loader='multiprocessing_context="{value}",'),
}
