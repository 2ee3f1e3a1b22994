"""Every page and its twins, with state in the address."""

import csv
import io
import json
import re
import threading
from urllib.parse import quote

import drawn
import numpy as np
import PIL.Image
import pytest
import reported

from clipstore import keys
from clipstore.evalset import save
from clipstore.formats import read_captions
from clipstore.serve import searching, twins
from clipstore.storage.catalogue import sets

ODD = quote("a/b & <i>100%</i>", safe="")
PAGES = ("/", "/images", "/plots", "/suspects", "/about", "/search", f"/pair/blip/{ODD}", f"/image/{drawn.name(3)}")


@pytest.fixture
def loading(client, live, monkeypatch):
    """An encoder that is loading until this is set; pages wait for it a hundredth of a second."""
    loaded, ready = type(live.space).encoder, threading.Event()

    def slowly(*given):
        assert ready.wait(60)
        return loaded(*given)

    monkeypatch.setattr(type(live.space), "encoder", slowly)
    monkeypatch.setattr(searching, "PATIENCE", 0.01)
    return ready


@pytest.mark.parametrize("path", PAGES)
def test_every_page_answers(client, path):
    """A page is HTML, names nothing outside, and every link of it answers."""
    answer = client.get(path)
    assert answer.status_code == 200
    links = re.findall(r'(?:href|src|action)="([^"]+)"', answer.text)
    assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in links)
    for link in dict.fromkeys(link.replace("&amp;", "&") for link in links if link.startswith("/")):
        assert client.get(link).status_code == 200, link


@pytest.mark.parametrize("path", ["/index", *PAGES[1:]])
def test_every_page_has_twins(client, path):
    """JSON without NaN, CSV with a header."""
    plain = client.get(f"{path}.json")
    assert json.loads(plain.text, parse_constant=pytest.fail)["schema"] == 1
    rows = list(csv.reader(io.StringIO(client.get(f"{path}.csv").text)))
    assert rows[0]


def test_an_address_without_the_dot_is_no_twin(client):
    """``/imagesjson`` is nothing."""
    assert [client.get(path).status_code for path in ("/imagesjson", "/indexcsv", "/index")] == [404] * 3


def test_the_first_twin_is_the_comparison(client, live):
    """``/index.json`` is what ``clipstore compare --json`` prints."""
    assert client.get("/index.json").json() == live.report().comparison.to_dict()
    rows = list(csv.reader(io.StringIO(client.get("/index.csv").text)))
    assert rows == list(csv.reader(io.StringIO(live.report().comparison.form("csv"))))
    assert len(set(rows[0])) == len(rows[0])


def test_hostile_captions_stay_text(client):
    """In pages as in attributes."""
    for path in PAGES:
        text = client.get(path).text
        assert "<script>alert" not in text
        assert "<b onclick" not in text
        assert "<i>100%" not in text
    found = client.get("/images", params={"q": '"><script>alert(2)</script>'}).text
    assert "<script>alert(2)" not in found


def test_spreadsheets_run_no_caption(client):
    """A cell that begins like a formula gets a quote before it; numbers do not."""
    rows = list(csv.reader(io.StringIO(client.get(f"/image/{drawn.name(2)}.csv").text)))
    cells = [cell for row in rows for cell in row]
    assert "'=1+1" in cells
    assert not any(cell.startswith(("=", "@", "\t")) for cell in cells)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("-", "-"), ("-0.02", "-0.02"), ("+0.004***", "+0.004***"), ("-1e-05", "-1e-05"), ("-12.5%", "-12.5%"),
        ("-1+1", "'-1+1"), ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"), ("--1", "'--1"), ("=1", "'=1"), (None, ""),
    ],
)  # fmt: skip
def test_only_formulas_are_guarded(cell, shown):
    """A number, also with stars, or a lone dash is none."""
    assert twins.guarded(cell) == shown


def test_suspects_are_counted_in_json(client, live):
    """Each reason with its number, or why nobody looked, beside those that are listed."""
    found = client.get("/suspects.json").json()
    reasons = {one["kind"]: one for one in found["reasons"]}
    assert reasons["low"]["count"] is None
    assert reasons["low"]["not_looked_for"] == "it takes 4 systems"
    assert reasons["repeated"]["not_looked_for"] is None
    listed = [one for one in found["suspects"] if one["kind"] == "repeated"]
    assert reasons["repeated"]["count"] == reasons["repeated"]["listed"] == len(listed) > 0


