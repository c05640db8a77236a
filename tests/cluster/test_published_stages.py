"""The published models that dlsched carries as chains of blocks, and their cuts into stages."""

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.cluster.published import Block, PublishedModel, balanced_cut, published_rates, published_stages

GAVEL = Path(__file__).parents[2].parent / "shared" / "data" / "gavel_physical_cluster_throughputs.json"
MODELS = [model.model for model in published_stages()]
MODEL = PublishedModel(
    "M",
    "image",
    8,
    "V100",
    0.6,
    "invented",
    None,
    4,
    "invented",
    "invented",
    (Block("a", 10, 1, 100, "-"), Block("b", 20, 2, 50, "-"), Block("c", 30, 3, 0, "-")),
)


def of(name: str) -> PublishedModel:
    """Return the published model of this name."""
    (model,) = [model for model in published_stages() if model.model == name]
    return model


def gavel_steps_per_s(gpu: str) -> float:
    """Return Gavel's steps per second of ResNet-50 with batch 64, alone on one GPU of this type."""
    rate = json.loads(GAVEL.read_text())[gpu]["('ResNet-50 (batch size 64)', 1)"]["null"]
    return float(rate)


def test_every_figure_names_its_source() -> None:
    """Sources are sentences; seconds that are not measured say whether they are scaled or interpolated."""
    for model in published_stages():
        for words in (model.iteration_source, model.parameter_source, model.work_source):
            assert words.endswith("."), model.model
        assert all(block.arithmetic.endswith(".") for block in model.blocks), model.model
        assert model.work_source.startswith("Measured" if model.model == "VGG-16" else "Counted, not measured"), (
            model.model
        )
    made = {model.model: model.iteration_how for model in published_stages() if not model.measured}
    assert {name: how.split(":")[0] for name, how in made.items() if how} == {
        "GPT-2 355M": "interpolated",
        "VGG-16": "scaled",
        "ResNet-152": "scaled",
    }


