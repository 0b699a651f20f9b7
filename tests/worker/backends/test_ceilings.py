"""What a device can do at most, and which of a step's kernels are matrix work."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from shared_workers import SharedWorkers
from trainspeed.core.phase import CEILINGS
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.judge.ceilings import ceiling_trials
from trainspeed.sensors.cpu import FLAGS_VARIABLE

# Names as profilers print them.
MATRIX_WORK = (
    "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_execute_kernel_cudnn",
    "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_execute_kernel__5x_cudnn",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x5_nn_align8>",
    "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT",
    "nvjet_tst_256x128_64x4_1x2_h_bz_NTN",
    "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_nn",
    "ampere_sgemm_128x32_nn",
    "ampere_scudnn_128x64_relu_xregs_large_nn_v1",
    "cudnn_infer_ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
    "volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1",
    "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>",
    "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, true>",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>",
    "triton_tem_fused_mm_0",
    "aten::mkldnn_convolution",
    "aten::convolution_backward",
    "aten::addmm",
    "aten::mm",
    "aten::bmm",
    "aten::linear",
)
OTHER_WORK = (
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>",
    "void cudnn::bn_bw_1C11_kernel_new<__half, float, float2, 512, true, 1>",
    "void cudnn::batchnorm_fwtr_nhwc_semiPersist<__nv_bfloat16, __nv_bfloat16, float, float, 1, 4, 1, 1>",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
    "void at::native::multi_tensor_apply_kernel<at::native::FusedAdamMathFunctor<float, 4>>",
    "void at::native::(anonymous namespace)::max_pool_forward_nhwc<float, int>",
    "void at::native::(anonymous namespace)::upsample_bilinear2d_out_frame<float, float>",
    "void cudnn::ops::nchwToNhwcKernel<float, __half, float, false, true, (cudnnKernelDataType_t)2>",
    "void cudnn::ops::scalePackedTensor_kernel<float, float>",
    "void convertTensor_kernel<float, __half, float, (cudnnKernelDataType_t)0>",
    "triton_poi_fused__to_copy_convolution_0",
    "triton_red_fused_convolution_native_batch_norm_backward_3",
    "Memcpy HtoD (Pinned -> Device)",
    "aten::batch_norm",
    "aten::native_batch_norm_backward",
    "aten::upsample_bilinear2d",
    "aten::copy_",
    "aten::comm",
)
# Convolutions, but not on matrix units.
DEPTHWISE = (
    "void cudnn::cnn::dgrad2d_grouped_direct_kernel<float, int, float, float, false, true, 1, 0>",
    "void cudnn::cnn::conv2d_grouped_direct_kernel<float, float, float, float, float, true>",
    "void conv2d_c1_k1_nhwc_kernel_specialized<__half, __half, __half, float, float, 5, 1, 8, 3, true>",
    "void cudnn::cnn::wgrad2d_c1_k1_nhwc_kernel<__half, float, float, 3, 1>",
    "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>",
)
ONE_EACH = (*MATRIX_WORK, *OTHER_WORK, *DEPTHWISE)
STEP = {
    "aten::mkldnn_convolution": 30.0,
    "aten::native_batch_norm": 25.0,
    "aten::convolution_backward": 40.0,
    "aten::addmm": 3.0,
    "aten::mm": 2.0,
}
LONG = {"gemm" * 100: 1.0}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def probed(shared_worker, tmp_path_factory):
    """What the probe says of the ceilings and of every profile above."""
    folder = tmp_path_factory.mktemp("probe")
    profiles, out = folder / "profiles.json", folder / "out.json"
    profiles.write_text(json.dumps([{}, {"aten::add": 0.0}, STEP, LONG, *({name: 2.0} for name in ONE_EACH)]))
    shared_worker("torch").probed("probes.ceilings_probe", profiles, out)
    return json.loads(out.read_text())


# Ceilings.


def test_the_work_of_a_ceiling_is_known_beforehand(probed):
    """A product of square matrices of 2,048, a convolution of 8 x 128 x 28 x 28, a copy of 256 MiB."""
    ceilings = probed["ceilings"]

    assert ceilings["matmul"]["flops"] == 2 * 2048**3
    assert ceilings["conv"]["flops"] == 2 * 8 * 28 * 28 * 128 * 128 * 3 * 3
    assert ceilings["copy"]["bytes"] == 2 * 256 * 2**20, "read and written"


@pytest.mark.parametrize("part", ["matmul", "conv"])
def test_torchs_own_counter_finds_the_same_work(probed, part):
    assert probed["ceilings"][part]["counted"] == probed["ceilings"][part]["flops"]
    assert probed["ceilings"][part]["bytes"] is None


def test_a_copy_multiplies_nothing(probed):
    assert probed["ceilings"]["copy"]["flops"] is None
    assert probed["ceilings"]["copy"]["counted"] == 0


def trial(part: str, precision: str = "fp32") -> Trial:
    """As the notebook's, but few steps."""
    made = next(t for t in ceiling_trials([precision], dataset="digits", seed=0) if t.part == part)
    return replace(made, images_per_epoch=1, epochs=3)


