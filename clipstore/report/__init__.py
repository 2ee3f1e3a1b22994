"""Pages from a comparison: values, drawings, templates; one file that can be sent, or a folder.

comparison + store -> report (what pages need) -> views (plain values) -> templates -> one file | folder | served pages
"""

from clipstore.report.folder import write_folder as write_folder
from clipstore.report.gathering import gather as gather
from clipstore.report.onefile import write_file as write_file
from clipstore.report.report import Report as Report