def test_figures_cannot_be_changed() -> None:
    """The models are cached, so that neither they nor their blocks may be written."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        of("VGG-16").blocks[0].work = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        # torchvision's num_params of its models
        ("VGG-16", 138_357_544),
        ("ResNet-50", 25_557_032),
        ("ResNet-152", 60_192_808),
        # Hugging Face's BertForPreTraining; without its heads BertModel has 109,482,240 and 335,141,888
        ("BERT-base", 109_482_240 + (768 * 768 + 768) + 2 * 768 + 30_522 + (2 * 768 + 2)),
        ("BERT-large", 335_141_888 + (1024 * 1024 + 1024) + 2 * 1024 + 30_522 + (2 * 1024 + 2)),
        # Hugging Face's gpt2-medium
        ("GPT-2 355M", 354_823_168),
        # layers, words, positions and the last layer norm, of Megatron-LM's shapes
        ("GPT 126M", 12 * 7_087_872 + 51_200 * 768 + 2_048 * 768 + 2 * 768),
        ("GPT 535M", 16 * 28_331_520 + 51_200 * 1_536 + 2_048 * 1_536 + 2 * 1_536),
        ("GPT-2 1.2B", 40 * 28_331_520 + 51_200 * 1_536 + 1_024 * 1_536 + 2 * 1_536),
    ],
)
def test_totals_are_the_published_numbers_of_parameters(name: str, parameters: int) -> None:
    """The blocks of a model sum up to the number of parameters of the published network."""
    assert of(name).parameters == parameters


@pytest.mark.parametrize(
    ("name", "layers", "hidden", "tokens", "words", "recomputed"),
    [
        ("GPT 126M", 12, 768, 2048, 51_200, True),
        ("GPT-2 355M", 24, 1024, 1024, 50_257, True),
        ("GPT 535M", 16, 1536, 2048, 51_200, True),
        ("GPT-2 1.2B", 40, 1536, 1024, 51_200, True),
        ("BERT-base", 12, 768, 128, 30_522, False),
        ("BERT-large", 24, 1024, 128, 30_522, False),
    ],
)
def test_transformers_block_by_block(
    name: str, layers: int, hidden: int, tokens: int, words: int, recomputed: bool
) -> None:
    """Equal layers of 12 h^2 + 13 h, whose matrix products are counted one by one, between words and their logits."""
    model = of(name)
    assert [block.name for block in model.blocks[1:-1]] == [f"layer.{number}" for number in range(1, layers + 1)]
    products = [(tokens, hidden, 3 * hidden), (tokens, hidden, hidden)]  # query, key and value; output
    products += [(tokens, hidden, tokens), (tokens, tokens, hidden)]  # scores and their use, all heads together
    products += [(tokens, hidden, 4 * hidden), (tokens, 4 * hidden, hidden)]
    forward = sum(2 * rows * inner * columns for rows, inner, columns in products)
    for layer in model.blocks[1:-1]:
        assert layer.parameters == 12 * hidden**2 + 13 * hidden
        assert layer.work == (4 if recomputed else 3) * forward
        assert layer.output_bytes == (2 if recomputed else 4) * tokens * hidden
    assert model.blocks[0].output_bytes == model.blocks[1].output_bytes
    logits = 3 * 2 * tokens * hidden * words
    assert model.blocks[-1].work == pytest.approx(logits, rel=1e-9 if recomputed else 0.04)
    assert model.parameter_bytes_each == (2 if recomputed else 4)


def test_work_of_megatron_is_its_own_formula() -> None:
    """96 B s l h^2 (1 + s / 6h + V / 16 l h), of Narayanan et al. (arXiv 2104.04473), with recomputed activations."""
    hidden, tokens, layers, words = 1536, 1024, 40, 51_200
    formula = 96 * tokens * layers * hidden**2 * (1 + tokens / (6 * hidden) + words / (16 * layers * hidden))
    assert sum(block.work for block in of("GPT-2 1.2B").blocks) == pytest.approx(formula, rel=1e-5)


@pytest.mark.parametrize(("name", "multiply_adds"), [("ResNet-50", 4.089e9), ("ResNet-152", 11.514e9)])
def test_work_of_resnets_is_six_times_torchvisions_operations(name: str, multiply_adds: float) -> None:
    """Its 4.089 and 11.514 GFLOPS are multiply-adds forward; the first convolution (49 x 3 x 64 at 112 x 112) takes 4."""
    work = 6 * multiply_adds - 2 * 49 * 3 * 64 * 112**2
    assert sum(block.work for block in of(name).blocks) == pytest.approx(work, rel=2e-4)


def test_resnets_hand_on_their_feature_maps() -> None:
    """56, 28, 14 and 7 pixels a side with 256 to 2,048 channels of 4 bytes, and 3, 4, 6 and 3 bottlenecks."""
    maps = [64 * 56**2] + 3 * [256 * 56**2] + 4 * [512 * 28**2] + 6 * [1024 * 14**2] + 3 * [2048 * 7**2] + [0]
    assert [block.output_bytes for block in of("ResNet-50").blocks] == [4 * size for size in maps]
    assert len(of("ResNet-152").blocks) == 1 + 3 + 8 + 36 + 3 + 1


@pytest.mark.parametrize(
    ("name", "batch_activation_bytes", "parameter_bytes", "microseconds"),
    [
        ("conv1_1", 1_644_167_168, 7_168, 22_307 + 24_613 + 4_446 + 5_553),
        ("conv1_2", 411_041_792, 147_712, 46_201 + 113_330 + 4_455 + 5_311 + 3_795 + 5_579),
        ("conv3_3", 102_760_448, 2_360_320, 14_245 + 33_888 + 1_549 + 1_321 + 1_169 + 1_513),
        ("conv5_3", 12_845_056, 9_439_232, 4_042 + 8_648 + 455 + 175 + 553 + 234),
        ("fc6", 2_097_152, 411_058_176, 2_475 + 4_575 + 377 + 30),
        ("fc7", 2_097_152, 67_125_248, 709 + 734 + 277 + 32),
    ],
)
def test_vgg_is_pipedreams_profile(
    name: str, batch_activation_bytes: int, parameter_bytes: int, microseconds: int
) -> None:
    """Bytes and times of PipeDream's profile of VGG-16 for a batch of 128, read layer by layer."""
    (block,) = [block for block in of("VGG-16").blocks if block.name == name]
    assert 128 * block.output_bytes == batch_activation_bytes
    assert 4 * block.parameters == parameter_bytes
    assert block.work == microseconds


@pytest.mark.parametrize(
    ("name", "iteration_s"),
    [
        ("GPT 126M", 0.6112),
        ("GPT 535M", 0.46412),
        ("GPT-2 1.2B", 1.288),
        ("BERT-base", 32 / 119.6),
        ("BERT-large", 8 / 40),
        ("ResNet-50", 1 / 4.52576),
        ("ResNet-152", 64 / 91.8 * 2.61947 / 4.52576),
        ("VGG-16", 64 / 154 * 2.61947 / 4.52576),
    ],
)
def test_seconds_worked_by_hand(name: str, iteration_s: float) -> None:
    """The measured milliseconds, or the batch over the rate, typed from the sources to six digits."""
    assert of(name).iteration_s == pytest.approx(iteration_s, rel=5e-6)


