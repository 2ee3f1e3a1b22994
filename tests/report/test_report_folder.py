"""A folder: relative links that all lead somewhere, thumbnails by hash, pages of images."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
import reported

from clipstore import Store, compare, measure
from clipstore.errors import InputError
from clipstore.formats import read_captions
from clipstore.report import gather, write_folder
from clipstore.report.figures import write_figures
from clipstore.report.owned import Owned
from clipstore.significance import Settings


def test_every_link_leads_to_a_file(report, tmp_path):
    """All links are relative and lead to a file of the folder, from any page."""
    folder = tmp_path / "out"
    written = write_folder(report, folder)
    for page in folder.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"]+)"', page.read_text(encoding="utf-8")):
            if not link.startswith("#"):
                assert "://" not in link
                assert not link.startswith("/")
                assert (page.parent / link).is_file(), (page, link)
    assert written.files == len([one for one in folder.rglob("*") if one.is_file()])
    assert written.size == sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def test_a_second_report_leaves_nothing_of_the_first(store, tmp_path):
    """Without pictures, with fewer systems and images: none of the first one's files is there, and the user's are."""
    folder, fresh = tmp_path / "out", tmp_path / "fresh"
    write_folder(reported.made(store, tmp_path, 70), folder)
    assert len(list((folder / "thumbs").iterdir())) == 70
    (folder / "image" / "mine.txt").write_text("kept")
    (folder / "notes.html").write_text("kept")
    with Store.open(tmp_path / "other") as other:
        small = reported.made(other, tmp_path / "small", images=False)
    write_folder(small, folder)
    write_folder(small, fresh)
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names == {path.relative_to(fresh).as_posix() for path in fresh.rglob("*") if path.is_file()} | {
        "image/mine.txt", "notes.html"
    }  # fmt: skip
    assert list((folder / "thumbs").iterdir()) == []


@pytest.mark.parametrize("name", ["about.html", "comparison.json", "image/3.html", "pair/1-9.html"])
def test_a_file_of_ones_own_among_the_pages_is_kept(report, tmp_path, name):
    """Put there after a report, or changed by hand: the next one is refused and touches nothing."""
    folder = tmp_path / "out"
    write_folder(report, folder)
    (folder / name).write_text("mine")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="no report wrote it so"):
        write_folder(report, folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_folder_that_leads_elsewhere_is_not_followed(report, tmp_path):
    """A link among the folders of a report: nothing behind it is written or taken away."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "style.css").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "static").symlink_to(elsewhere)
    with pytest.raises(InputError, match="static: is there"):
        write_folder(report, tmp_path / "out")
    assert (elsewhere / "style.css").read_text() == "mine"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["static"]


def test_a_report_that_was_stopped_is_mended_by_the_next(report, tmp_path, monkeypatch):
    """Whatever instant it is stopped at, the next report finds only files of its own."""
    whole = tmp_path / "whole"
    write_folder(report, whole)
    put = Owned.put
    for stop in range(1, 30, 4):
        count = iter(range(stop))

        def stopping(owned, name, data, count=count):
            if next(count, None) is None:
                raise KeyboardInterrupt
            put(owned, name, data)

        with monkeypatch.context() as patched:
            patched.setattr(Owned, "put", stopping)
            with pytest.raises(KeyboardInterrupt):
                write_folder(report, tmp_path / "out")
    write_folder(report, tmp_path / "out")
    for path in whole.rglob("*"):
        if path.is_file():
            assert (tmp_path / "out" / path.relative_to(whole)).read_bytes() == path.read_bytes()


