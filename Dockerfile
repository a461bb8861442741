FROM python:3.13-slim

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY flows flows
COPY scrapers scrapers
COPY transforms transforms
COPY warehouse warehouse
RUN pip install --no-cache-dir .

# Archive, warehouse and Prefect's own files: the one thing to keep.
RUN useradd --create-home --home-dir /var/lib/kix kix
USER kix
WORKDIR /var/lib/kix
ENV KIX_HOME=/var/lib/kix PYTHONUNBUFFERED=1
VOLUME /var/lib/kix

STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10m --start-period=10m CMD ["kix", "status", "--check"]
ENTRYPOINT ["kix"]
CMD ["serve"]
