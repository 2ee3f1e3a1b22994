"""``clipstore report`` and what ``clipstore serve`` prints and refuses."""

import json
import socket

import drawn
import pytest
from clipstore_cli import commands, serve

from clipstore import Store
from clipstore.errors import InputError

pytest_plugins = ("compare_command",)
COUNT = 12
QUICK = ("--resamples", 200)


@pytest.fixture
def reporting(command, monkeypatch):
    """The function that runs arguments, with these two commands."""
    for name in ("report", "serve"):
        if name not in commands.COMMANDS:
            monkeypatch.setitem(commands.COMMANDS, name, commands.Entry(f"{name}:{name}", ""))
    return command


@pytest.fixture
def files(tmp_path):
    """Images, references and two systems as files."""
    drawn.draw(tmp_path / "images", COUNT)
    drawn.write_json(tmp_path / "refs.json", drawn.references(COUNT))
    drawn.write_json(tmp_path / "blip.json", drawn.captions(COUNT))
    drawn.write_json(tmp_path / "ofa.json", drawn.captions(COUNT, "the first words on"))
    return ("blip.json", "ofa.json", "--images", "images", "--refs", "refs.json", *QUICK)


def test_one_file_from_files(reporting, files, capsys, tmp_path):
    """Captions given on the spot; images and size are printed; nothing names this folder."""
    assert reporting("report", *files, "-o", "report.html") == 0
    assert capsys.readouterr().out.startswith("report.html: 12 of 12 images, 12 pictures, 0.")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    assert text.count("data:image/webp") == COUNT


def test_images_that_are_left_out_count(reporting, files, capsys, tmp_path):
    """A system without a caption of one image: 11 of the set's 12 are shown, and the line says so."""
    drawn.write_json(tmp_path / "ofa.json", dict(list(drawn.captions(COUNT).items())[1:]))
    assert reporting("report", *files, "--missing", "skip", "-o", "report.html") == 0
    assert capsys.readouterr().out.startswith("report.html: 11 of 12 images, 11 pictures, 0.")


def test_a_large_file_is_warned_of(reporting, files, capsys, monkeypatch):
    """Above 20 MB, with what to do; a folder may be as large as it is."""
    from clipstore.report import onefile

    assert onefile.LARGE == 20_000_000
    monkeypatch.setattr(onefile, "LARGE", 1000)
    assert reporting("report", *files, "-o", "report.html") == 0
    assert "use --cap N, --no-images, or a folder (-o DIR/)" in capsys.readouterr().err
    assert reporting("report", *files, "-o", "out/") == 0
    assert "--cap" not in capsys.readouterr().err


def test_quiet_prints_nothing(reporting, files, capsys, tmp_path):
    """-q: the file alone."""
    assert reporting("report", *files, "-o", "report.html", "--plots", "figures", "-q") == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize("name", ["report", "serve"])
def test_two_sets_are_refused(reporting, capsys, tmp_path, name):
    """A second -t is no other set in place of the first: exit 2, what to do, nothing written."""
    Store.open(tmp_path / ".clipstore").close()
    words = ("-o", "report.html") if name == "report" else ()
    assert reporting(name, "-t", "one", "-t", "two", *words) == 2
    err = capsys.readouterr().err
    assert f"{name} shows one eval set, here are 2: one, two" in err
    assert "clipstore compare -t one -t two" in err
    assert not (tmp_path / "report.html").exists()


def test_no_images(reporting, files, tmp_path):
    """--no-images embeds none."""
    assert reporting("report", *files, "-o", "report.html", "--no-images") == 0
    assert "data:image" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_cap_says_the_seed(reporting, files, capsys):
    """What was chosen and how is printed."""
    assert reporting("report", *files, "-o", "report.html", "--cap", 6, "--seed", 7) == 0
    assert "6 of 12 images (4 disagreement, 1 worst, 1 random; seed 7)" in capsys.readouterr().out


def test_a_folder(reporting, files, capsys, tmp_path):
    """A name that is no .html is a folder."""
    assert reporting("report", *files, "-o", "out/") == 0
    assert (tmp_path / "out" / "index.html").is_file()
    assert len(list((tmp_path / "out" / "image").iterdir())) == COUNT
    assert "files, 12 of 12 images" in capsys.readouterr().out


def test_plots_for_a_paper_are_one_command(reporting, files, capsys, tmp_path):
    """--plots alone is enough."""
    assert reporting("report", *files, "--plots", "figures") == 0
    assert (tmp_path / "figures" / "forest.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "plots: forest.svg" in capsys.readouterr().out


@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_other_forms_of_plots(reporting, files, tmp_path, form, start):
    """PNG and PDF through CairoSVG."""
    cairo = pytest.importorskip("cairosvg", reason="clipstore[plots] is not installed", exc_type=(ImportError, OSError))
    assert cairo
    assert reporting("report", *files, "--plots", "figures", "--plot-format", form) == 0
    assert (tmp_path / "figures" / f"forest.{form}").read_bytes().startswith(start)


def test_json(reporting, files, capsys):
    """What was written, for a script."""
    assert reporting("report", *files, "-o", "report.html", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["report"]["images"] == COUNT
    assert said["report"]["chosen"] == {"all": COUNT}


def test_nowhere_to_write(reporting, files, capsys):
    """Without -o or --plots nothing is done, and the message says what to give."""
    assert reporting("report", *files) == 2
    assert "-o report.html" in capsys.readouterr().err


def test_a_file_that_is_no_folder(reporting, files, capsys):
    """An existing file is not taken for a folder."""
    assert reporting("report", *files, "-o", "refs.json") == 2
    assert "refs.json is a file" in capsys.readouterr().err


def test_a_taken_port_is_said(capsys):
    """Before anything is loaded."""
    with serve.bound("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"127.0.0.1:{port}.*-p PORT"):
            serve.bound("127.0.0.1", port)


def test_a_browser_that_is_opened_at_once_is_not_refused():
    """The socket listens before the address is printed or opened; who comes early waits."""
    with serve.bound("127.0.0.1", 0) as made, socket.create_connection(made.getsockname(), timeout=5):
        pass


def test_the_address_that_is_printed():
    """Of all addresses, this machine's own; with the token where there is one."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        port = made.getsockname()[1]
        assert serve.address(made, "127.0.0.1", None) == f"http://127.0.0.1:{port}/"
        assert serve.address(made, "0.0.0.0", "abc") == f"http://127.0.0.1:{port}/?token=abc"
        assert serve.address(made, "0.0.0.0", "a+b&c") == f"http://127.0.0.1:{port}/?token=a%2Bb%26c"


def test_serve_needs_a_set(reporting, files, capsys):
    """A store without eval sets has nothing to serve."""
    assert reporting("report", *files, "-o", "report.html") == 0
    assert reporting("serve", "-p", 0) == 2
    assert "which eval set?" in capsys.readouterr().err


def test_answers_are_sent_at_once():
    """The socket names its protocol: else asyncio leaves Nagle's delay on, 40 ms an answer."""
    with serve.bound("127.0.0.1", 0) as made:
        assert made.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("token", ["", " ", "caf\u00e9", "a\nb"])
def test_a_token_that_shuts_nobody_out_is_refused(run, given, token):
    """An empty one, as from a variable that is not set, would let everybody in."""
    assert run("add", "-t", "set", *given, "a.json").code == 0
    done = run("serve", "-t", "set", "--host", "0.0.0.0", "-p", "0", "--token", token, "--model", "fake")
    assert (done.code, done.out) == (2, "")
    assert "--token" in done.err
