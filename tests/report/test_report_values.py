"""The values behind pages: sorts, filters, differences, suspects, plots."""

from dataclasses import replace

import drawn
import numpy as np
import pytest
from reported import filled, systems

from clipstore import compare, measure
from clipstore.encoders import bpe
from clipstore.errors import InputError
from clipstore.formats import read_captions
from clipstore.metrics import recipes
from clipstore.report import board_page, gather, image_pages, pair_page, plots_page, render, suspects_page
from clipstore.report.captions import lines, pieces
from clipstore.report.order import SORTS, largest, matching, ordered, selection, sorts
from clipstore.report.render import safe_json
from clipstore.report.suspects_page import repeats
from clipstore.report.svg import Scale
from clipstore.report.visible import visible
from clipstore.serve.addresses import Addresses
from clipstore.significance import Settings


def test_every_sort_shows_every_image(report):
    """A sort loses and repeats nothing."""
    for sort in SORTS:
        assert sorted(ordered(report, sort)) == list(range(len(report)))
    with pytest.raises(InputError, match="disagree"):
        ordered(report, "nonsense")


def test_disagreement_of_two_is_their_difference(report):
    """With two systems chosen, the largest difference comes first."""
    gap = np.abs(report.scores[0] - report.scores[2])
    assert ordered(report, "disagree", (0, 2))[0] == int(gap.argmax())


def test_filter(report):
    """Every word must stand somewhere in id, references or captions; tags are exact."""
    assert matching(report, range(len(report)), "PICTURE words 17") == [17]
    assert matching(report, range(len(report)), "no such word") == []
    assert matching(report, range(len(report)), "", "a=b") == []


def test_largest(report):
    """What a leads by comes first, and b's lead is the other list."""
    ahead, behind = largest(report, 0, 1, 5)
    difference = report.scores[0] - report.scores[1]
    assert all(difference[row] > 0 for row in ahead)
    assert all(difference[row] < 0 for row in behind)
    back_ahead, _ = largest(report, 1, 0, 5)
    assert set(back_ahead) == set(behind)


def test_selection_is_the_same_for_the_same_seed(report):
    """The random images depend on the seed alone."""
    assert selection(report, 9) == selection(report, 9)
    assert len(selection(report, 9)) == 9
    assert len(selection(report, 1000)) == len(report)


def test_lines_are_ranked_and_marked(report):
    """The best first; the closest reference is told from the vectors."""
    found = lines(report, 3)
    assert [one.rank for one in found] == sorted(one.rank for one in found)
    assert all(one.reference in {1, 2} for one in found)
    assert all(-1.001 <= one.similarity <= 1.001 for one in found)


def test_pieces():
    """Words of both, of the best alone, of this one alone, and what was cut."""
    assert pieces("a dog runs", "a cat runs") == [
        ("same", "a"),
        ("only-best", "dog"),
        ("only-here", "cat"),
        ("same", "runs"),
    ]
    assert pieces("", "one two three", 2) == [("same", "one"), ("cut", "two three")]


def test_what_was_cut_is_told_by_tokens():
    """Where a word's tokens are known, as many words are greyed as the cut tokens belong to: not one a token."""
    long = "a cat chases antidisestablishmentarianism, sleepily"
    assert [bpe.length(word) for word in long.split()] == [1, 1, 1, 7, 2]
    assert pieces("", long, 2, bpe.length)[-1] == ("cut", "sleepily")
    assert pieces("", long, 3, bpe.length)[-1] == ("cut", "antidisestablishmentarianism, sleepily")
    assert pieces("", long, 9, bpe.length)[-1] == ("cut", "antidisestablishmentarianism, sleepily")
    assert pieces("", long, 99, bpe.length) == [("same", "a"), ("cut", long[2:])]


def test_the_tokenizer_says_whether_tokens_are_known(report, store):
    """OpenAI's vocabulary has lengths here; the fake encoder counts words, and its page says about."""
    from clipstore.report.gathering import _length

    assert report.length is None
    assert _length(None) is None
    assert _length(store.space("tiny")) is bpe.length


def test_visible():
    """Tab and line end stay; what HTML or XML can't hold is shown as a sign."""
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible("\x00\x1b\r\x7f\x9f\ud800") == "\u2400\u241b\u240d\u2421\\x9f\ufffd"


