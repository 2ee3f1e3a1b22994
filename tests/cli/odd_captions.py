"""Captions that break careless outputs."""

from __future__ import annotations

ODD = [
    "[red]a cat[/red] on [bold]",
    "</b><script>alert(1)</script>",
    "she said \"hi\" and 'bye', \\n and \\t",
    "a \U0001f468\u200d\U0001f469\u200d\U0001f467 family, caf\u00e9 and cafe\u0301",
    "two\nlines\tand a tab\r\n" + "word " * 300,
]
"""Markup, tags, quotes and escapes, emoji and accents, newlines with 300 words."""
