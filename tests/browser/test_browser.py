"""The pages as people use them: mouse, keyboard, without scripts, narrow and wide, light and dark."""

from pathlib import Path
from urllib.parse import quote

import drawn
import pytest

from clipstore.report import write_file, write_folder

PAGES = (
    "/",
    "/images",
    "/plots",
    "/suspects",
    "/about",
    "/search?q=picture",
    f"/pair/blip/{quote('a/b & <i>100%</i>', safe='')}",
    f"/image/{drawn.name(4)}",
    "/rerank/picked",
)
ANCHORS = ("board", "images", "plots", "suspects", "rerank-1", "about", "pair-1-3", "image-5")


@pytest.fixture(scope="session")
def written(served, tmp_path_factory):
    """The same report as one file and as a folder, in a place of its own."""
    folder = tmp_path_factory.mktemp("elsewhere")
    write_file(served[1], folder / "report.html")
    write_folder(served[1], folder / "all")
    return folder


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(page, path, dark):
    """No rule of axe-core is broken, light or dark, and the browser refuses nothing."""
    page.dark(on=dark)
    page.open(path)
    assert page.axe() == []
    assert page.complaints() == []


@pytest.mark.parametrize("anchor", ANCHORS)
def test_axe_finds_nothing_in_the_file(page, written, anchor):
    """The same in the report that is sent."""
    page.open("about:blank")
    page.open((written / "report.html").as_uri() + f"#{anchor}")
    assert [one.get_attribute("id") for one in page.all("main > section.page") if one.is_displayed()] == [anchor]
    page.run("for (const one of document.querySelectorAll('meta[http-equiv]')) one.remove()")
    assert page.axe() == []


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [360, 1440])
def test_no_page_is_wider_than_the_window(page, path, width):
    """Wide tables and plots scroll by themselves."""
    page.wide(width)
    page.open(path)
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_the_leaderboard_is_sorted_by_its_headers(page, served):
    """A press on a header sorts, and the header says so; another turns it round."""
    page.open("/")
    page.one("th button[value='system']").click()
    names = sorted(served[1].names)
    page.until(lambda: page.texts("table.board tbody th bdi") == names)
    assert page.one("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.one("th[aria-sort] button").click()
    page.until(lambda: page.texts("table.board tbody th bdi") == names[::-1])


def test_the_filter_answers_while_typing(page):
    """Only the results change, and the address can be shared."""
    page.open("/images")
    page.run("window.same = true")
    page.one("#q").send_keys("picture words 17")
    page.until(lambda: len(page.all(".card")) < 10)
    assert page.run("return window.same") is True
    page.until(lambda: "q=picture" in page.driver.current_url)
    shown = page.texts(".card .id")
    page.open(page.driver.current_url)
    assert page.texts(".card .id") == shown
    assert page.complaints() == []


def test_next_and_previous_stay_in_the_sort(page, served):
    """From the grid of the hardest images to the first, to the second, and back."""
    from clipstore.report.order import ordered

    rows = ordered(served[1], "hard")
    page.open("/images?sort=hard")
    page.one(".card a").click()
    page.until(lambda: page.text("h1") == f"Image {served[1].slugs[rows[0]]}")
    page.one("a[rel=next]").click()
    page.until(lambda: page.text("h1") == f"Image {served[1].slugs[rows[1]]}")
    page.one("a[rel=prev]").click()
    page.until(lambda: page.text("h1") == f"Image {served[1].slugs[rows[0]]}")
    page.until(lambda: page.one("img.large").get_property("naturalWidth") > 0)


def test_two_clicks_to_the_image_that_differs_most(page, served):
    """Grid cell, first row."""
    report = served[1]
    page.open("/")
    page.one("table.grid td a").click()
    page.until(lambda: "/pair/" in page.driver.current_url and len(page.texts("h1 bdi")) == 2)
    a, b = (report.names.index(one) for one in page.texts("h1 bdi"))
    rows = page.all("table.top tbody tr:first-child th a")
    best = int(abs(report.scores[a] - report.scores[b]).argmax())
    assert any(one.text == report.slugs[best] for one in rows)
    rows[0].click()
    page.until(lambda: page.text("h1").startswith("Image"))


def test_a_dot_of_the_scatter_leads_to_its_image(page):
    """Where two differ, a dot is a link."""
    page.open("/pair/blip/hostile")
    page.run("document.querySelector('svg.plot g.p a').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    page.until(lambda: page.text("h1").startswith("Image"))


def test_keys(page):
    """Next, previous, grid, filter, sort, pages, help; none inside a box, none when switched off."""
    page.open("/images")
    page.press("]")
    page.until(lambda: "page=2" in page.driver.current_url)
    page.press("[")
    page.until(lambda: "page=1" in page.driver.current_url)
    page.press("/")
    assert page.run("return document.activeElement.id") == "q"
    page.press("j")
    assert page.one("#q").get_attribute("value") == "j"
    page.open("/images")
    page.press("s")
    page.until(lambda: "sort=hard" in page.driver.current_url)
    page.open(f"/image/{drawn.name(4)}")
    page.press("1")
    assert not page.one("tr[data-system='1']").is_displayed()
    first = page.text("h1")
    page.press("j")
    page.until(lambda: page.text("h1") not in ("", first))
    page.press("k")
    page.until(lambda: page.text("h1") == first)
    page.press("?")
    assert page.one("#keys").is_displayed()
    page.one("#keys-on").click()
    page.press("\ue00c")
    page.press("j")
    assert page.text("h1") == first
    page.run("localStorage.clear()")
    page.open(f"/image/{drawn.name(4)}")
    page.press("g")
    page.until(lambda: page.text("h1") == "Images")


def test_the_keyboard_alone_reaches_an_image(page):
    """Tab and Enter: the skip link first, a grid cell, and the focus can be seen."""
    page.open("/")
    page.press("\ue004")
    assert page.run("return document.activeElement.className") == "skip"
    for _ in range(60):
        page.press("\ue004")
        if page.run("return document.activeElement.matches('table.grid a')"):
            break
    assert page.run("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.press("\ue007")
    page.until(lambda: "/pair/" in page.driver.current_url)


@pytest.mark.parametrize("scripts", [True, False])
def test_searching_by_a_picture(page, tmp_path, scripts):
    """A file is chosen and sent, with scripts or without; the images like it are shown."""
    drawn.picture(99).save(tmp_path / "mine.png")
    page.scripts(on=scripts)
    page.open("/search")
    page.one("input[type=file]").send_keys(str(tmp_path / "mine.png"))
    page.one("form[method=post] button").click()
    page.until(lambda: "/search?picture=" in page.driver.current_url and page.all(".card"))
    assert "Images like the image that was sent." in page.one("main").text
    assert page.complaints() == []


def test_without_scripts(page):
    """Sorting, filtering and paging are links and forms."""
    page.scripts(on=False)
    page.open("/?sort=system")
    assert page.one("th[aria-sort]").text.startswith("system")
    page.open("/images")
    page.one("#q").send_keys("picture words 17")
    page.one("#filter button").click()
    page.until(lambda: "q=picture" in page.driver.current_url)
    page.open("/images")
    page.open(page.one("a[data-key=']']").get_attribute("href"))
    assert "page 2 of 3" in page.one(".count").text


def test_the_file_opens_from_anywhere_with_all_images(page, written):
    """Every picture of the file is drawn, and nothing is fetched."""
    page.open((written / "report.html").as_uri())
    count = page.run("return document.querySelectorAll('symbol image').length")
    assert count == 130
    drawn_ = page.driver.execute_async_script(
        "const done = arguments[0]; Promise.all([...document.querySelectorAll('symbol image')].map(one => {"
        "const image = new Image(); image.src = one.href.baseVal; return image.decode().then(() => image.naturalWidth)"
        "})).then(done)"
    )
    assert all(width == 12 for width in drawn_)
    assert (
        page.run("return performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length") == 0
    )
    assert page.complaints() == []


def test_the_file_sorts_filters_and_turns_pages(page, written):
    """Headers sort on the spot, a box filters the cards, keys lead on."""
    page.open("about:blank")
    page.open((written / "report.html").as_uri())
    buttons = page.all("table.sortable thead button")
    next(one for one in buttons if one.text == "system").click()
    names = sorted(page.texts("table.sortable tbody th bdi"))
    page.until(lambda: page.texts("table.sortable tbody th bdi") in (names, names[::-1]))
    page.press("g")
    page.until(lambda: page.one("#images").is_displayed())
    page.one("#images input").send_keys(drawn.name(17))
    page.until(lambda: len([one for one in page.all("#images .card") if one.is_displayed()]) == 1)
    page.run("document.querySelector('#images .card:not([hidden]) a').click()")
    page.until(lambda: len([one for one in page.all("section.page") if one.is_displayed()]) == 1)
    page.press("j")


def test_the_file_without_scripts_is_one_long_page(page, written):
    """Everything is there."""
    page.scripts(on=False)
    page.open("about:blank")
    page.open((written / "report.html").as_uri())
    assert page.one("#board").is_displayed()
    assert page.one("#pair-1-3").is_displayed()


def test_the_folder_works_from_disk(page, written):
    """Pages, pictures and neighbours by relative links."""
    page.open((written / "all" / "index.html").as_uri())
    page.one("nav a[href*='images']").click()
    page.until(lambda: len(page.all(".card")) == 60)
    page.until(lambda: page.one(".card img").get_property("naturalWidth") == 12)
    page.one(".card a").click()
    page.until(lambda: page.text("h1").startswith("Image "))
    first = page.text("h1")
    page.one("a[rel=next]").click()
    page.until(lambda: page.text("h1").startswith("Image ") and page.text("h1") != first)
    assert Path(written).exists()
    assert page.complaints() == []


def test_a_caption_never_runs(page):
    """No alert, no element of a caption."""
    page.open(f"/image/{drawn.name(0)}")
    assert "</script><script>alert(1)</script>" in page.one("table.captions").text
    assert page.run("return document.querySelectorAll('main script, main b[onclick]').length") == 0