def test_seconds_of_gpt2_medium_lie_on_the_line_between_two_measured_rates() -> None:
    """Operations over a rate on the line in hidden size; below the 0.86 days of 68,507 iterations with the all-reduce."""
    rates = {}
    for name, hidden in (("GPT 126M", 768), ("GPT 535M", 1536)):
        rates[hidden] = of(name).batch_samples * sum(block.work for block in of(name).blocks) / of(name).iteration_s
    medium = of("GPT-2 355M")
    rate = rates[768] + (1024 - 768) / (1536 - 768) * (rates[1536] - rates[768])
    assert medium.iteration_s == pytest.approx(8 * sum(block.work for block in medium.blocks) / rate, rel=5e-6)
    assert medium.iteration_s < 0.86 * 86_400 / 68_507


@pytest.mark.parametrize("name", MODELS)
def test_no_model_computes_faster_than_a_v100_can(name: str) -> None:
    """Below 125 TFLOP/s with FP16, below 15.7 with FP32, and above a fifth of both; VGG-16's work is not in operations."""
    model = of(name)
    if name == "VGG-16":
        return
    peak = 125e12 if model.parameter_bytes_each == 2 else 15.7e12
    assert 0.2 < model.batch_samples * sum(block.work for block in model.blocks) / model.iteration_s / peak < 1


@pytest.mark.skipif(not GAVEL.is_file(), reason="the raw data are not here")
def test_gavels_figures_are_those_of_the_file() -> None:
    """The seconds of ResNet-50, and the ratio that scales VGG-16 and ResNet-152, are Gavel's."""
    ratio = gavel_steps_per_s("v100") / gavel_steps_per_s("p100")
    assert of("ResNet-50").iteration_s == pytest.approx(1 / gavel_steps_per_s("v100"), rel=5e-6)
    assert of("VGG-16").iteration_s == pytest.approx(64 / 154 / ratio, rel=5e-6)
    assert of("ResNet-152").iteration_s == pytest.approx(64 / 91.8 / ratio, rel=5e-6)
    assert f"{ratio:.6g}" in (of("VGG-16").iteration_how or "")


def test_resnet_50_agrees_with_the_published_rates() -> None:
    """The two files carry the same network: equal gradients, and a rate with batch 64 within 15 % of that with 128."""
    (rates,) = [rates for rates in published_rates() if rates.model == "ResNet-50"]
    model = of("ResNet-50")
    assert model.parameters * model.parameter_bytes_each == rates.gradient_bytes
    assert model.batch_samples / model.iteration_s == pytest.approx(rates.samples_per_s["V100"], rel=0.15)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("pipeline", [1, 2, 3, 4, 8, 14])
def test_sums_do_not_depend_on_the_cut(name: str, pipeline: int) -> None:
    """All blocks in order, all gradients and, over the replicas, all the compute of the global batch."""
    model = of(name)
    replicas = [1 + stage % 3 for stage in range(pipeline)]
    stages = model.stages(pipeline, replicas)
    assert [stage.replicas for stage in stages] == replicas
    assert [block for stage in stages for block in stage.blocks] == [block.name for block in model.blocks]
    assert sum(stage.parameter_bytes for stage in stages) == model.parameters * model.parameter_bytes_each
    total_s = sum(stage.compute_s * stage.replicas for stage in stages) / replicas[0]
    assert total_s == pytest.approx(model.iteration_s, rel=1e-12)
    assert all(stage.compute_s > 0 for stage in stages)


def test_the_shortest_and_the_longest_pipeline() -> None:
    """One stage computes the published batch in the published seconds; of one stage a block, bytes are the global batch's."""
    for model in published_stages():
        (stage,) = model.stages(1, 5)
        assert stage.compute_s == pytest.approx(model.iteration_s, rel=1e-12)
        assert stage.output_bytes == 0
        sent = [stage.output_bytes for stage in model.stages(len(model.blocks), 3)]
        assert sent == [3 * model.batch_samples * block.output_bytes for block in model.blocks]


def test_four_stages_of_gpt2_medium_worked_by_hand() -> None:
    """The logits weigh 2.7 layers, so the last of four stages has 4 layers and the first, with no more than words, 6."""
    model = of("GPT-2 355M")
    stages = model.stages(4, (2, 1, 1, 2))
    assert [len(stage.blocks) for stage in model.stages(4, 1)] == [7, 7, 7, 5]
    layer = 12 * 1024**2 + 13 * 1024
    assert model.stages(4, 1)[0].parameter_bytes == 2 * (6 * layer + 50_257 * 1024 + 1024 * 1024)
    assert model.stages(4, 1)[1].output_bytes == 8 * 1024 * 1024 * 2
    assert stages[0].output_bytes == 2 * model.stages(4, 1)[0].output_bytes
    work = {block.name: block.work for block in model.blocks}
    for stage in stages:
        share = sum(work[name] for name in stage.blocks) / sum(work.values())
        assert stage.compute_s == pytest.approx(share * model.iteration_s * 2 / stage.replicas, rel=1e-12)


