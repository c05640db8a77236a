"""Published measurements: training speeds, rates on one GPU by type, and seconds of a training step."""

import dataclasses
import math
from typing import Any

import pytest

from dlsched.cluster.published import (
    IMAGENET_IMAGES,
    IMAGENET_SOURCE,
    NETWORK_BYTES_PER_S,
    PublishedRates,
    PublishedSpeed,
    PublishedSteps,
    Step,
    published_rates,
    published_speeds,
    published_stages,
    published_steps,
)

SPEED = PublishedSpeed("ResNet-50", None, 64, None, 6400, (1, 2, 4), (9.0, 10.0, 3.5), "invented")


@pytest.mark.parametrize(
    ("read", "least", "most", "name"),
    [
        (published_speeds, 50, 90, lambda speed: (speed.model, speed.gpu, speed.batch_samples)),
        (published_rates, 7, 7, lambda rates: rates.model),
        (published_steps, 7, 7, lambda steps: steps.model),
        (published_stages, 9, 9, lambda model: model.model),
    ],
)
def test_every_file_is_read_whole_and_once(read: Any, least: int, most: int, name: Any) -> None:
    """Every record of a file is valid, each is named once, and the second call returns the same tuple."""
    records = read()
    assert least <= len(records) <= most
    assert read() is records
    assert len(set(map(name, records))) == len(records)


def test_every_record_names_its_source_and_licence() -> None:
    """A figure without an origin and a licence does not enter the file."""
    for speed in published_speeds():
        assert any(licence in speed.source for licence in ("(MIT)", "(Apache-2.0)")), speed
        assert speed.source.endswith("."), speed


def test_figures_have_six_significant_digits() -> None:
    """The file holds figures rounded to 6 significant digits and at least two GPU counts a record."""
    for speed in published_speeds():
        assert len(speed.counts) >= 2
        assert speed.epoch_time_s == tuple(float(f"{time:.6g}") for time in speed.epoch_time_s)


GPUS = {"K80", "P100", "V100", "T4", "A100"}
RATES = PublishedRates(
    "M", "image", 8, 4, "invented", {"V100": 40.0, "A100": 90.0}, {"A100": "x 2.25"}, {"V100": "a", "A100": "b"}
)


def of(model: str) -> PublishedRates:
    """Return the published rates of this model."""
    (rates,) = [rates for rates in published_rates() if rates.model == model]
    return rates


def test_rates_are_of_five_types() -> None:
    """Every model has a rate on at least three of them."""
    for rates in published_rates():
        assert len(rates.samples_per_s) >= 3
        assert set(rates.samples_per_s) <= GPUS


def test_every_figure_names_its_source() -> None:
    """A measured figure names its licence, one of Gavel's or AdaptDL's; a scaled one says how and names NVIDIA's table."""
    for rates in published_rates():
        for gpu, source in rates.sources.items():
            assert source.endswith("."), (rates.model, gpu)
            if gpu in rates.measured:
                assert "(MIT)" in source or "(Apache-2.0)" in source, (rates.model, gpu)
            elif gpu == "A100":
                assert rates.how[gpu].startswith("scaled: our V100 figure x ")
                assert "NVIDIA/DeepLearningExamples" in source
            else:
                assert (rates.model, gpu) == ("ResNet-50", "T4")
                assert rates.how[gpu].startswith("interpolated: ")


def test_no_rate_on_an_a100_is_said_to_be_measured() -> None:
    """What is measured is K80, P100 and V100 for every model, and T4 for one; the rest is told apart in the data."""
    for rates in published_rates():
        assert set(rates.measured) - {"T4"} == {"K80", "P100", "V100"}
    assert {rates.model for rates in published_rates() if "T4" in rates.measured} == {"ResNet-18"}


@pytest.mark.parametrize(
    ("model", "gpu", "expected"),
    [
        ("ResNet-18", "K80", 7.23126 * 64),
        ("ResNet-18", "T4", 64 / 0.0598334),
        ("ResNet-50", "K80", 0.347224 * 128),
        ("ResNet-50", "V100", 2.53011 * 128),
        ("ResNet-50", "T4", 128 / (0.560201 + 13 / 48 * (0.762422 - 0.560201))),
        ("ResNet-50", "A100", 2.53011 * 128 * 938 / 367),
        ("Transformer", "P100", 3.07354 * 128),
        ("Transformer", "A100", 5.64220 * 128 * 51057 / 9827),
        ("LM", "V100", 31.6896 * 80),
        ("LM", "A100", 31.6896 * 80 * 83214 / 21860),
        ("Recommendation", "V100", 88.2070 * 2048),
        ("Recommendation", "A100", 88.2070 * 2048 * 22.59 / 10.42),
        ("CycleGAN", "P100", 2.40267),
        ("A3C", "V100", 7.47962),
    ],
)
def test_figures_worked_by_hand(model: str, gpu: str, expected: float) -> None:
    """Steps per second times the batch, or the batch over the step time, typed from the sources to six digits."""
    assert of(model).samples_per_s[gpu] == pytest.approx(expected, rel=5e-6)


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("ResNet-18", 11_689_512 - 9_408 - 513_000 + 1_728 + 5_130),
        ("ResNet-50", 25_557_032),
        ("LM", 2 * 33_278 * 200 + 33_278 + 2 * (4 * 200 * (200 + 200) + 2 * 4 * 200)),
        ("Recommendation", 2 * 20_108 * 200 + 200 + 20_108),
        ("CycleGAN", 2 * 11_378_179 + 2 * 2_764_737),
    ],
)
def test_gradients_are_four_bytes_a_parameter(model: str, parameters: int) -> None:
    """The gradient of a known model is 4 bytes for each parameter of its layers, counted by hand."""
    assert of(model).gradient_bytes == 4 * parameters


