"""One file: everything inside, nothing outside, hostile text harmless."""

import json
import re
from html.parser import HTMLParser

import reported

from clipstore.report import write_file, write_folder

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe]")


class Read(HTMLParser):
    """Collects tags, attributes and ids of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.hrefs, self.ids, self.scripts = [], [], [], []
        self._script = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Keep tags, addresses, ids."""
        own = dict(attrs)
        self.tags.append((tag, own))
        self.hrefs += [own[name] for name in ("href", "src", "action") if own.get(name) is not None]
        self.ids += [own["id"]] if "id" in own else []
        if tag == "script":
            self._script = own
            self.scripts.append([own, ""])

    def handle_endtag(self, tag):
        """Note where a script ends."""
        if tag == "script":
            self._script = None

    def handle_data(self, data):
        """Keep what a script says."""
        if self._script is not None:
            self.scripts[-1][1] += data


def whole(report, tmp_path, **more):
    """Write a report, and return its text and what was written."""
    written = write_file(report, tmp_path / "report.html", **more)
    return (tmp_path / "report.html").read_text(encoding="utf-8"), written


def test_nothing_outside_the_file_is_asked_for(report, tmp_path):
    """Every address is an anchor or data, and every anchor is there."""
    text, _ = whole(report, tmp_path)
    page = Read(text)
    assert all(one.startswith(("#", "data:image/webp;base64,")) for one in page.hrefs)
    assert {one[1:] for one in page.hrefs if one.startswith("#")} <= set(page.ids)
    assert str(tmp_path) not in text


def test_ids_are_there_once(report, tmp_path):
    """Sections of one file share no id."""
    page = Read(whole(report, tmp_path)[0])
    assert len(page.ids) == len(set(page.ids))


def test_hostile_captions_stay_text(report, tmp_path):
    """No caption opens a tag, ends a script or runs a template; the JSON block reads back whole."""
    text, _ = whole(report, tmp_path)
    page = Read(text)
    assert len(page.scripts) == 2
    assert not any(tag in {"b", "i"} and "onclick" in own for tag, own in page.tags)
    assert "alert(1)</script>" not in text
    assert "<i>100%" not in text
    assert "{{ 7 * 7 }}" in text
    ((_, block),) = [one for one in page.scripts if one[0].get("type") == "application/json"]
    assert not set("<>&\u2028\u2029") & set(block)
    assert not CONTROL.search(text)
    assert "a bell\N{SYMBOL FOR BELL} an escape\N{SYMBOL FOR ESCAPE}[31m" in text
    assert "a delete\N{SYMBOL FOR DELETE} a next line\\x85 a NUL\N{SYMBOL FOR NULL}" in text
    assert json.loads(block) == report.comparison.to_dict()


def test_the_policy_allows_only_what_stands_in_the_file(report, tmp_path):
    """No default source; script and style by their hash."""
    text, _ = whole(report, tmp_path)
    ((policy),) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    assert "default-src &#39;none&#39;" in policy
    assert policy.count("sha256-") == 2
    assert "unsafe" not in policy
    assert not re.search(r'\sstyle="', text)


def test_every_image_is_embedded_once(report, tmp_path):
    """Thumbnails repeat by reference, not by bytes; each is WebP of 224 pixels at most."""
    text, written = whole(report, tmp_path)
    assert text.count("data:image/webp;base64,") == written.images == reported.COUNT
    assert written.size == len(text.encode())
    assert text.count("<use href=") > reported.COUNT


def test_the_help_names_keys_that_work(report, tmp_path):
    """One file shows all its images in one order: no key for sorts or pages there; a folder has both."""
    write_file(report, tmp_path / "report.html")
    write_folder(report, tmp_path / "out")
    for text, grids in ((tmp_path / "report.html", False), (tmp_path / "out" / "index.html", True)):
        keys = re.findall("<kbd>(.)</kbd>", text.read_text(encoding="utf-8"))
        assert ("s" in keys, "[" in keys, "j" in keys) == (grids, grids, True)


def test_no_images(store, tmp_path):
    """A private set can be shown without pictures."""
    text, written = whole(reported.made(store, tmp_path, images=False), tmp_path)
    assert "data:image" not in text
    assert written.images == 0


def test_the_cap_keeps_disagreement_worst_and_random(report, tmp_path):
    """A third or less each way, the seed is said, links to images left out are plain text."""
    text, written = whole(report, tmp_path, cap=9)
    assert sum(written.chosen.values()) == 9
    assert set(written.chosen) == {"disagreement", "worst", "random"}
    assert f"seed {report.seed}" in text
    page = Read(text)
    assert {one[1:] for one in page.hrefs if one.startswith("#")} <= set(page.ids)


def test_the_same_report_is_the_same_file(report, tmp_path):
    """No time, no order by chance."""
    first, _ = whole(report, tmp_path)
    assert whole(report, tmp_path)[0] == first


def test_every_table_has_headers_and_every_plot_a_table(report, tmp_path):
    """Headers have a scope; a plot says what it is, and stands beside its numbers."""
    text, _ = whole(report, tmp_path)
    page = Read(text)
    assert all(own.get("scope") for tag, own in page.tags if tag == "th")
    plots = text.count('<svg class="plot"')
    assert plots
    assert text.count("Show as table") == plots
    assert all(f"<svg{one}" for one in re.findall(r'<svg class="plot"[^>]*aria-label="[^"]+"', text))
    assert len(re.findall(r'<svg class="plot"[^>]*><title>[^<]+</title><desc>[^<]+</desc>', text)) == plots


def test_the_most_different_image_is_two_clicks_away(report, tmp_path):
    """Grid cell -> pair page, whose first row is the image where the two differ most."""
    text, _ = whole(report, tmp_path)
    gap = abs(report.scores[0] - report.scores[1])
    row = int(gap.argmax())
    board = text[text.index('id="board"') : text.index('id="images"')]
    (anchor,) = set(re.findall(r'href="#(pair-(?:1-2|2-1))"', board))
    pair = text[text.index(f'id="{anchor}"') :]
    firsts = re.findall(r'<tbody><tr><th scope="row"><a href="#image-(\d+)"', pair)[:2]
    assert str(row + 1) in firsts
