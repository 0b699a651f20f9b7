"""Which kernels of a profile are matrix work, what each took, and what lies between marks: of made-up profiles."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from trainspeed.worker.kernels import (
    Kernel,
    kernels_of_data,
    kernels_of_space,
    marked_spans_s,
    matrix_kernels,
    split_of,
)

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
    "gemm_fusion_dot_4",
    "triton_gemm_dot_12",
    "ampere_sgemm_128x64_nn",
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
    "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorConversionOp<float, int const>>, int>",
    "loop_add_fusion",
    "wrapped_sine",
    "MemcpyH2D",
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
STEP = {
    "aten::mkldnn_convolution": 30.0,
    "aten::native_batch_norm": 25.0,
    "aten::convolution_backward": 40.0,
    "aten::addmm": 3.0,
    "aten::mm": 2.0,
}


# Shares of a step.


def test_nothing_profiled_has_no_share():
    assert split_of({}) == split_of({"aten::add": 0.0}) == {"matrix_share": None, "kernels": []}


def test_the_share_is_of_all_time_and_the_longest_kernels_come_first():
    assert split_of(STEP) == {
        "matrix_share": 0.75,
        "kernels": ["aten::convolution_backward", "aten::mkldnn_convolution", "aten::addmm"],
    }


def test_long_names_are_cut():
    assert [len(name) for name in split_of({"gemm" * 100: 1.0})["kernels"]] == [120]


@pytest.mark.parametrize("name", MATRIX_WORK)
def test_convolutions_and_products_are_matrix_work(name):
    assert split_of({name: 2.0}) == {"matrix_share": 1.0, "kernels": [name]}


@pytest.mark.parametrize("name", [*OTHER_WORK, *DEPTHWISE])
def test_normalising_copying_and_depthwise_kernels_are_not(name):
    assert split_of({name: 2.0}) == {"matrix_share": 0.0, "kernels": []}


# Profiles of XLA and TensorFlow: see `probes/tf32_probe.py` for those that the frameworks read themselves.

STREAMS = {
    "Stream #7(Compute)": [("sgemm", 20, 5), ("gemm_fusion_dot_1", 0, 8)],
    "Stream #9": [("sgemm", 30, 5)],
}
OF_XLA = {"XLA Ops": [("dot.1", 0, 90)], "XLA Modules": [("conv", 0, 99)], "Source code": [("gemm", 0, 99)]}
OF_HOST = {"Stream #7(Compute)": [("gemm of the host", 0, 99)]}
RAN = [Kernel("gemm_fusion_dot_1", 1000, 8), Kernel("sgemm", 1020, 5), Kernel("sgemm", 1030, 5)]


def lines(told, line_of):
    return [SimpleNamespace(name=name, **line_of(events)) for name, events in told.items()]


def of_jax(events):
    made = [SimpleNamespace(name=name, start_ns=1000.0 + at, duration_ns=ns) for name, at, ns in events]
    return {"events": made}


def of_tensorflow(events):
    made = [
        SimpleNamespace(metadata_id=name, offset_ps=1000 * at, duration_ps=1000 * ns)
        for name, at, ns in events
    ]
    return {"timestamp_ns": 1000, "events": made}


def profile(line_of):
    """A GPU and the host; TensorFlow's has the names apart."""
    names = {
        name: SimpleNamespace(name=name)
        for told in (STREAMS, OF_XLA, OF_HOST)
        for e in told.values()
        for name, *_ in e
    }
    planes = {"/device:GPU:0": {**OF_XLA, **STREAMS}, "/host:CPU": OF_HOST}
    return SimpleNamespace(
        planes=[
            SimpleNamespace(name=name, lines=lines(told, line_of), event_metadata=names)
            for name, told in planes.items()
        ]
    )


def test_only_the_streams_of_gpus_count_as_other_lines_repeat_their_time():
    assert kernels_of_data(profile(of_jax)) == kernels_of_space(profile(of_tensorflow)) == RAN


def test_the_times_of_a_kernel_add_up_before_the_longest_come_first():
    assert matrix_kernels(RAN) == ["sgemm", "gemm_fusion_dot_1"]
    assert matrix_kernels([]) == []


def marked(*names):
    """A millisecond from each to the next."""
    return [Kernel(name, 1e6 * number, 1.0) for number, name in enumerate(names)]


def test_the_spans_are_those_from_mark_to_mark():
    ran = marked("sine", "reset", "sine", "gemm", "gemm", "sine", "read", "sine", "gemm", "sine", "read")
    assert marked_spans_s(ran, 2) == pytest.approx((0.003, 0.002))


@pytest.mark.parametrize("names", [(), ("sine",), ("sine", "sine", "gemm"), ("gemm", "sine", "gemm", "sine")])
def test_marks_that_cannot_be_told_are_none(names):
    """None was seen, one was lost, or something else has its name."""
    assert marked_spans_s(marked(*names), 1) is None
