"""The admin pages: superusers only, since they show all clusters, and through the one login page there is."""

from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from unfold.sites import UnfoldAdminSite


class Site(UnfoldAdminSite):
    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Where those go who may not see a page: to log in, or nowhere when they have."""
        if request.user.is_authenticated and not self.has_permission(request):
            raise PermissionDenied
        return redirect_to_login(request.GET.get("next", "/admin/"))
