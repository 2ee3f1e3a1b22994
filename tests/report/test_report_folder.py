"""A folder: relative links that all lead somewhere, thumbnails by hash, pages of images."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import reported

from clipstore.report import write_folder
from clipstore.report.figures import write_figures


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
