"""The published rates of single GPUs that dlsched carries."""

import dataclasses
from typing import Any

import pytest

from dlsched.cluster.published_rates import PublishedRates, published_rates

GPUS = {"K80", "P100", "V100", "T4", "A100"}
RATES = PublishedRates(
    "M", "image", 8, 4, "invented", {"V100": 40.0, "A100": 90.0}, {"A100": "x 2.25"}, {"V100": "a", "A100": "b"}
)


def of(model: str) -> PublishedRates:
    """Return the published rates of this model."""
    (rates,) = [rates for rates in published_rates() if rates.model == model]
    return rates


def test_the_file_is_read_whole_and_once() -> None:
    """Seven models, each named once and on at least three of the five GPU types; the second call returns the same."""
    found = published_rates()
    assert published_rates() is found
    assert len({rates.model for rates in found}) == len(found) == 7
    for rates in found:
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


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("samples_per_s", {}),
        ("samples_per_s", {"V100": 0.0, "A100": 90.0}),
        ("samples_per_s", {"V100": float("nan"), "A100": 90.0}),
        ("batch_samples", 0),
        ("gradient_bytes", -4),
        ("gradient_source", None),
        ("sources", {"V100": "a"}),
        ("sources", {"V100": "a", "A100": ""}),
        ("how", {"T4": "x 2"}),
        ("how", {"A100": ""}),
    ],
)
def test_wrong_rates_cannot_be_built(field: str, value: Any) -> None:
    """Rates refuse figures that are not positive, and a figure without its source, naming the field."""
    with pytest.raises(ValueError, match=field):
        dataclasses.replace(RATES, **{field: value})
