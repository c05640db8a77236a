"""The readers of published speed measurements."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlsched.cluster.published import published_speeds
from dlsched.traces import read_adaptdl_speeds, read_gavel_speeds, read_pcs_speedups

DATA = Path(__file__).parents[2].parent / "shared" / "data"
PCS_HEADER = "model,iters_expr,gpus,us_per_iter\n"
ADAPTDL_HEADER = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"


def pcs_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "speedups.csv"
    path.write_text(PCS_HEADER + text)
    return path


def gavel_file(tmp_path: Path, tables: Any) -> Path:
    path = tmp_path / "throughputs.json"
    path.write_text(tables if isinstance(tables, str) else json.dumps(tables))
    return path


def gavel_type(name: str, **steps_per_s: float) -> dict[str, Any]:
    return {f"('{name}', {scale[1:]})": {"null": rate} for scale, rate in steps_per_s.items()}


def adaptdl_folder(tmp_path: Path, **files: str) -> Path:
    for name, rows in files.items():
        (tmp_path / f"{name}.csv").write_text(ADAPTDL_HEADER + rows)
    return tmp_path


@pytest.mark.skipif(not DATA.is_dir(), reason="the raw data are not here")
def test_the_readers_produce_the_file_that_dlsched_carries() -> None:
    """Reading the raw data again gives published_speeds.json exactly."""
    pcs, _ = read_pcs_speedups(DATA / "dnn_speedups.csv")
    gavel, _ = read_gavel_speeds(DATA / "gavel_simulation_throughputs.json")
    adaptdl, _ = read_adaptdl_speeds(DATA / "adaptdl_t4")
    assert (*pcs, *gavel, *adaptdl) == published_speeds()


def test_pcs_keeps_the_measured_points_only(tmp_path: Path) -> None:
    """Points within rounding of the line between their neighbours are dropped; knots and both ends stay."""
    rows = [(1, 1000), (2, 600), (3, 500), (4, 400), (5, 368), (6, 335), (7, 303), (8, 270), (9, 269), (10, 268)]
    text = "".join(f"VggnetModel256,153740040 // 256,{gpus},{us}\n" for gpus, us in rows)
    (speed,), audit = read_pcs_speedups(pcs_file(tmp_path, text))
    assert speed.counts == (1, 2, 4, 8, 10)
    assert (speed.model, speed.gpu, speed.batch_samples) == ("VGG", None, 256)
    assert (speed.dataset, speed.epoch_samples) == ("ImageNet", 1_281_167)
    assert speed.epoch_time_s[0] == pytest.approx(1_281_167 / 256 * 1000e-6, rel=1e-5)
    assert any(sentence.startswith("Interpolated rows dropped: 5 of 10;") for sentence in audit)


def test_pcs_says_how_it_counts_an_epoch(tmp_path: Path) -> None:
    """Without ImageNet's multiple an epoch is a hundredth, and 1,000 iterations if the expression has another batch."""
    text = "ChatbotModel256,660000000 // 256,1,100\nDeepspeechModel64,153740040 // 128,1,100\nOwn,500 // 5,1,100\n"
    speeds, audit = read_pcs_speedups(pcs_file(tmp_path, text))
    assert [(s.model, s.batch_samples, s.epoch_samples, s.dataset) for s in speeds] == [
        ("Chatbot", 256, 6_600_000, None),
        ("DeepSpeech", 64, 64_000, None),
        ("Own", 5, 5, None),
    ]
    assert "a hundredth" in speeds[0].source
    assert "1,000 iterations" in speeds[1].source
    assert any("2 (ChatbotModel256, Own)" in sentence for sentence in audit)
    assert any("1,000 iterations: 1 (DeepspeechModel64)" in sentence for sentence in audit)


