"""The published steps of single workers that dlsched carries."""

import dataclasses
from typing import Any

import pytest

from dlsched.cluster.published_rates import published_rates
from dlsched.cluster.published_stages import published_stages
from dlsched.cluster.published_steps import (
    IMAGENET_IMAGES,
    IMAGENET_SOURCE,
    NETWORK_BYTES_PER_S,
    PublishedSteps,
    Step,
    published_steps,
)

MODELS = ("AlexNet", "GoogLeNet", "VGG-16", "Inception v3", "ResNet-50", "ResNet-101", "ResNet-152")
STEP = Step("P100", 64, 0.5, None, "invented")
MODEL = PublishedSteps("M", "image", 10, "invented", (STEP, dataclasses.replace(STEP, gpu="K80")))


def of(model: str) -> PublishedSteps:
    """Return the published steps of this model."""
    (found,) = [steps for steps in published_steps() if steps.model == model]
    return found


def test_the_file_is_read_whole_and_once() -> None:
    """Seven models with eighteen steps on five types of GPU; the second call returns the same."""
    found = published_steps()
    assert published_steps() is found
    assert tuple(steps.model for steps in found) == MODELS
    assert sum(len(steps.steps) for steps in found) == 18
    assert {step.gpu for steps in found for step in steps.steps} == {"K80", "P100", "V100", "Titan X", "Pascal Titan X"}


def test_every_step_names_its_source() -> None:
    """A repository, a commit or a file, and its licence; a figure made from a rate says how."""
    for steps in published_steps():
        assert steps.parameter_source.endswith("."), steps.model
        for step in steps.steps:
            assert step.source.endswith("."), (steps.model, step.gpu)
            assert "(MIT)" in step.source or "(Apache-2.0)" in step.source
            rate = "images/s" in step.source or "steps/s" in step.source
            assert rate == (step.how is not None), (steps.model, step.gpu)
    assert "1,281,167" in IMAGENET_SOURCE
    assert IMAGENET_IMAGES == 1281167


@pytest.mark.parametrize(
    ("model", "gpu", "batch", "expected"),
    [
        ("AlexNet", "P100", 512, 512 / 2987),
        ("AlexNet", "K80", 512, 512 / 656),
        ("AlexNet", "Pascal Titan X", 16, 0.00504 + 0.00952),
        ("GoogLeNet", "Titan X", 128, 0.135 + 0.310),
        ("GoogLeNet", "Pascal Titan X", 16, 0.01206 + 0.02708),
        ("VGG-16", "P100", 64, 64 / 154),
        ("VGG-16", "K80", 32, 32 / 35.4),
        ("VGG-16", "Pascal Titan X", 16, 0.04159 + 0.08703),
        ("Inception v3", "P100", 64, 64 / 142),
        ("Inception v3", "K80", 64, 64 / 30.5),
        ("ResNet-50", "P100", 64, 64 / 219),
        ("ResNet-50", "K80", 64, 64 / 51.9),
        ("ResNet-50", "V100", 64, 1 / 4.52576),
        ("ResNet-50", "Pascal Titan X", 16, 0.03503 + 0.06854),
        ("ResNet-101", "Pascal Titan X", 16, 0.05338 + 0.10306),
        ("ResNet-152", "P100", 64, 64 / 91.8),
        ("ResNet-152", "K80", 32, 32 / 20.0),
        ("ResNet-152", "Pascal Titan X", 16, 0.07545 + 0.14247),
    ],
)
def test_figures_worked_by_hand(model: str, gpu: str, batch: int, expected: float) -> None:
    """Batch over images a second, or forward plus backward up to the rounding of the two, typed from the sources."""
    (step,) = [step for step in of(model).steps if (step.gpu, step.batch_samples) == (gpu, batch)]
    assert step.step_s == pytest.approx(expected, rel=5e-6, abs=1.1e-5 if "Titan" in gpu else 0.0)


def convolution(inputs: int, filters: int, size: int, *, biases: int = 1) -> int:
    """Weights and biases; a batch normalisation instead of biases has two numbers a filter."""
    return inputs * filters * size + biases * filters


