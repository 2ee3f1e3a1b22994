"""A system that reranking made has a page with its gain; captions that did not fit are listed."""

import drawn
import reported

from clipstore import EvalSet, compare, measure, rerank
from clipstore.encoders.fake import FakeEncoder
from clipstore.evalset import load_systems
from clipstore.evaluate.measuring import measure_systems
from clipstore.report import gather, plots_page, rerank_page, write_file
from clipstore.rerank import save_as
from clipstore.significance import Settings
from clipstore.store.founding import found


def test_a_rerank_has_its_page(store, tmp_path):
    """The curve, the share that changed, gains with links; found by the run that made it."""
    space, loaded = reported.filled(store, tmp_path)
    beams = {name: [f"beam {number} of {name}" for number in range(4)] for name in drawn.captions(reported.COUNT)}
    made = rerank(space, beams, loaded)
    save_as(store, loaded, "picked", made)
    again = EvalSet.load(store, "shown")
    measured = measure_systems(space, load_systems(store, again, empty="zero"), again)
    report = gather(compare(measured, settings=Settings(resamples=200)), space)
    (one,) = report.reranks
    assert one.system == "picked"
    view = rerank_page.view(report, one)
    assert view["changed"] == f"{100 * made.gain.changed:.1f}%"
    assert len(view["curve"].table.rows) == 4
    assert view["gains"][0]["row"] is not None
    write_file(report, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'href="#rerank-1"' in text
    assert 'id="rerank-1"' in text


def test_the_page_is_that_of_the_run_that_made_the_system(store, tmp_path):
    """Two reranks by one method with other candidates: each system has its own gain, and says what its curve is."""
    space, loaded = reported.filled(store, tmp_path)
    made = {}
    for words in ("beam", "sample"):
        lists = {
            name: [f"{words} {number} of {name}" for number in range(4)] for name in drawn.captions(reported.COUNT)
        }
        made[words] = rerank(space, lists, loaded, by="mbr")
        save_as(store, loaded, words, made[words])
    again = EvalSet.load(store, "shown")
    measured = measure_systems(space, load_systems(store, again, empty="zero"), again)
    report = gather(compare(measured, settings=Settings(resamples=200)), space)
    for one in report.reranks:
        assert one.gain["picked"]["mean"] == made[one.system].gain.picked.mean
        assert "whole list" in rerank_page.view(report, one)["note"]
    assert made["beam"].gain.picked.mean != made["sample"].gain.picked.mean


def test_a_rerank_of_a_base_has_its_gain(store, tmp_path):
    """In a store that rests on the one where reranking was done, the page shows the same."""
    space, loaded = reported.filled(store, tmp_path)
    beams = {name: [f"beam {number} of {name}" for number in range(4)] for name in drawn.captions(reported.COUNT)}
    save_as(store, loaded, "picked", rerank(space, beams, loaded))
    with found(tmp_path / "above", bases=[store.folder]) as above:
        own = above.custom_space(FakeEncoder(), "fake")
        again = EvalSet.load(above, "shown")
        measured = measure_systems(own, load_systems(above, again, empty="zero"), again)
        report = gather(compare(measured, settings=Settings(resamples=200)), own)
    (one,) = report.reranks
    assert one.gain is not None
    assert any(name.startswith("vectors made with") for name, _ in report.facts)


def test_what_did_not_fit_is_listed(report):
    """300 words are more than the model reads: counted, listed, greyed, and warned of on the first page."""
    from clipstore.report import board_page
    from clipstore.report.captions import lines

    long = reported.HOSTILE.index(" ".join(["word"] * 300))
    (own,) = plots_page.cut_systems(report)
    assert (own["system"], own["cut"]) == ("hostile", "1")
    assert plots_page.cut_captions(report)[0]["row"] == long
    (line,) = [one for one in lines(report, long) if one.system == "hostile"]
    assert line.pieces[-1][0] == "cut"
    assert any("did not fit" in one for one in board_page.warnings(report))


def test_one_system_alone(store, tmp_path):
    """No pairs, no grid, no error."""
    space, loaded = reported.filled(store, tmp_path)
    measured = measure(space, {"blip": drawn.captions(reported.COUNT)}, loaded)
    report = gather(compare(measured, settings=Settings(resamples=200)), space)
    written = write_file(report, tmp_path / "report.html")
    assert written.images == reported.COUNT


def test_text_metrics_without_images(store, tmp_path):
    """A set without pictures and without a model has its pages all the same."""
    refs = drawn.references(reported.COUNT)
    named = {"blip": drawn.captions(reported.COUNT), "ofa": drawn.captions(reported.COUNT, "the first words on")}
    measured = measure(store, named, EvalSet.read(refs=refs), ["distinct-1", "mean-words"])
    report = gather(compare(measured, settings=Settings(resamples=200)), store)
    assert write_file(report, tmp_path / "report.html").images == 0


def test_a_baseline(store, tmp_path):
    """With a baseline only its pairs are tested; the others' pages are there without a test."""
    space, loaded = reported.filled(store, tmp_path)
    measured = measure_systems(space, load_systems(store, loaded, empty="zero"), loaded)
    report = gather(compare(measured, baseline="blip", settings=Settings(resamples=200)), space)
    assert write_file(report, tmp_path / "report.html").files == 1
    assert "(baseline)" in (tmp_path / "report.html").read_text(encoding="utf-8")