def test_pcs_leaves_invented_models_out(tmp_path: Path) -> None:
    """Toy models are left out and counted in the audit, whatever the order of rows."""
    text = "ToyModel1,10 // 1,1,1\nToyModel1,10 // 1,2,0.6\nDcganModel2,200 // 2,4,1\nDcganModel2,200 // 2,1,2\n"
    (speed,), audit = read_pcs_speedups(pcs_file(tmp_path, text))
    assert speed.counts == (1, 4)
    assert "Invented models left out (2 rows): 1 (ToyModel1)." in audit


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("A1,100 // 1,1,fast", r"line 3: us_per_iter .* 'fast'"),
        ("A1,100 // 1,1,inf", "line 3: us_per_iter"),
        ("A1,100 // 1,1.5,2", r"line 3: gpus .* '1.5'"),
        ("A1,100 / 1,1,2", "line 3: iters_expr"),
        (",100 // 1,1,2", "line 3: model"),
        ("A1,100 // 1,1", "line 3: the number of cells"),
        ("B1,100 // 1,1,5", "line 3: B1 on 1 GPUs is given twice"),
        ("B1,200 // 1,2,5", "line 3: iters_expr differs"),
        ("A1,100 // 1,1,1e-320", "A: epoch_time_s must be positive and finite"),
    ],
)
def test_pcs_names_the_line_that_is_wrong(tmp_path: Path, row: str, message: str) -> None:
    """A malformed row is refused with the file, its line and what was found."""
    path = pcs_file(tmp_path, f"B1,100 // 1,1,7\n{row}\n")
    with pytest.raises(ValueError, match=message) as caught:
        read_pcs_speedups(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1: missing column model, iters_expr, gpus, us_per_iter"),
        (b"model,gpus,us_per_iter\nA1,1,2\n", "line 1: missing column iters_expr"),
        (PCS_HEADER.encode(), "no row"),
        (PCS_HEADER.encode() + b"\xff1,100 // 1,1,2\n", "after line 0: not CSV in UTF-8"),
        (PCS_HEADER.encode() + b"x" * 200_000 + b",100 // 1,1,2\n", "after line 1: not CSV"),
    ],
)
def test_a_file_that_is_no_such_table_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    """Missing columns, missing rows and other encodings are refused with the file's name."""
    path = tmp_path / "speedups.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_pcs_speedups(path)
    assert str(path) in str(caught.value)


def test_gavel_reads_jobs_that_run_alone(tmp_path: Path) -> None:
    """Epoch seconds are samples / batch / throughput, kept as published even where more GPUs are slower."""
    lm = gavel_type("LM (batch size 5)", x1=100.0, x2=200.0, x4=125.0)
    lm["('LM (batch size 5)', 1)"]["('A3C', 1)"] = [3.0, 4.0]
    tables = {"v100": lm, "v100_unconsolidated": gavel_type("LM (batch size 5)", x1=1.0, x2=2.0)}
    (speed,), audit = read_gavel_speeds(gavel_file(tmp_path, tables))
    assert (speed.model, speed.gpu, speed.batch_samples, speed.dataset) == ("LM", "V100", 5, "WikiText-2")
    assert speed.epoch_samples == 59_675
    assert speed.counts == (1, 2, 4)
    assert speed.epoch_time_s == (119.35, 59.675, 95.48)
    assert "GPU types left out, as their GPUs are spread over servers: 1 (v100_unconsolidated)." in audit
    assert "Throughputs of co-located pairs left out: 1; only jobs that run alone are read." in audit
    assert "Job types slower on some larger GPU count, kept as published: 1 (v100 LM (batch size 5))." in audit


