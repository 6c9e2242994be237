"""Who is logged in, and the token that unsafe requests of a session carry."""

from django.middleware.csrf import get_token
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class MeView(APIView):
    class OutputSerializer(serializers.Serializer[object]):
        username = serializers.CharField()
        is_superuser = serializers.BooleanField()

        class Meta:
            ref_name = "Me"

    @extend_schema(responses=OutputSerializer)
    def get(self, request: Request) -> Response:
        return Response(self.OutputSerializer(request.user).data)


class CsrfView(APIView):
    permission_classes = [AllowAny]

    class OutputSerializer(serializers.Serializer[object]):
        token = serializers.CharField()

        class Meta:
            ref_name = "Csrf"

    @extend_schema(responses=OutputSerializer)
    def get(self, request: Request) -> Response:
        """The token for `X-CSRFToken`; the answer sets its cookie too."""
        return Response(self.OutputSerializer({"token": get_token(request._request)}).data)
