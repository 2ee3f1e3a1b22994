"""PTB tokens: captions as the COCO evaluation splits them, lower case, without punctuation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clipstore.metrics.text import java

if TYPE_CHECKING:
    from collections.abc import Iterable

# Whatever a reader of lines takes for the end of one; pycocoevalcap replaces \n only, and a \r shifts all that follows.
_BREAKS = re.compile("[\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029]+")


def tokenise(texts: Iterable[str]) -> dict[str, str]:
    """Return the tokens of each text, joined by single spaces; one run of Java for all of them.

    pycocoevalcap's PTBTokenizer (Stanford 3.4.1) and its list of punctuation.

    Parameters
    ----------
    texts
        Captions as they came; repeats cost nothing.

    Raises
    ------
    InputError
        When pycocoevalcap is not installed.
    JavaFault
        When Java is missing, fails, or gives back another number of lines.
    """
    folder = java.package() / "tokenizer"
    from pycocoevalcap.tokenizer.ptbtokenizer import PUNCTUATIONS, STANFORD_CORENLP_3_4_1_JAR

    distinct = {text: _BREAKS.sub(" ", text).strip() for text in texts}
    lines = sorted({line for line in distinct.values() if line})
    tokens = {"": ""}
    if lines:
        program = ["-preserveLines", "-lowerCase"]
        main = "edu.stanford.nlp.process.PTBTokenizer"
        made = java.run(["-cp", STANFORD_CORENLP_3_4_1_JAR, main, *program], folder, lines)
        if len(made) != len(lines):
            msg = f"the PTB tokenizer gave {len(made):,} lines for {len(lines):,} captions; nothing is scored by it"
            raise java.JavaFault(msg)
        marks = frozenset(PUNCTUATIONS)
        for line, words in zip(lines, made, strict=True):
            tokens[line] = " ".join(word for word in words.split(" ") if word and word not in marks)
    return {text: tokens[line] for text, line in distinct.items()}
