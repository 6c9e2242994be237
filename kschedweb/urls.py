"""Every route of the web process, apart from WebSockets (asgi.py)."""

from django.contrib import admin
from django.urls import path

urlpatterns = [
    path("admin/", admin.site.urls),
]