def test_no_answer_names_a_folder(client, live, store, monkeypatch):
    """Not in warnings, not in what a search says, not in a refusal."""
    from clipstore.errors import ClipstoreError

    def failing(*_more, **_others):
        msg = f"{store.folder}/catalogue.sqlite: no; see file://{store.folder}/x"
        raise ClipstoreError(msg)

    with monkeypatch.context() as patched:
        patched.setattr("clipstore.serve.live.load_systems", failing)
        live._state = live._version = None
        for path in ("/", "/index.json", "/index.csv"):
            answer = client.get(path)
            assert str(store.folder.parent) not in answer.text, path
    monkeypatch.setattr(type(live.space), "encoder", failing)
    found = client.get("/search.json", params={"q": "never seen words"}).json()
    assert found["message"] == "this search is not possible: catalogue.sqlite: no; see x"
    monkeypatch.setattr(live, "report", failing)
    assert client.get("/").text == "catalogue.sqlite: no; see x"


def test_pages_are_answered_while_a_report_is_made(client, live, store, monkeypatch):
    """The request that finds the store changed waits; others get the report that was, and then the new one."""
    from clipstore.evalset import EvalSet

    first = live.report()
    making, made = threading.Event(), threading.Event()
    usual = live._made

    def slowly():
        making.set()
        assert made.wait(60)
        return usual()

    monkeypatch.setattr(live, "_made", slowly)
    save(store, "shown", EvalSet.load(store, "shown"), {"late": read_captions(drawn.captions(reported.COUNT, "late"))})
    found = []
    waiting = threading.Thread(target=lambda: found.append(live.report()))
    waiting.start()
    assert making.wait(60)
    assert live.report() is first
    assert client.get("/about").status_code == 200
    made.set()
    waiting.join(60)
    assert found[0] is not first
    assert live.report() is not first


def test_sorts_without_a_script(client, live):
    """Headers are buttons of a form; the sorted column says so, and a second press turns it round."""
    text = client.get("/", params={"sort": "system"}).text
    assert re.search(r'<th scope="col"[^>]*aria-sort="ascending"><button form="sort-form" name="sort"', text)
    names = re.findall(r'<th scope="row"><bdi>([^<]+)</bdi></th>', text)[:3]
    turned = re.findall(r'<th scope="row"><bdi>([^<]+)</bdi></th>', client.get("/", params={"sort": "-system"}).text)
    assert turned[:3] == names[::-1]
    assert client.get("/", params={"sort": "nonsense"}).status_code == 400


def test_next_follows_the_sort_in_the_address(client, live):
    """Neighbours are those of the grid that one came from."""
    report = live.report()
    from clipstore.report.image_pages import State

    rows = State("hard", (0, 1)).rows(report)
    state = {"sort": "hard", "sys": list(report.names[:2])}
    text = client.get(f"/image/{report.slugs[rows[0]]}", params=state).text
    (following,) = re.findall(r'rel="next" href="([^"]+)"', text)
    assert f"/image/{report.slugs[rows[1]]}?" in following
    assert "sort=hard" in following
    assert client.get(following.replace("&amp;", "&")).status_code == 200


def test_filter_and_odd_parameters(client):
    """Words narrow the grid; what makes no sense is refused and named, in the page as in its twins."""
    assert "1 of 24 images" in client.get("/images", params={"q": "picture words 17"}).text
    for path in ("/images", "/images.json", "/images.csv", f"/image/{drawn.name(3)}"):
        for odd, said in (
            ({"page": "-1"}, "page=-1: give a number"),
            ({"page": "0"}, "page=0: give a number"),
            ({"page": "9" * 40}, "give a number"),
            ({"page": "abc"}, "page=abc: give a number"),
            ({"sort": "zzz"}, "sort=zzz: there is no such sort here; there is: disagree, hard"),
            ({"sys": "zzz"}, "sys=zzz: there is no such system here; there is: blip"),
            ({"q": "x" * 301}, "q is 301 letters long"),
        ):
            answer = client.get(path, params=odd)
            assert answer.status_code == 400, (path, odd)
            assert said in answer.text
    for even in ({"page": "99"}, {"sys": ""}, {"sort": ""}, {"q": "\x00\x1b"}, {"sys": "blip,hostile"}, {"foo": "1"}):
        assert client.get("/images", params=even).status_code == 200, even
    assert client.get("/", params={"sort": "zzz"}).status_code == 400
    assert client.get("/search", params={"kind": "zzz", "q": "a"}).status_code == 400
    assert client.get("/search", params={"like": "zzz"}).status_code == 404