def test_gradients_not_known_stay_unknown() -> None:
    """No number is invented for the two models whose number of parameters no source at hand gives."""
    assert {rates.model for rates in published_rates() if rates.gradient_bytes is None} == {"Transformer", "A3C"}


def test_newer_types_are_faster_but_by_no_common_ratio() -> None:
    """K80 < P100 < V100 < A100 holds for every model, yet V100 over K80 runs from 2.1 (A3C) to 8.7 (CycleGAN)."""
    ratios = {}
    for rates in published_rates():
        speeds = [rates.samples_per_s[gpu] for gpu in ("K80", "P100", "V100", "A100") if gpu in rates.samples_per_s]
        assert speeds == sorted(speeds), rates.model
        ratios[rates.model] = rates.samples_per_s["V100"] / rates.samples_per_s["K80"]
    assert min(ratios, key=ratios.__getitem__) == "A3C"
    assert max(ratios, key=ratios.__getitem__) == "CycleGAN"
    assert ratios["A3C"] == pytest.approx(2.1, abs=0.05)
    assert ratios["CycleGAN"] == pytest.approx(8.7, abs=0.05)


def test_figures_cannot_be_changed() -> None:
    """The rates are cached, so that their mappings must not be writable."""
    with pytest.raises(TypeError):
        of("LM").samples_per_s["K80"] = 1.0  # type: ignore[index]


MODELS = ("AlexNet", "GoogLeNet", "VGG-16", "Inception v3", "ResNet-50", "ResNet-101", "ResNet-152")
STEP = Step("P100", 64, 0.5, None, "invented")
MODEL = PublishedSteps("M", "image", 10, "invented", (STEP, dataclasses.replace(STEP, gpu="K80")))


def of_of_published_steps(model: str) -> PublishedSteps:
    """Return the published steps of this model."""
    (found,) = [steps for steps in published_steps() if steps.model == model]
    return found


def test_steps_are_of_seven_classifiers() -> None:
    """Eighteen steps on five types of GPU."""
    found = published_steps()
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
def test_figures_worked_by_hand_of_published_steps(model: str, gpu: str, batch: int, expected: float) -> None:
    """Batch over images a second, or forward plus backward up to the rounding of the two, typed from the sources."""
    (step,) = [step for step in of_of_published_steps(model).steps if (step.gpu, step.batch_samples) == (gpu, batch)]
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
    assert of_of_published_steps(model).parameters == parameters
    assert of_of_published_steps(model).parameter_bytes == 4 * parameters


def test_other_figures_of_the_package_agree() -> None:
    """VGG-16, ResNet-50 and ResNet-152 have as many parameters, and ResNet-50 on V100 as many seconds, as elsewhere."""
    stages = {model.model: model for model in published_stages()}
    for model in ("VGG-16", "ResNet-50", "ResNet-152"):
        assert of_of_published_steps(model).parameters == sum(block.parameters for block in stages[model].blocks)
    (v100,) = [step for step in of_of_published_steps("ResNet-50").steps if step.gpu == "V100"]
    assert (v100.batch_samples, v100.step_s) == (stages["ResNet-50"].batch_samples, stages["ResNet-50"].iteration_s)
    (rates,) = [rates for rates in published_rates() if rates.model == "ResNet-50"]
    assert of_of_published_steps("ResNet-50").parameter_bytes == rates.gradient_bytes


def test_networks_are_an_eighth_of_their_bits() -> None:
    """1, 10 and 25 Gbit/s in bytes per second, and no one can change them."""
    assert dict(NETWORK_BYTES_PER_S) == {gbits: gbits * 1e9 / 8 for gbits in (1, 10, 25)}
    with pytest.raises(TypeError):
        NETWORK_BYTES_PER_S[1] = 1.0  # type: ignore[index]


WRONG: list[tuple[Any, list[tuple[str, Any]]]] = [
    (
        SPEED,
        [
            *(("counts", value) for value in ((), (0, 1, 2), (2, 1, 4), (1, 1, 2))),
            *(
                ("epoch_time_s", value)
                for value in ((1.0, 2.0), (1.0, 0.0, 2.0), (1.0, math.nan, 2.0), (1.0, math.inf, 2.0))
            ),
            *(("batch_samples", 0), ("epoch_samples", -1)),
        ],
    ),
    (
        RATES,
        [
            *(
                ("samples_per_s", value)
                for value in ({}, {"V100": 0.0, "A100": 90.0}, {"V100": math.nan, "A100": 90.0})
            ),
            *(("batch_samples", 0), ("gradient_bytes", -4), ("gradient_source", None)),
            *(("sources", {"V100": "a"}), ("sources", {"V100": "a", "A100": ""})),
            *(("how", {"T4": "x 2"}), ("how", {"A100": ""})),
        ],
    ),
    (
        STEP,
        [
            *(("batch_samples", 0), ("step_s", 0.0), ("step_s", math.nan), ("step_s", math.inf)),
            *(("gpu", ""), ("how", ""), ("source", "")),
        ],
    ),
    (MODEL, [("parameters", 0), ("model", ""), ("parameter_source", ""), ("steps", ()), ("steps", (STEP, STEP))]),
]


@pytest.mark.parametrize(("record", "field", "value"), [(record, *each) for record, wrong in WRONG for each in wrong])
def test_wrong_records_cannot_be_built(record: Any, field: str, value: Any) -> None:
    """Figures that are not positive and finite, empty words, and what does not go together; the field is named."""
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(record, **{field: value})
