"""The lines are as XLA prints them: jaxlib 0.10 on a CPU, and the GPU compiler's own tests and logs."""

import pytest

from trainspeed.worker.hlo import convolutions


def layouts(text):
    return [layout for layout, _ in convolutions(text)]


CPU = (
    "  ROOT %convolution.1 = f32[8,16,16,64]{3,2,1,0} convolution(%param_0, %param_1), "
    "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
    'metadata={op_name="jit(f)/conv_general_dilated" stack_frame_id=2}'
)


def cudnn(labels, order="3,2,1,0"):
    return (
        f"  %conv = (f16[128,64,56,56]{{{order}}}, u8[0]{{0}}) custom-call(f16[128,64,56,56]{{{order}}} %x, "
        f"f16[64,64,3,3]{{{order}}} %w), window={{size=3x3 pad=1_1x1_1}}, dim_labels={labels}, "
        'custom_call_target="__cudnn$convForward", backend_config={"conv_result_scale":1}'
    )


@pytest.mark.parametrize(
    ("line", "layout"),
    [
        (CPU, "channels_last"),
        (CPU.replace("b01f", "bf01"), "channels_first"),
        (cudnn("bf01_oi01->bf01"), "channels_first"),
        (cudnn("b01f_o01i->b01f"), "channels_last"),
        (
            "  %c = f32[8,16,16,64]{3,2,1,0:T(8,128)} convolution(%a, %b), dim_labels=b01f_01io->b01f",
            "channels_last",
        ),
        (
            "  conv.3 = convolution(input.1, filter.2), window={size=3x3}, dim_labels=bf01_oi01->bf01",
            "channels_first",
        ),
        ("dim_labels=bf01_oi01->bf01", "channels_first"),
    ],
)
def test_the_layout_of_a_convolution(line, layout):
    assert layouts(line) == [layout]


@pytest.mark.parametrize(
    ("labels", "order", "layout"),
    [
        ("bf01_oi01->bf01", "1,3,2,0", "channels_last"),
        ("b01f_o01i->b01f", "2,1,3,0", "channels_first"),
    ],
)
def test_where_memory_is_laid_out_otherwise_than_the_labels_it_is_the_memory_that_counts(
    labels, order, layout
):
    """As in XLA's own test of a convolution that it laid out for Tensor Cores: f16[…]{1,3,2,0}, bf01."""
    assert layouts(cudnn(labels, order)) == [layout]


def test_every_convolution_of_a_module_is_counted_in_order_and_nothing_else():
    module = "\n".join(
        [
            "HloModule jit_forward, entry_computation_layout={(f32[8,16,16,3]{3,2,1,0})->f32[8,10]{1,0}}",
            CPU,
            "  %dot.3 = f32[8,10]{1,0} dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            cudnn("bf01_oi01->bf01"),
            '  %t = f32[8,3,16,16]{3,2,1,0} transpose(%x), dimensions={0,3,1,2}, metadata={op_name="conv"}',
            CPU,
        ]
    )
    assert layouts(module) == ["channels_last", "channels_first", "channels_last"]


def test_an_order_that_is_neither_layout_is_told_as_it_stands():
    """As the gradient of a kernel: the batch takes the place of the channels."""
    line = (
        "  %g = f32[3,3,3,64]{3,2,1,0} convolution(%x, %dy), window={size=16x16}, dim_labels=f01b_i01o->01bf"
    )
    assert layouts(line) == ["f01b"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "HloModule empty",
        "  %c = f32[8,16,64]{2,1,0} convolution(%a, %b), window={size=3}, dim_labels=b0f_0io->b0f",
        "  %c = f32[8,4,4,4,64]{4,3,2,1,0} convolution(%a, %b), dim_labels=b012f_012io->b012f",
    ],
)
def test_where_there_is_no_2_d_convolution_there_is_no_layout(text):
    assert layouts(text) == []
