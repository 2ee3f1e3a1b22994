"""Canonical text and its tokens: exactly open_clip's ids, without cleaning twice."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import open_clip
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clipstore.encoders import bpe, canonical, tokenizer
from clipstore.errors import EncoderError

clean = canonical.cleaner(canonical.OPENAI_BPE)
PIECES = [
    "&amp;", "&amp;amp;lt;", "&lt;b&gt;", "&#39;s", "&nbsp;", "&copy", "<b>", "[red]", "dog's", "DON'T", "I'll", "x2y3",
    "â€™", "cafÃ©", "café", "İstanbul", "ΑΣ ΑΣ", "ﬁre", "１２", "\u200b", "\u00ad", "\x00", "\x1c", "\x85", "\u2028",
    "\ufeff", "🐶🏽", "e\u0301", "\t", "\n", "\r\n", "  ", "\x1b[31m", "ſtop", "K", "_", "...", "!!", "<", "|>", "&",
]  # fmt: skip
WILD = st.lists(st.sampled_from(PIECES) | st.text(max_size=6) | st.text(st.characters(max_codepoint=127), max_size=8))


@cache
def ours():
    """The tokenizer under test."""
    return tokenizer.wrap(open_clip.SimpleTokenizer(), 77)


@cache
def theirs():
    """open_clip's own."""
    return open_clip.SimpleTokenizer()


def assert_equal_ids(text):
    """Our ids of the canonical text are open_clip's ids of the raw text."""
    (found,) = ours()([clean(text)])
    expected = theirs()(text)[0].tolist()
    padded = [*found.ids, *([0] * (77 - len(found.ids)))]
    assert padded == expected, text


@settings(max_examples=1000, deadline=None)
@given(WILD.map("".join) | st.text())
@example("&amp;amp;amp;lt;")
@example("a\x1cb")
@example("A photo depicts ")
@example("<ſtart_of_text>")
def test_ids_equal_open_clips(text):
    """Any text without special strings: unicode, entities, control characters, broken encodings."""
    if canonical.specials(text) == 0:
        assert_equal_ids(text)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_ascii_takes_the_quick_way_to_the_same_ids(text):
    """Printable ASCII needs no ftfy, and its ids are the same."""
    if canonical.specials(text) == 0:
        assert_equal_ids(text)


@settings(max_examples=300, deadline=None)
@given(WILD.map(" ".join))
def test_a_prefix_may_stand_before_or_after_cleaning(text):
    """Cleaning the prefixed caption, and prefixing the cleaned caption, give the same ids."""
    if canonical.specials(text) == 0:
        whole, parts = ours()([clean("A photo depicts " + text), "A photo depicts " + clean(text)])
        assert whole == parts


def test_real_captions_have_equal_ids(shared_data):
    """Thousands of captions by people and by systems."""
    annotations = json.loads((shared_data / "karpathy" / "annotations.json").read_text())["annotations"]
    captions = list(dict.fromkeys(row["caption"] for row in annotations))[:20_000:5]
    for caption in captions:
        assert_equal_ids(caption)
        assert_equal_ids("A photo depicts " + caption)


def test_the_memo_is_quicker_than_open_clips_tokenizer(shared_data):
    """At least eight times as many captions a second, cleaning included (a loose bound here; the benchmark measures)."""
    annotations = json.loads((shared_data / "karpathy" / "annotations.json").read_text())["annotations"]
    captions = list(dict.fromkeys(row["caption"] for row in annotations))
    ours()([clean(text) for text in captions[:2000]])
    ratios = []
    for start in (2000, 4000, 6000):
        some = captions[start : start + 2000]
        began = time.process_time()
        ours()([clean(text) for text in some])
        middle = time.process_time()
        theirs()(some)
        ratios.append((time.process_time() - middle) / (middle - began))
    assert max(ratios) > 4


def test_every_word_of_the_vocabulary_is_found_whole():
    """Merging leads to each whole word of the vocabulary, so that it may be looked up instead."""
    words = [token for token in theirs().encoder if token.endswith("</w>")]
    assert len(words) > 30_000
    for word in words:
        letters = word.removesuffix("</w>")
        assert bpe.merged([*letters[:-1], letters[-1] + "</w>"], theirs().bpe_ranks) == [word]
    for word in words[::300]:
        assert theirs().bpe(word.removesuffix("</w>")) == word


@settings(max_examples=500, deadline=None)
@given(st.text(st.sampled_from("aabcdeehilnorstu'é"), min_size=1, max_size=16))
def test_words_outside_the_vocabulary_are_merged_alike(word):
    """Our merging and open_clip's end in the same ids, whatever the word."""
    assert_equal_ids(word)