def brute_force(work: list[int], replicas: list[int]) -> tuple[float, float]:
    """Return the least largest quotient of all cuts, and the least sum of squares among those that reach it."""
    found = []
    for cut in itertools.combinations(range(1, len(work)), len(replicas) - 1):
        ends = (0, *cut, len(work))
        each = [sum(work[a:b]) / count for a, b, count in zip(ends, ends[1:], replicas, strict=False)]
        found.append((max(each), sum(one**2 for one in each)))
    return min(found)


@given(st.data(), st.lists(st.integers(1, 30), min_size=1, max_size=8))
@settings(derandomize=True, deadline=None)
def test_the_cut_is_optimal(data: st.DataObject, work: list[int]) -> None:
    """The dynamic program reaches the best of all cuts, first in the slowest stage and then in the squares."""
    replicas = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=len(work)))
    cut = balanced_cut(work, replicas)
    assert (cut[0], cut[-1], len(cut)) == (0, len(work), len(replicas) + 1)
    each = [sum(work[a:b]) / count for a, b, count in zip(cut, cut[1:], replicas, strict=False)]
    largest, squares = brute_force(work, replicas)
    assert max(each) == largest
    assert sum(one**2 for one in each) == pytest.approx(squares, rel=1e-12)


@pytest.mark.parametrize("name", ["BERT-base", "VGG-16", "ResNet-50"])
@pytest.mark.parametrize("replicas", [[1, 1, 1], [4, 2, 1], [1, 2, 1, 3]])
def test_published_cuts_are_optimal(name: str, replicas: list[int]) -> None:
    """No cut of a published model has a faster slowest stage, with equal replicas and with others."""
    model = of(name)
    work = [block.work for block in model.blocks]
    slowest_s = max(stage.compute_s for stage in model.stages(len(replicas), replicas))
    expected_s = brute_force(work, replicas)[0] * model.iteration_s * replicas[0] / sum(work)
    assert slowest_s == pytest.approx(expected_s, rel=1e-12)


@pytest.mark.parametrize(
    ("pipeline", "replicas", "words"),
    [
        (0, 1, "pipeline must be from 1 to 3, the blocks of M, found 0"),
        (4, 1, "pipeline must be from 1 to 3, the blocks of M, found 4"),
        (2, 0, "replicas must be at least 1, found"),
        (2, (1, -1), "replicas must be at least 1, found"),
        (2, (1,), "replicas must be one number or 2, one a stage, found 1"),
        (1, (), "replicas must be one number or 1, one a stage, found 0"),
    ],
)
def test_wrong_cuts_are_refused(pipeline: int, replicas: Any, words: str) -> None:
    """A cut that cannot be is refused with what was found and what is allowed."""
    with pytest.raises(ValueError, match=words):
        MODEL.stages(pipeline, replicas)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("batch_samples", 0, "batch_samples"),
        ("iteration_s", float("nan"), "iteration_s"),
        ("iteration_s", -1.0, "iteration_s"),
        ("parameter_bytes_each", 0, "parameter_bytes_each"),
        ("model", "", "model"),
        ("gpu", "", "gpu"),
        ("iteration_source", "", "iteration_source"),
        ("iteration_how", "", "iteration_how"),
        ("parameter_source", "", "parameter_source"),
        ("work_source", "", "work_source"),
        ("blocks", (), "blocks"),
        ("blocks", (Block("a", 0, 1, 0, "-"),), "parameters"),
        ("blocks", (Block("a", 1, 0, 0, "-"),), "work"),
        ("blocks", (Block("a", 1, 1, 0, "-"), Block("b", 1, 1, 0, "-")), "output_bytes"),
        ("blocks", (Block("a", 1, 1, 9, "-"),), "output_bytes"),
        ("blocks", (Block("a", 1, 1, 9, "-"), Block("a", 1, 1, 0, "-")), "name"),
        ("blocks", (Block("a", 1, 1, 0, ""),), "arithmetic"),
    ],
)
def test_wrong_models_cannot_be_built(field: str, value: Any, words: str) -> None:
    """A model refuses figures that are not positive and figures without their source, naming the field."""
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(MODEL, **{field: value})
