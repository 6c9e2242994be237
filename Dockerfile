# One image for the web process, the workers, beat and the migrations: they differ in their command only.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/app
WORKDIR /app

COPY requirements.lock ./
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock

RUN useradd --system --uid 10001 --home-dir /app ksched && install -d -o ksched -g ksched /data
COPY manage.py ./
COPY scheduler_core scheduler_core
COPY kschedweb kschedweb
COPY frontend/dist frontend/dist
COPY docs/known-limits.md docs/known-limits.md

USER ksched
ENV KSCHED_DATA_DIR=/data KSCHED_LOG_FORMAT=json
VOLUME /data
EXPOSE 8480
CMD ["python", "-m", "kschedweb.ops.web"]
