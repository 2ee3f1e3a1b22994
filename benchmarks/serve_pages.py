"""Pages of ``clipstore serve`` on loopback, warm: 14 systems on 200 images, and on 5,000.

Claims: any page in under 100 ms on 200 images; the 5,000-image set pages through without slowing: its last
page of the grid costs at most 1.5 times its first, in any sort, and no page of it takes 100 ms either.

    python benchmarks/serve_pages.py [images, 5000] [systems, 14] [rounds, 15]

Images are drawn, 64 pixels wide, vectors are the fake encoder's: a page costs the same whatever made them. A real
server on a socket of its own, one client that keeps its connection; the client is in another process.
"""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import PIL.Image
from clipstore_cli.serve import bound
from measured import machine

from clipstore import EvalSet, Store, measure
from clipstore.encoders.fake import FakeEncoder
from clipstore.evalset import save
from clipstore.formats import read_captions
from clipstore.report.order import SORTS
from clipstore.serve import Live, application, run
from clipstore.significance import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL, LIMIT, SLOWING = 200, 100.0, 1.5
WORDS = (
    "a", "the", "dog", "cat", "bus", "red", "blue", "two", "runs", "sits", "on", "near", "grass", "street", "man",
    "woman", "holds", "plate", "of", "food", "big", "small",
)  # fmt: skip


def filled(folder: Path, images: int, systems: int) -> Live:
    """Return a live report of drawn images and made-up captions."""
    (folder / "images").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for row in range(images):
        pixels = rng.integers(0, 255, (6, 8, 3), np.uint8)
        PIL.Image.fromarray(pixels).resize((64, 48)).save(folder / "images" / f"img{row:05d}.jpg")

    def said() -> str:
        return " ".join(rng.choice(WORDS, rng.integers(6, 14)))

    names = [f"img{row:05d}" for row in range(images)]
    (folder / "refs.json").write_text(json.dumps({name: [said() for _ in range(5)] for name in names}))
    store = Store.open(folder / "store")
    space = store.custom_space(FakeEncoder(), "fake")
    evalset = EvalSet.read(images=folder / "images", refs=folder / "refs.json")
    read = {f"system{one:02d}": read_captions({name: said() for name in names}) for one in range(systems)}
    save(store, "drawn", evalset, read, store.identify(evalset.images()).ids)
    measure(space, read, EvalSet.load(store, "drawn"))
    return Live(store, "drawn", lambda: space, settings=Settings(resamples=1000))


def client(port: int, rounds: int, paths: list[str]) -> None:
    """Ask for each path again and again; print the median of each in milliseconds, and its size."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    found = {}
    for path in paths:
        taken, size = [], 0
        for _ in range(rounds):
            start = time.perf_counter()
            connection.request("GET", path)
            answer = connection.getresponse()
            size = len(answer.read())
            taken.append(1000 * (time.perf_counter() - start))
            if answer.status != 200:
                sys.exit(f"{path}: {answer.status}")
        found[path] = (statistics.median(taken[1:] or taken), size)
    print(json.dumps(found))


def paths_of(live: Live) -> Iterator[str]:
    """Yield an address of every kind; of the grid the first, the middle and the last page in each sort."""
    report = live.report()
    pages = -(-len(report) // 60)
    slug, middle = report.slugs[0], max(1, pages // 2)
    a, b = report.names[:2]
    yield from ("/", "/?sort=-words", "/index.json", "/index.csv", "/plots", "/suspects", "/about", "/search?q=")
    yield from (
        f"/image/{slug}",
        f"/image/{slug}?sort=hard",
        f"/image/{slug}.json",
        f"/pair/{a}/{b}",
        f"/pair/{a}/{b}.csv",
    )
    yield from (f"/images?sort={sort}&page={page}" for sort in SORTS for page in dict.fromkeys((1, middle, pages)))
    yield from ("/images?q=dog+grass", f"/images?sys={a}&sys={b}", "/images.json?page=2", "/static/style.css")
    id_ = report.image_id(0)
    yield from (f"/{kind}/{id_:016x}{end}" for kind, end in (("thumb", ".webp"), ("full", "")) if id_ is not None)


def timed(live: Live, rounds: int) -> dict[str, tuple[float, int]]:
    """Serve, and return what a client in another process measured."""
    listening = bound("127.0.0.1", 0)
    threading.Thread(target=run, args=(application(live), [listening]), daemon=True).start()
    asking = [sys.executable, __file__, "--client", str(listening.getsockname()[1]), str(rounds)]
    done = subprocess.run(
        asking, input=json.dumps([*paths_of(live)]), check=True, stdout=subprocess.PIPE, text=True, timeout=300
    )
    return {path: (taken, size) for path, (taken, size) in json.loads(done.stdout).items()}


def main() -> None:
    """Measure both sets and print each page."""
    if sys.argv[1:2] == ["--client"]:
        client(int(sys.argv[2]), int(sys.argv[3]), json.load(sys.stdin))
        return
    given = [int(one) for one in sys.argv[1:]]
    images, systems, rounds = given + [5000, 14, 15][len(given) :]
    print(machine.line("starlette", "uvicorn", "jinja2"))
    with tempfile.TemporaryDirectory() as name:
        for count in dict.fromkeys((min(SMALL, images), images)):
            live = filled(Path(name) / str(count), count, systems)
            start = time.perf_counter()
            live.report()
            print(
                f"\n{count:,} images, {systems} systems; the report was gathered in {time.perf_counter() - start:.1f} s"
            )
            found = timed(live, rounds)
            for path, (taken, size) in found.items():
                print(f"{taken:8.1f} ms {size:>10,} bytes  {path}")
            html = {path: taken for path, (taken, _) in found.items() if not path.endswith(("json", "csv"))}
            slowest = max(html, key=html.__getitem__)
            print(f"slowest page {html[slowest]:.1f} ms ({slowest}); goal: under {LIMIT:.0f} ms")
            ratios = {}
            for sort in SORTS:
                own = [taken for path, taken in html.items() if path.startswith(f"/images?sort={sort}&")]
                ratios[sort] = own[-1] / own[0]
            worst = max(ratios, key=ratios.__getitem__)
            print(f"last page of the grid against the first: {ratios[worst]:.2f}x at most ({worst}); goal: {SLOWING}x")


if __name__ == "__main__":
    main()
