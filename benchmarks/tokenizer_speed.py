"""Captions a second through the tokenizer, one thread, against open_clip's; ids must be equal.

Claim: at least 8x with equal ids, on real captions of ../shared/data/karpathy with the prefix.

    python benchmarks/tokenizer_speed.py [captions, 20000] [repeats, 5]
"""

from __future__ import annotations

import sys
import time

import open_clip
from rivals import official, timing
from text_speed import sample

from clipstore.encoders import canonical, tokenizer


def main() -> None:
    """Time both in turns, compare every id, print the ratio."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    texts = [official.PREFIX + text for text in sample(count)]
    theirs, clean = open_clip.get_tokenizer("ViT-B-32"), canonical.cleaner(canonical.OPENAI_BPE)
    few = texts[: count // 10]

    def fresh() -> int:
        ours = tokenizer.wrap(open_clip.SimpleTokenizer(), 77)
        return len(ours([clean(text) for text in texts]))

    warm = tokenizer.wrap(open_clip.SimpleTokenizer(), 77)
    base = "open_clip's tokenizer"
    rates = timing.medians(
        {
            base: lambda: len(theirs(few)),
            "clipstore, from nothing (vocabulary loaded too)": fresh,
            "clipstore, words known": lambda: len(warm([clean(text) for text in texts])),
        },
        repeats,
        time.process_time,
    )
    different = 0
    plain = [text for text in texts if not canonical.specials(text)]  # special strings are left out on purpose
    for text, row in zip(plain, theirs(plain), strict=True):
        ids = list(warm([clean(text)])[0].ids)
        different += row.tolist() != ids + [0] * (77 - len(ids))
    print(timing.machine())
    print(f"{count} captions with prefix, CPU seconds, median of {repeats}")
    print(f"ids differ in {different} of the {len(plain)} captions without special strings")
    timing.show(rates, base, "captions")


if __name__ == "__main__":
    main()
