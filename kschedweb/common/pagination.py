"""Pages by key: their cost does not grow with how far one has paged, and rows that come meanwhile shift nothing."""

from rest_framework.pagination import CursorPagination


class KeysetPagination(CursorPagination):
    """Views set `ordering`, which ends in a unique key."""

    page_size = 200
    page_size_query_param = "limit"
    max_page_size = 1000