def test_gavel_drops_what_does_not_fit(tmp_path: Path) -> None:
    """A throughput of 0.0 drops the count, and the job type when fewer than two counts are left."""
    table = {
        **gavel_type("ResNet-18 (batch size 16)", x1=1.0, x2=2, x4=0.0),
        **gavel_type("ResNet-50 (batch size 128)", x1=1.0, x2=0.0),
        **gavel_type("A3C", x1=1.0),
        **gavel_type("Other (batch size 2)", x1=1.0, x2=2.0),
    }
    (speed,), audit = read_gavel_speeds(gavel_file(tmp_path, {"k80": table}))
    assert speed.counts == (1, 2)
    assert "GPU counts dropped: 2; a throughput of 0.0 means that the job does not fit." in audit
    assert "Job types left out, as fewer than two GPU counts fit: 1 (k80 ResNet-50 (batch size 128))." in audit
    assert "Job types left out, as they were measured at a single GPU count: 1 (k80 A3C)." in audit
    assert "Job types left out, as their data set or batch is unknown: 1 (k80 Other (batch size 2))." in audit


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ('{"v100":\n {,}}', "line 2 column 3: found no JSON"),
        ('{"v100": {}, "v100": {}}', "v100: found the key twice"),
        ("[" * 100_000, "throughputs.json"),
        ([], "must be a JSON object, found list"),
        ({"v100": 3}, "v100: must be a JSON object"),
        ({"v100": {"LM, 1": {"null": 1}}}, "v100: LM, 1: a job type must read"),
        ({"v100": {"('LM (batch size 5)', 1)": 4}}, "must be a JSON object, found int"),
        ({"v100": {"('LM (batch size 5)', 1)": {}}}, "null .* is missing"),
        ({"v100": gavel_type("LM (batch size 5)", x1=-1.0)}, "null: steps per second .* -1.0"),
        ({"v100": {"('LM (batch size 5)', 1)": {"null": "3"}}}, "null: steps per second .* '3'"),
        ({"v100": {"('LM (batch size 5)', 1)": {"null": True}}}, "null: steps per second .* True"),
        ({"v100": gavel_type("LM (batch size 5)", x1=float("nan"))}, "null: steps per second .* nan"),
        ({"v100": gavel_type("LM (batch size 5)", x1=1e-320, x2=1e-320)}, "LM: epoch_time_s must be positive"),
    ],
)
def test_gavel_names_the_key_that_is_wrong(tmp_path: Path, tables: Any, message: str) -> None:
    """A malformed JSON file is refused with its name, and the line or the key."""
    path = gavel_file(tmp_path, tables)
    with pytest.raises(ValueError, match=message) as caught:
        read_gavel_speeds(path)
    assert str(path) in str(caught.value)


def test_adaptdl_takes_the_fastest_row_of_one_batch(tmp_path: Path) -> None:
    """The batch measured at most GPU counts is kept, the largest of several, and the fastest of its node counts."""
    rows = "1,2,10,0.9,0\n2,2,10,0.5,0\n2,4,10,0.6,0\n1,2,8,0.1,0\n1,4,8,0.1,0\n1,2,99,0.1,0\n"
    (speed,), audit = read_adaptdl_speeds(adaptdl_folder(tmp_path, cifar10=rows, other="1,1,1,1,1\n"))
    assert (speed.model, speed.gpu, speed.batch_samples, speed.dataset) == ("ResNet-18", "T4", 10, "CIFAR-10")
    assert speed.counts == (2, 4)
    assert speed.epoch_time_s == (1250.0, 750.0)
    assert audit[0] == "Files left out, as their data set is unknown: 1 (other.csv)."
    assert audit[1].startswith("cifar10.csv: kept batch 10 on each GPU (3 of 6 rows)")
    assert "at each of 2 GPU counts (1 slower ones dropped)" in audit[1]


def test_adaptdl_names_the_line_that_is_wrong(tmp_path: Path) -> None:
    """A malformed row with the file, its line and its column; a folder without CSV files is refused by name."""
    with pytest.raises(ValueError, match="no CSV file"):
        read_adaptdl_speeds(tmp_path)
    for row, message in (
        ("1,x,4,1.0,0", "line 2: num_replicas"),
        ("1,2,-4,1.0,0", "line 2: local_bsz"),
        ("1,2,4,,0", "line 2: step_time"),
        ("many,2,4,1.0,0", "line 2: num_nodes"),
    ):
        with pytest.raises(ValueError, match=rf"bert\.csv, {message}"):
            read_adaptdl_speeds(adaptdl_folder(tmp_path, bert=row + "\n"))


@pytest.mark.parametrize("reader", [read_pcs_speedups, read_gavel_speeds])
def test_a_missing_file_is_an_os_error(tmp_path: Path, reader: Callable[[Path], object]) -> None:
    """A file that is not there raises the usual error, which names it."""
    with pytest.raises(FileNotFoundError, match="absent"):
        reader(tmp_path / "absent")