def test_pictures_go_first_where_none_are_wanted(store, tmp_path, monkeypatch):
    """A run without images that is stopped half-way has taken the older pictures away already."""
    space, loaded = reported.filled(store, tmp_path)
    measured = measure(space, {name: read_captions(own) for name, own in reported.systems().items()}, loaded)
    comparison = compare(measured, settings=Settings(resamples=200))
    write_folder(gather(comparison, space), tmp_path / "out")
    assert list((tmp_path / "out" / "thumbs").iterdir())

    def stopped(*_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("clipstore.report.folder._files", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_folder(gather(comparison, space, images=False), tmp_path / "out")
    assert list((tmp_path / "out" / "thumbs").iterdir()) == []
    assert (tmp_path / "out" / "index.html").exists()


def test_what_no_report_wrote_is_not_written_over(report, tmp_path):
    """A folder with an index.html of somebody's is refused as it is; one with other files is not."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("mine")
    with pytest.raises(InputError, match=r"index\.html: is there, and no report wrote it so: give -o another folder"):
        write_folder(report, folder)
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("index.html", "mine")]
    (folder / "index.html").rename(folder / "home.html")
    write_folder(report, folder)
    assert (folder / "home.html").read_text() == "mine"


def test_pages_of_a_folder_load_nothing_from_elsewhere(report, tmp_path):
    """Every page says so in a policy, and has no style or script of its own in it."""
    write_folder(report, tmp_path / "out")
    for page in (tmp_path / "out").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "default-src &#39;none&#39;; img-src &#39;self&#39; file:" in text
        assert not re.search(r"<script(?![^>]*src=)|<style>| style=| on[a-z]+=\"", text)


def test_the_folder_can_be_moved(report, tmp_path):
    """No page names where it was written."""
    write_folder(report, tmp_path / "out")
    assert not any(str(tmp_path) in one.read_text(encoding="utf-8") for one in (tmp_path / "out").rglob("*.html"))


def test_pages_of_sixty(store, tmp_path):
    """130 images make three pages in every order; thumbnails stand there once and load late."""
    write_folder(reported.made(store, tmp_path, 130), tmp_path / "out")
    pages = sorted((tmp_path / "out").glob("images-hard-*.html"))
    counts = [one.read_text(encoding="utf-8").count('class="card"') for one in pages]
    assert counts == [60, 60, 10]
    assert len(list((tmp_path / "out" / "thumbs").iterdir())) == 130
    first = pages[0].read_text(encoding="utf-8")
    assert first.count('loading="lazy"') == 60
    assert 'width="12" height="10"' in first


def test_equal_pictures_share_a_thumbnail(store, tmp_path):
    """Two ids of one picture are one file."""
    report = reported.made(store, tmp_path)
    items = report.measured.items
    ids = (items.image_ids[1], *items.image_ids[1:])
    same = replace(report.measured, items=replace(items, image_ids=ids))
    part = replace(report.part, measured=same)
    report = replace(report, comparison=replace(report.comparison, parts=(part,)))
    written = write_folder(report, tmp_path / "out")
    assert written.images == reported.COUNT - 1


def test_names_that_xml_can_not_hold(report, tmp_path):
    """A control character in a system's name leaves each figure valid XML."""
    measured = report.measured
    systems = (replace(measured.systems[0], name="bell\x07"), *measured.systems[1:])
    part = replace(report.part, measured=replace(measured, systems=systems))
    comparison = replace(report.comparison, parts=(part,))
    for name in write_figures(replace(report, comparison=comparison), tmp_path / "figures"):
        ET.parse(tmp_path / "figures" / name)
    assert "bell\N{SYMBOL FOR BELL}" in (tmp_path / "figures" / "forest.svg").read_text(encoding="utf-8")


def test_figures(report, tmp_path):
    """Plots as SVG files of their own: valid XML, no style sheet needed, and how the numbers were made."""
    names = write_figures(report, tmp_path / "plots")
    assert {"forest.svg", "distributions.svg", "length.svg"} <= set(names)
    for name in names:
        root = ET.parse(tmp_path / "plots" / name).getroot()
        assert root.find("{http://www.w3.org/2000/svg}title") is not None
        assert report.comparison.signed[0] in root.find("{http://www.w3.org/2000/svg}desc").text
