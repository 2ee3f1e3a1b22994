"""The same pages, live: a small server over a store, on the loopback unless asked otherwise.

store -> live report, read again when systems change -> the templates of report -> pages and their .json and .csv twins
"""

from clipstore.serve.app import application as application
from clipstore.serve.app import run as run
from clipstore.serve.guard import Guarding as Guarding
from clipstore.serve.live import Live as Live