def test_pair_counts_agree_with_the_comparison(report):
    """Wins, ties and losses are those of the test."""
    view = pair_page.view(report, 0, 2)
    test = pair_page.test_of(report, 0, 2)
    assert (view["wins"], view["ties"], view["losses"]) == (test.wins, test.ties, test.losses)
    assert pair_page.test_of(report, 2, 0).delta == -test.delta


def test_reference_similarity_is_the_cosine(report):
    """What is derived from RefCLIP-S and CLIP-S is the cosine of the vectors."""
    row = int(np.flatnonzero(~np.isnan(report.reference_similarity[0]))[0])
    _, cosine = report.closest(row)[report.names[0]]
    assert report.reference_similarity[0, row] == pytest.approx(max(cosine, 0), abs=2e-5)


@pytest.mark.parametrize("name", ["raw", "pac-s", "torchmetrics"])
def test_similarities_are_cosines_under_any_recipe(report, name):
    """The factor is the recipe's own, and where the score with references is the best cosine it is that."""
    recipe = recipes.recipe(name)
    measured = report.measured
    usual = report.image_similarity
    best = report.reference_similarity
    scaled = {"clip-s": usual * recipe.weight}
    if recipe.references == "best":
        scaled["ref-clip-s"] = best
    elif recipe.references == "harmonic":
        terms = [values.astype(np.float32).ravel() for values in (scaled["clip-s"], best)]
        scaled["ref-clip-s"] = recipes.reference_score(recipe, *terms).reshape(best.shape)
    measures = {
        key: replace(measured.measures[key], per_item=values.astype(np.float32)) for key, values in scaled.items()
    }
    part = replace(report.comparison.parts[0], measured=replace(measured, measures=measures, recipe=name))
    other = replace(report, comparison=replace(report.comparison, parts=(part,)))
    assert np.allclose(other.image_similarity, usual, atol=1e-5, equal_nan=True)
    if recipe.references != "none":
        there = ~np.isnan(other.reference_similarity) & ~np.isnan(best)
        assert there.any()
        assert np.allclose(other.reference_similarity[there], best[there], atol=1e-3)


def test_sorting_the_board(report):
    """By another column, and turned round."""
    by_name = board_page.view(report, "system")
    assert [one["system"] for one in by_name["rows"]] == sorted(report.names)
    turned = board_page.view(report, "system", ascending=True)
    assert [one["system"] for one in turned["rows"]] == sorted(report.names, reverse=True)
    with pytest.raises(InputError):
        board_page.sort_name("nonsense", report)


def test_repeats():
    """Phrases that come again."""
    assert repeats("a dog a dog a dog") == ("a dog", 3)
    assert repeats("the red car and the red car") == ("the red car", 2)
    assert repeats("very very very big") == ("very", 3)
    assert repeats("a man and a dog") is None


def test_suspects_name_what_repeats(report):
    """300 times one word is found, with its reason."""
    found = {one["name"]: one for one in suspects_page.view(report)["reasons"]}
    assert any(row["system"] == "hostile" for row in found["repeated"]["rows"])


def test_what_nobody_looked_for_is_not_none(report, store):
    """With too few systems, or without what it takes, a reason says so instead of 0; the JSON has every count."""
    found = {one["name"]: one for one in suspects_page.view(report)["reasons"]}
    assert (found["low"]["count"], found["low"]["missing"]) == (None, "it takes 4 systems")
    assert found["own"]["missing"] == found["reference"]["missing"] == ""
    page = render.page("suspects", report, Addresses(report), "Suspects", v=suspects_page.view(report))
    assert "Not looked for: it takes 4 systems." in page
    assert "not looked for</summary>" in page
    unranked = replace(report, own_ranks=None)
    found = {one["name"]: one for one in suspects_page.view(unranked)["reasons"]}
    assert found["own"]["missing"] == "some captions or their vectors are not at hand"


