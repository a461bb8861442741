"""KernelIndex's public run pages, read as HTML. Facts of the markup and quirks are in README.md."""

from scrapers.contract import SourcePolicy
from scrapers.kernelindex.client import read_index, read_part
from scrapers.kernelindex.items import Items, Page

POLICY = SourcePolicy(
    slug="kernelindex",
    title="KernelIndex",
    base_url="https://kernelindex.com",
    hosts=frozenset({"kernelindex.com", "www.kernelindex.com"}),
    licence="Public pages; the results belong to the sources that each page names",
    attribution="KernelIndex, https://kernelindex.com",
    connections=1,
    requests_per_s=1.0,
    closed_paths=("/api",),
)

__all__ = ["POLICY", "Items", "Page", "read_index", "read_part"]
