"""NVIDIA's SOL-ExecBench leaderboard, read through its public JSON API. Facts and quirks are in README.md."""

from scrapers.contract import SourcePolicy
from scrapers.sol_execbench.client import read_index, read_part
from scrapers.sol_execbench.items import Kernel, Submission, Workload
from scrapers.sol_execbench.parse import Items, parse

POLICY = SourcePolicy(
    slug="sol-execbench",
    title="NVIDIA SOL-ExecBench",
    base_url="https://research.nvidia.com/benchmarks/sol-execbench/api",
    hosts=frozenset({"research.nvidia.com"}),
    licence="Public leaderboard API; no licence is stated for its data",
    attribution="NVIDIA SOL-ExecBench leaderboard, https://research.nvidia.com/benchmarks/sol-execbench",
    page_url="https://research.nvidia.com/benchmarks/sol-execbench",
)

__all__ = ["POLICY", "Items", "Kernel", "Submission", "Workload", "parse", "read_index", "read_part"]