def test_a_set_that_is_gone(client, store):
    """What the store can't answer any more is said as such: 503, no traceback."""
    assert client.get("/").status_code == 200
    with store.catalogue.write() as tx:
        sets.remove(tx, "shown")
    answer = client.get("/")
    assert answer.status_code == 503
    assert "shown" in answer.text


def test_what_is_not_there(client):
    """An unknown image, pair, file or path is a plain 404."""
    for path in (
        "/image/nope",
        "/image/../../etc/passwd",
        "/pair/blip/blip",
        "/pair/blip/nope",
        "/static/../app.py",
        "/static/render.py",
        "/full/etc",
        "/full/0000000000000001",
        "/thumb/zz.webp",
        "/rerank/blip",
    ):
        assert client.get(path).status_code == 404, path


def test_images_by_content(client, live):
    """Full size and thumbnail, with an ETag that is the content; the second time nothing is sent."""
    report = live.report()
    shown = keys.to_hex(report.image_id(3))
    full = client.get(f"/full/{shown}")
    assert full.headers["content-type"] == "image/png"
    assert keys.to_hex(keys.image_id(full.content)) == shown
    again = client.get(f"/full/{shown}", headers={"if-none-match": full.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    thumb = client.get(f"/thumb/{shown}.webp")
    assert thumb.headers["content-type"] == "image/webp"
    assert "immutable" in thumb.headers["cache-control"]


def test_a_changed_file_is_not_shown(client, live, tmp_path):
    """A file that now holds another picture is no longer this image."""
    report = live.report()
    (tmp_path / "images" / f"{drawn.name(3)}.png").write_bytes(b"\x89PNG\r\n\x1a\n other")
    assert client.get(f"/full/{keys.to_hex(report.image_id(3))}").status_code == 404


def test_a_new_system_shows_up(client, store, live, tmp_path):
    """What another process adds and scores is there at the next request; what is not encoded is named."""
    assert "newcomer" not in client.get("/").text
    from clipstore import EvalSet, Store, measure
    from clipstore.encoders.fake import FakeEncoder

    with Store.open(store.folder) as other:
        evalset = EvalSet.load(other, "shown")
        captions = read_captions(drawn.captions(reported.COUNT, "quite other words about"))
        save(other, "shown", evalset, {"newcomer": captions})
        assert "newcomer is not shown: not encoded yet" in client.get("/").text
        measure(other.custom_space(FakeEncoder(), "fake"), {"newcomer": captions}, evalset)
        assert '<th scope="row"><bdi>newcomer</bdi></th>' in client.get("/").text
        later = {name: f"{text} again" for name, text in drawn.captions(reported.COUNT).items()}
        save(other, "shown", evalset, {"unscored": read_captions(later)})
    text = client.get("/").text
    assert '<th scope="row"><bdi>newcomer</bdi></th>' in text
    assert "unscored is not shown" in text


def test_search(client):
    """By words through the encoder, by an image from the store; captions, too."""
    text = client.get("/search", params={"q": "the first words on picture 5"}).text
    assert text.count('class="card"') == reported.COUNT
    like = client.get("/search.json", params={"like": drawn.name(5)}).json()["hits"]
    assert like[0]["image"] == drawn.name(5)
    found = client.get("/search.json", params={"q": "a caption of picture 5", "kind": "captions"}).json()["hits"]
    assert found[0]["caption"] == "a caption of picture 5"


def send(client, data, **more):
    """Send a picture as the form does."""
    return client.post("/search", files={"picture": ("mine.jpg", data, "image/jpeg")}, **more)


def picture(colour):
    """Return the bytes of an image that the set does not have."""
    out = io.BytesIO()
    PIL.Image.new("RGB", (40, 30), colour).save(out, "PNG")
    return out.getvalue()


def test_search_by_a_picture_of_ones_own(client, live, store, tmp_path):
    """It is encoded in the worker and kept by nobody; the address of its search holds its content id alone."""
    before = store.counts()
    answer = send(client, picture("red"))
    assert answer.status_code == 303
    place = answer.headers["location"]
    assert re.fullmatch("/search[?]picture=[0-9a-f]{16}", place)
    text = client.get(place).text
    assert text.count('class="card"') == reported.COUNT
    assert "Images like the image that was sent." in text
    assert store.counts() == before
    assert not live.space.has("image", np.array([keys.from_hex(place[-16:])])).any()
    found = client.get(place.replace("search?", "search.json?") + "&kind=captions").json()["hits"]
    own = live.space.encoder().encode_images([picture("red")])[0]
    report = live.report()
    texts = [text for one in report.measured.systems for text in one.texts]
    cosines = live.space.gather_texts(live.space.text_keys(texts, "A photo depicts ")) @ own
    assert float(found[0]["cosine"]) >= cosines.max() - 1e-3
    known = next((tmp_path / "images").iterdir())
    assert client.get(send(client, known.read_bytes()).headers["location"]).text.count('class="card"') > 0


def test_pictures_that_can_not_be_searched_by(client):
    """No image, nothing at all, one that was forgotten, no id: each is said."""
    place = send(client, b"no image").headers["location"]
    assert "this search is not possible: not an image that Pillow can read" in client.get(place).text
    assert send(client, b"").text == "no image was sent: choose a file"
    assert client.post("/search", data={"picture": "text"}).status_code == 415
    assert "choose it again" in client.get("/search?picture=00000000000000aa").text
    assert client.get("/search?picture=zz").status_code == 400


def test_a_page_of_another_site_sends_nothing(client, monkeypatch):
    """Origin, size and place are looked at before anything is read."""
    assert send(client, picture("red"), headers={"origin": "http://evil.example"}).status_code == 403
    assert send(client, picture("red"), headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert send(client, picture("red"), headers={"origin": "http://127.0.0.1:8000"}).status_code == 303
    monkeypatch.setattr("clipstore.serve.guard.LARGEST", 100)
    assert send(client, picture("red")).status_code == 413
    form = {"content-type": "multipart/form-data; boundary=x"}
    assert client.post("/search", content=iter([b"a"]), headers=form).status_code == 411
    assert client.post("/search", content=b"a", headers={**form, "content-length": "9" * 5000}).status_code == 413
    assert send(client, picture("red"), headers={"origin": "null"}).status_code == 403
    assert client.put("/search").headers["allow"] == "GET, HEAD, POST"
    assert client.post("/images").status_code == 405
    assert client.post("/search.json").status_code == 405


def test_a_set_without_an_encoder_takes_no_picture(client, live, monkeypatch):
    """Shown by text metrics alone: said before any model is looked for."""
    monkeypatch.setattr(type(live.report()), "image_similarity", None)
    monkeypatch.setattr(type(live), "space", property(lambda _: pytest.fail("no space is needed")))
    answer = send(client, picture("red"))
    assert (answer.status_code, answer.text) == (400, "search needs an encoder: serve a set with images")


def test_no_more_pictures_wait_than_are_allowed(client, loading, monkeypatch):
    """While the worker is busy, the ninth is refused and nothing is lost."""
    answers = [send(client, picture((shade, 0, 0))) for shade in range(9)]
    assert [one.status_code for one in answers] == [303] * 8 + [503]
    waiting = client.get(answers[0].headers["location"]).text
    assert "the picture is being encoded" in waiting
    assert '<meta http-equiv="refresh" content="1">' in waiting
    loading.set()
    monkeypatch.setattr(searching, "PATIENCE", 60)
    assert client.get(answers[0].headers["location"]).text.count('class="card"') == reported.COUNT


def test_no_page_waits_for_the_model(client, loading, monkeypatch):
    """While the encoder loads in its worker, the page is there and asks again; then it has the hits."""
    first = client.get("/search", params={"q": "never seen words"}).text
    assert '<meta http-equiv="refresh" content="1">' in first
    assert "being encoded" in first
    assert client.get("/images").status_code == 200
    loading.set()
    monkeypatch.setattr(searching, "PATIENCE", 60)
    assert client.get("/search", params={"q": "never seen words"}).text.count('class="card"') == reported.COUNT


def test_search_says_why_it_can_not(client, live, monkeypatch):
    """Without the model's weights the box says so, and the page is there."""
    from clipstore.errors import UnknownModel

    def absent(*_):
        msg = "the weights are not here"
        raise UnknownModel(msg)

    monkeypatch.setattr(type(live.space), "encoder", absent)
    answer = client.get("/search", params={"q": "never seen words"})
    assert answer.status_code == 200
    assert "the weights are not here" in answer.text