def run(shared_worker: SharedWorkers, a_trial: Trial):
    """Measure it as on a CPU that has bfloat16 and no float16."""
    environment = {FLAGS_VARIABLE: "avx512_bf16"}
    return shared_worker("torch").run(
        a_trial, environment=environment, plant="probes.short_ceilings", evaluate=True, inspect=True
    )


@pytest.mark.parametrize(
    ("part", "precision"), [*((phase.name, "fp32") for phase in CEILINGS), ("conv", "bf16")]
)
def test_a_ceiling_is_timed_and_trains_nothing(shared_worker, part, precision):
    outcome = run(shared_worker, trial(part, precision))

    assert outcome.status == Status.OK, outcome.reason
    assert len(outcome.result.epoch_s) == 3
    assert all(seconds > 0 for seconds in outcome.result.epoch_s)
    assert outcome.result.repeats >= 1
    assert outcome.result.test_accuracy is None
    assert outcome.result.skipped_steps is None
    assert (outcome.result.step_bytes if part == "copy" else outcome.result.step_flops) > 1e8


@pytest.mark.parametrize(
    ("precision", "reason"),
    [("tf32", "TF32 is a mode of NVIDIA GPUs"), ("fp16", "this CPU has no fp16 arithmetic")],
)
def test_a_ceiling_in_a_precision_that_the_device_lacks_is_a_row(shared_worker, precision, reason):
    outcome = run(shared_worker, trial("matmul", precision))

    assert outcome.status == Status.UNSUPPORTED
    assert reason in outcome.reason


# Shares of a step.


def test_nothing_profiled_has_no_share(probed):
    nothing, no_time = probed["splits"][:2]

    assert nothing == no_time == {"matrix_share": None, "kernels": []}


def test_the_share_is_of_all_time_and_the_longest_kernels_come_first(probed):
    assert probed["splits"][2] == {
        "matrix_share": 0.75,
        "kernels": ["aten::convolution_backward", "aten::mkldnn_convolution", "aten::addmm"],
    }


def test_long_names_are_cut(probed):
    assert [len(name) for name in probed["splits"][3]["kernels"]] == [120]


@pytest.mark.parametrize("name", MATRIX_WORK)
def test_convolutions_and_products_are_matrix_work(probed, name):
    assert probed["splits"][4 + ONE_EACH.index(name)] == {"matrix_share": 1.0, "kernels": [name]}


@pytest.mark.parametrize("name", [*OTHER_WORK, *DEPTHWISE])
def test_normalising_copying_and_depthwise_kernels_are_not(probed, name):
    assert probed["splits"][4 + ONE_EACH.index(name)] == {"matrix_share": 0.0, "kernels": []}