def test_sorts_are_those_that_the_metrics_allow(report):
    """Where image and references can't disagree, nothing is sorted by it; the refusal says what it takes."""
    assert "spread" in sorts(report)
    measures = {name: one for name, one in report.measured.measures.items() if name != "ref-clip-s"}
    part = replace(report.part, measured=replace(report.measured, measures=measures))
    without = replace(report, comparison=replace(report.comparison, parts=(part,)))
    assert "spread" not in sorts(without)
    assert "spread" not in image_pages.grid(without, image_pages.State())["sorts"]
    with pytest.raises(InputError, match=r"'spread', which needs CLIP-S and RefCLIP-S; there is: disagree, "):
        ordered(without, "spread")


def test_closest_references_and_cuts_are_those_of_the_words_encoded(store, tmp_path):
    """By PTB tokens: the vectors of what was encoded are found, not those of the text as it came."""
    pytest.importorskip("pycocoevalcap")
    space, loaded = filled(store, tmp_path, 9)
    read = {"loud": read_captions({drawn.name(row): f"A BIG, red... {'square! ' * 40}" for row in range(9)})}
    measured = measure(space, read, loaded, recipe="coco-ptb")
    report = gather(compare(measured, settings=Settings(resamples=200)), space)
    assert all("loud" in report.closest(row) for row in range(9))
    assert (report.cuts[0] == 0).all()
    assert report.tokens is None


def test_plots(report):
    """Each has a table; constant lengths have no correlation."""
    assert all(one.table.rows for one in plots_page.drawings(report))
    assert dict(plots_page.spearman(report))["blip"] == "-"


def test_the_context_limit_is_marked(report):
    """A line among tokens where captions come near it, a word at the edge where they are far or tokens not known."""
    words = plots_page.score_by_length(report)
    assert "context limit: 77 tokens</text>" in words.body
    assert "words of a caption" in words.body
    report = replace(report, length=bpe.length)
    near = plots_page.score_by_length(report)
    assert "context limit</text>" in near.body
    assert "tokens of a caption, prompt, start and end included" in near.body
    short = [replace(one, texts=tuple(text and text[:40] for text in one.texts)) for one in report.measured.systems]
    part = replace(report.part, measured=replace(report.measured, systems=tuple(short)))
    far = plots_page.score_by_length(replace(report, comparison=replace(report.comparison, parts=(part,))))
    assert "context limit: 77 tokens \N{RIGHTWARDS ARROW}</text>" in far.body


def test_a_caption_is_cut_by_the_tokens_over_the_limit(store, tmp_path):
    """The length that the plot shows, less the model's context, is what the encoder counted as cut."""
    _, loaded = filled(store, tmp_path)
    space = store.space("tiny")
    measured = measure(space, {name: read_captions(own) for name, own in systems().items()}, loaded)
    report = gather(compare(measured, settings=Settings(resamples=200)), space)
    assert (report.cuts > 0).any()
    assert (np.maximum(report.tokens - report.context, 0) == report.cuts).all()


def test_state_in_the_address(report):
    """What is usual is left out."""
    assert image_pages.State().query_values(report) == {}
    state = image_pages.State("hard", (1,), "dog")
    assert state.query_values(report) == {"sort": "hard", "sys": [report.names[1]], "q": "dog"}


def test_scale_has_round_ticks():
    """Ticks are round and inside; a single value has a scale, too."""
    assert Scale(0, 1, 0, 100).ticks() == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    one = Scale.over([0.5, 0.5, float("nan")], 0, 100)
    assert one.low < 0.5 < one.high
    assert one.ticks()


def test_safe_json():
    """Nothing ends a script."""
    assert safe_json({"a": "</script>&"}) == '{"a": "\\u003c/script\\u003e\\u0026"}'


def test_a_warning_names_no_folder():
    """An absolute path is shown by its last part; relative ones and fractions stay."""
    assert board_page.bare("/home/me/out/blip.json: 3 of 1/2 odd, see out/a.json") == (
        "blip.json: 3 of 1/2 odd, see out/a.json"
    )
    assert board_page.bare("can't read '/home/my own me/a b/blip.json'") == "can't read 'blip.json'"
    assert board_page.bare("/mnt/big disk/x.json and out/a.json") == "x.json and out/a.json"
    assert board_page.bare("see file:///home/me/a.jpg, file://box/share/b.jpg") == "see a.jpg, b.jpg"
