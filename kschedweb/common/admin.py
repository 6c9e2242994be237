"""What the admin pages share. Results are shown there and never edited: the logs are their only writers."""

from typing import Any

from django.db import models
from django.http import HttpRequest
from unfold.admin import ModelAdmin


class ResultAdmin(ModelAdmin):
    """A page of rows that only the service itself writes."""

    show_full_result_count = False  # counting a large table costs more than the page

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Everything but bytes, which say nothing to a reader."""
        return [field.name for field in self.opts.fields if not isinstance(field, models.BinaryField)]
