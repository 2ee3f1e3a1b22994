"""Drawn scenes for the demo and the tests, and the script that trains ``tiny`` on them."""