def test_special_strings_are_stripped_and_counted():
    """Special strings of both tokenizers go, in any case, also behind entities; the words on both sides stay two."""
    assert clean("a dog<|endoftext|><|ENDOFTEXT|>") == "a dog"
    assert clean("<start_of_text>a dog<end_of_text>a cat") == "a dog a cat"
    assert clean("a &lt;|endoftext|&gt; dog") == "a dog"
    assert clean("<|endof<|endoftext|>text|>") == "<|endof text|>"
    assert [canonical.specials(text) for text in ("a < b", "a<|endoftext|>&lt;|StartOfText|&gt;", "é")] == [0, 2, 0]
    assert 49407 not in ours()([clean("a<|endoftext|>b<end_of_text>c")])[0].ids[:-1]


def test_case_spaces_and_entities_share_a_canonical_text():
    """Spellings with equal ids are one text, so they share a vector."""
    assert len({clean(text) for text in ("A  dog &amp; Cat", " a dog & cat\n", "a dog &amp;amp; CAT")}) == 1


def test_punctuation_markup_and_emoji_stay():
    """Brackets, tags, quotes and emoji are part of a caption."""
    assert clean('[red] </b> "hi" 🐶') == '[red] </b> "hi" 🐶'


def test_identity_changes_nothing():
    """Unknown tokenizers get the text as it came."""
    assert canonical.cleaner("identity")(" A &amp; ") == " A &amp; "


def test_unknown_cleaning_is_refused():
    """A cleaning of a newer clipstore is named."""
    with pytest.raises(EncoderError, match=r"'later'.*openai-bpe"):
        canonical.cleaner("later")


def test_several_threads_get_the_same_ids():
    """The memo is shared by threads that learn the same words at once."""
    fresh = tokenizer.wrap(open_clip.SimpleTokenizer(), 77)
    texts = [f"word{number % 97} thing{number % 31}s" for number in range(2000)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: fresh(texts), range(8)))
    assert all(result == results[0] for result in results)
    assert results[0] == ours()(texts)


def test_a_tokenizer_with_its_own_cleaning_is_left_to_it():
    """A tokenizer that cleans in its own way gets raw text, and gives its own ids."""
    other = open_clip.SimpleTokenizer(clean="canonicalize", context_length=32)
    wrapped = tokenizer.wrap(other, 32)
    assert wrapped.cleaning == canonical.IDENTITY
    text = "A_dog, isn't it? &amp;amp; more " + "x " * 40
    (found,) = wrapped([text])
    assert list(found.ids) == other(text)[0].tolist()
    assert found.cut == len(other.encode(text)) + 2 - 32


def test_any_other_tokenizer_is_called_as_it_is():
    """A tokenizer of another class keeps its padding; what it cut is counted where it can be known."""

    class Inner:
        def __call__(self, text):
            ids = [ord(letter) for letter in text]
            return type("Encoding", (), {"input_ids": ids})

        def get_vocab(self):
            return {"a": 97}

    class Other:
        tokenizer = Inner()
        clean_fn = staticmethod(str.strip)

        def __call__(self, texts, context_length):
            rows = [
                ([ord(letter) for letter in text.strip()] + [1] * context_length)[:context_length] for text in texts
            ]
            return __import__("torch").tensor(rows)

    wrapped = tokenizer.wrap(Other(), 8)
    short, long = wrapped(["ab", " abcdefghij "])
    assert (short.ids, short.cut) == ((97, 98, 1, 1, 1, 1, 1, 1), 0)
    assert (len(long.ids), long.cut) == (8, 2)
    assert wrapped([]) == []


@pytest.mark.parametrize(
    "text",
    [
        "a dog's 3 balls, in 2024!!",
        "antidisestablishmentarianism naïve café",
        "日本語 🐶🏽 x²½ a_b e\u0301",
        "DON'T I'll",
    ],
)
def test_lengths_of_words_are_open_clips(text):
    """What a word costs is known without torch, and is what open_clip's tokenizer makes of it."""
    assert [bpe.length(word) for word in text.split()] == [len(theirs().encode(word)) for word in text.split()]


def test_lengths_load_no_torch():
    """Neither torch nor open_clip is imported for them; the merges are read beside."""
    code = "import sys; from clipstore.encoders import bpe; bpe.length('giraffes'); print({'torch', 'open_clip'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_lengths_without_the_merges(monkeypatch):
    """Where open_clip's file is not there, every piece counts one."""
    monkeypatch.setattr(bpe, "_ranks", dict)
    bpe.length.cache_clear()
    assert [bpe.length(word) for word in ("giraffes,", "2024", "")] == [2, 4, 1]
    bpe.length.cache_clear()
