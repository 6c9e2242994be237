"""Lists that are asked by a query (kschedweb.query): one SQL statement for a page, one for the total.

sql.py       conditions of terms, in SQL
sources.py   what each list is read from: tables, columns, conditions of its keys
reading.py   pages by key, and totals
values.py    what a cluster has for a key, for completion
"""

from kschedweb.traces.selectors.lists.reading import ListPage, list_page, list_rows, list_total, order_of
from kschedweb.traces.selectors.lists.sources import SOURCES
from kschedweb.traces.selectors.lists.values import list_values

__all__ = ["SOURCES", "ListPage", "list_page", "list_rows", "list_total", "list_values", "order_of"]