def residual_network(blocks: tuple[int, int, int, int]) -> int:
    """Parameters of a ResNet of bottlenecks with batch normalisation, by the layers of He et al."""
    total, inputs = convolution(3, 64, 49, biases=2), 64
    for width, count in zip((64, 128, 256, 512), blocks, strict=True):
        total += convolution(inputs, 4 * width, 1, biases=2)  # the projection of the first block
        for _ in range(count):
            total += convolution(inputs, width, 1, biases=2) + convolution(width, width, 9, biases=2)
            total += convolution(width, 4 * width, 1, biases=2)
            inputs = 4 * width
    return total + convolution(2048, 1000, 1)


def inception_v1() -> int:
    """Parameters by the widths in tf_cnn_benchmarks, with biases, without the auxiliary classifiers."""
    total, inputs = convolution(3, 64, 49) + convolution(64, 64, 1) + convolution(64, 192, 9), 192
    for one, before_3, three, before_5, five, pool in (
        (64, 96, 128, 16, 32, 32),
        (128, 128, 192, 32, 96, 64),
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
        (256, 160, 320, 32, 128, 128),
        (384, 192, 384, 48, 128, 128),
    ):
        total += sum(convolution(inputs, width, 1) for width in (one, before_3, before_5, pool))
        total += convolution(before_3, three, 9) + convolution(before_5, five, 25)
        inputs = one + three + five + pool
    return total + convolution(1024, 1000, 1)


ALEXNET = sum(
    convolution(*layer)
    for layer in (
        *((3, 64, 121), (64, 192, 25), (192, 384, 9), (384, 256, 9), (256, 256, 9)),
        *((256, 4096, 36), (4096, 4096, 1), (4096, 1000, 1)),
    )
)
AUXILIARY = convolution(768, 128, 1, biases=2) + convolution(128, 768, 25, biases=2) + convolution(768, 1000, 1)


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("AlexNet", ALEXNET),
        ("GoogLeNet", inception_v1()),
        ("Inception v3", 27_161_264 - AUXILIARY),
        ("ResNet-50", residual_network((3, 4, 6, 3))),
        ("ResNet-101", residual_network((3, 4, 23, 3))),
        ("ResNet-152", residual_network((3, 8, 36, 3))),
    ],
)
def test_parameters_counted_layer_by_layer(model: str, parameters: int) -> None:
    """The published totals are those of the architectures; four bytes each."""
    assert of(model).parameters == parameters
    assert of(model).parameter_bytes == 4 * parameters


def test_other_figures_of_the_package_agree() -> None:
    """VGG-16, ResNet-50 and ResNet-152 have as many parameters, and ResNet-50 on V100 as many seconds, as elsewhere."""
    stages = {model.model: model for model in published_stages()}
    for model in ("VGG-16", "ResNet-50", "ResNet-152"):
        assert of(model).parameters == sum(block.parameters for block in stages[model].blocks)
    (v100,) = [step for step in of("ResNet-50").steps if step.gpu == "V100"]
    assert (v100.batch_samples, v100.step_s) == (stages["ResNet-50"].batch_samples, stages["ResNet-50"].iteration_s)
    (rates,) = [rates for rates in published_rates() if rates.model == "ResNet-50"]
    assert of("ResNet-50").parameter_bytes == rates.gradient_bytes


def test_networks_are_an_eighth_of_their_bits() -> None:
    """1, 10 and 25 Gbit/s in bytes per second, and no one can change them."""
    assert dict(NETWORK_BYTES_PER_S) == {gbits: gbits * 1e9 / 8 for gbits in (1, 10, 25)}
    with pytest.raises(TypeError):
        NETWORK_BYTES_PER_S[1] = 1.0  # type: ignore[index]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("batch_samples", 0), ("step_s", 0.0), ("step_s", float("nan")), ("step_s", float("inf"))),
        *(("gpu", ""), ("how", ""), ("source", "")),
    ],
)
def test_wrong_steps_cannot_be_built(field: str, value: Any) -> None:
    """A step refuses figures that are not positive and finite, and empty words, naming the field."""
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(STEP, **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [("parameters", 0), ("model", ""), ("parameter_source", ""), ("steps", ()), ("steps", (STEP, STEP))],
)
def test_wrong_models_cannot_be_built(field: str, value: Any) -> None:
    """A model refuses no parameters, missing words, no step and one step twice, naming the field."""
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(MODEL, **{field: value})
