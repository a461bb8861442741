"""Write the synthetic sample of the leaderboard: invented kernels, handles, times and scores.

    python make_sample.py [--out DIR]

The same bytes come out every time and everywhere: fixed seeds, and no function of the machine's maths library.
Each kernel draws from a seed of its own, so that a change of one leaves the figures of the others alone. The file is
long because what is invented by hand (kernels, handles, odd rows) is kept here as data; README.md beside it says what
the oddities are for.
"""

import argparse
import json
import math
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

SEED = 20260302
START = datetime(2026, 3, 2, 8, tzinfo=UTC)
SPAN_S = 180 * 24 * 3600

Row = dict[str, object]
Tensor = tuple[str, list[int | str] | None]  # dtype and shape; an empty shape or none at all is a scalar


class Figure(str):
    """A number as its JSON text spells it, such as `1.10` or `2.5e-2`."""

    __slots__ = ()


@dataclass(frozen=True)
class Kernel:
    """An invented kernel: what its definition says, and how its workloads and submissions are drawn."""

    id: int
    name: str
    about: str
    tags: list[str]
    axes: dict[str, int | str | None]  # a constant's value, a derived axis's expression, None for one that varies
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    sizes: dict[str, list[int]]  # the choices of each axis that varies
    point_ns: float  # speed-of-light nanoseconds for each element of the product of those axes
    cases: int
    submissions: int
    stated: dict[str, int] = field(default_factory=dict)  # axes that do not vary, which workload entries state as well
    strays: dict[str, int] = field(default_factory=dict)  # axes of the last entry which the definition lacks
    repeats: tuple[int, ...] = ()  # cases that are listed once more at the end
    gpus: tuple[str, ...] = ("B200",)
    sol_is_dummy: bool = False
    tolerances: tuple[tuple[str, str], ...] = ()  # (max_atol, max_rtol); entries of such a kernel have a uuid too
    extra: Row = field(default_factory=dict)  # further fields of the definition


KERNELS = [
    Kernel(
        id=1,
        name="sample_rmsnorm_hidden4096",
        about="RMS normalisation over the last axis, with a learned weight.",
        tags=["normalization", "L1", "model:sample-lark-8b"],
        axes={"batch_size": None, "seq_len": None, "hidden_size": 4096},
        inputs={
            "hidden_states": ("bfloat16", ["batch_size", "seq_len", "hidden_size"]),
            "weight": ("bfloat16", ["hidden_size"]),
            "eps": ("float32", None),
        },
        outputs={"normed": ("bfloat16", ["batch_size", "seq_len", "hidden_size"])},
        sizes={"batch_size": [1, 2, 4, 8, 16], "seq_len": [128, 256, 509, 1024, 2048]},
        point_ns=2.1,
        cases=16,
        submissions=63,
        stated={"hidden_size": 4096},
    ),
    Kernel(
        id=2,
        name="sample_rope_half_split",
        about="Rotary embedding of the queries, halves split.",
        tags=["L1", "rope", "attention", "model:sample-lark-8b"],
        axes={"batch_size": None, "seq_len": None, "num_heads": 32, "head_dim": 128, "half_dim": "head_dim // 2"},
        inputs={
            "q": ("bfloat16", ["batch_size", "num_heads", "seq_len", "head_dim"]),
            "cos": ("float32", ["seq_len", "half_dim"]),
            "sin": ("float32", ["seq_len", "half_dim"]),
            "position_ids": ("int64", ["batch_size", "seq_len"]),
        },
        outputs={"q_rotated": ("bfloat16", ["batch_size", "num_heads", "seq_len", "head_dim"])},
        sizes={"batch_size": [1, 2, 4, 8], "seq_len": [64, 127, 256, 512]},
        point_ns=2.2,
        cases=10,
        submissions=34,
        stated={"num_heads": 32, "head_dim": 128, "half_dim": 64},
    ),
    Kernel(
        id=3,
        name="sample_masked_softmax_rows",
        about="Softmax over the columns a mask leaves in.",
        tags=["attention", "L1", "model:sample-wren-13b"],
        axes={"rows": None, "cols": None, "num_heads": 16},
        inputs={
            "scores": ("float32", ["num_heads", "rows", "cols"]),
            "keep": ("bool", [1, "rows", "cols"]),
            "scale": ("float32", []),
        },
        outputs={"probabilities": ("bfloat16", ["num_heads", "rows", "cols"])},
        sizes={"rows": [128, 512, 1024, 2048], "cols": [256, 777, 2048, 4096]},
        point_ns=0.0126,
        cases=11,
        repeats=(2, 5, 2),
        submissions=22,
    ),
    Kernel(
        id=5,
        name="sample_gemm_bias_gelu_n3072",
        about="Matrix product, bias and GELU in one pass.",
        tags=["L1", "gemm", "mlp", "model:sample-wren-13b"],
        axes={"M": None, "N": 3072, "hidden_size": 1024},
        inputs={
            "A": ("bfloat16", ["M", "hidden_size"]),
            "B": ("bfloat16", ["hidden_size", "N"]),
            "Bias": ("float32", ["1", "N"]),
        },
        outputs={"C": ("bfloat16", ["M", "N"])},
        sizes={"M": [64, 128, 255, 512, 1000, 1024, 2048, 4096, 8192, 16384]},
        point_ns=3.0,
        cases=9,
        submissions=50,
        stated={"N": 3072, "hidden_size": 1024},
    ),
    Kernel(
        id=6,
        name="sample_swiglu_mlp_backward",
        about="Gradient of a gated feed-forward block; rows are padded to full tiles.",
        tags=["mlp", "L2", "backward", "model:sample-heron-32b"],
        axes={
            "tokens": None,
            "hidden_size": 2048,
            "intermediate_size": 5632,
            "gate_up_size": "2 * intermediate_size",
            "padded_tokens": "(tokens + 63) - (tokens + 63) % 64",
            "pad_rows": "padded_tokens - tokens",
        },
        inputs={
            "grad_output": ("bfloat16", ["tokens", "hidden_size"]),
            "gate_up": ("bfloat16", ["padded_tokens", "gate_up_size"]),
            "down_weight": ("bfloat16", ["hidden_size", "intermediate_size"]),
        },
        outputs={
            "grad_gate_up": ("bfloat16", ["padded_tokens", "gate_up_size"]),
            "grad_down_weight": ("float32", ["hidden_size", "intermediate_size"]),
        },
        sizes={"tokens": [513, 1024, 4000, 4096, 6200, 8192, 12288, 16384, 24001, 32768, 49152, 65536]},
        point_ns=42.0,
        cases=10,
        submissions=24,
    ),
    Kernel(
        id=8,
        name="sample_gqa_decode_step",
        about="One decoding step of grouped-query attention over a dense cache.",
        tags=["L2", "attention", "decode", "model:sample-heron-32b"],
        axes={
            "batch_size": None,
            "kv_len": None,
            "num_heads": 48,
            "num_kv_heads": 8,
            "head_dim": 128,
            "group_size": "num_heads // num_kv_heads",
        },
        inputs={
            "q": ("bfloat16", ["batch_size", "num_kv_heads", "group_size", "head_dim"]),
            "k_cache": ("bfloat16", ["batch_size", "kv_len", "num_kv_heads", "head_dim"]),
            "v_cache": ("bfloat16", ["batch_size", "kv_len", "num_kv_heads", "head_dim"]),
            "seq_lens": ("int64", ["batch_size"]),
            "sm_scale": ("float32", None),
        },
        outputs={"output": ("bfloat16", ["batch_size", "num_heads", "head_dim"])},
        sizes={"batch_size": [1, 8, 32, 64], "kv_len": [512, 1024, 2048, 4096, 8191]},
        point_ns=0.53,
        cases=12,
        submissions=57,
        stated={"num_heads": 48, "num_kv_heads": 8, "head_dim": 128, "group_size": 6},
        gpus=("B200", "H200", "NVIDIA_GB200"),
    ),
    Kernel(
        id=9,
        name="sample_moe_router_topk",
        about="Router of a mixture of experts; its bound is a placeholder.",
        tags=["moe", "L2", "model:sample-finch-moe"],
        axes={"num_tokens": None, "num_experts": 96, "top_k": 6, "num_slots": "num_tokens * top_k"},
        inputs={
            "logits": ("float32", ["num_tokens", "num_experts"]),
            "expert_bias": ("float32", ["num_experts"]),
            "routed_scale": ("float32", None),
        },
        outputs={
            "weights": ("float32", ["num_tokens", "top_k"]),
            "expert_ids": ("int64", ["num_tokens", "top_k"]),
            "slots": ("int64", ["num_slots"]),
        },
        sizes={"num_tokens": [1, 16, 64, 200, 256, 512, 1024, 4096, 8192, 16384]},
        point_ns=0.9,
        cases=8,
        submissions=20,
        sol_is_dummy=True,
    ),
    Kernel(
        id=10,
        name="sample_fp8_block_scaled_gemm",
        about="FP8 matrix product with scales for blocks of 128.",
        tags=["Quant", "model:sample-heron-32b"],
        axes={"M": None, "N": 4096, "K": 2048, "n_blocks": "N // 128", "k_blocks": "K // 128"},
        inputs={
            "A": ("float8_e4m3fn", ["M", "K"]),
            "A_scale": ("float32", ["M", "k_blocks"]),
            "B": ("float8_e4m3fn", ["N", "K"]),
            "B_scale": ("float32", ["n_blocks", "k_blocks"]),
            "identity_block": ("bfloat16", ["128", "128"]),
        },
        outputs={"D": ("bfloat16", ["M", "N"])},
        sizes={"M": [16, 128, 384, 512, 1024, 1111, 2048, 4096, 6000, 8192]},
        point_ns=3.9,
        cases=9,
        submissions=27,
        stated={"N": 4096, "K": 2048},
        strays={"split_k": 4},
    ),
    Kernel(
        id=12,
        name="sample_fp4_weight_dequant",
        about="Unpacks FP4 weights, two a byte, with a scale for every 16.",
        tags=["dequantization", "Quant", "model:sample-finch-moe"],
        axes={"rows": None, "cols": 8192, "packed_cols": "cols // 2", "scale_cols": "(cols // 2) // 8"},
        inputs={
            "packed": ("float4_e2m1fn_x2", ["rows", "packed_cols"]),
            "scales": ("float8_e4m3fn", ["rows", "scale_cols"]),
            "global_scale": ("float32", ["1"]),
        },
        outputs={"weight": ("bfloat16", ["rows", "cols"])},
        sizes={"rows": [96, 128, 512, 768, 1024, 2048, 3000, 4096, 8192, 12288]},
        point_ns=2.7,
        cases=8,
        submissions=18,
        stated={"cols": 8192},
    ),
    Kernel(
        id=13,
        name="sample_kv_cache_quantize_append",
        about="Quantises new keys and values into their cache slots; nobody has tried it yet.",
        tags=["kv_cache", "Quant", "model:sample-lark-8b"],
        axes={"num_tokens": None, "num_slots": None, "num_kv_heads": 8, "head_dim": 128},
        inputs={
            "keys": ("bfloat16", ["num_tokens", "num_kv_heads", "head_dim"]),
            "values": ("bfloat16", ["num_tokens", "num_kv_heads", "head_dim"]),
            "slot_mapping": ("int64", ["num_tokens"]),
        },
        outputs={
            "k_cache": ("float8_e4m3fn", ["num_slots", "num_kv_heads", "head_dim"]),
            "v_cache": ("float8_e4m3fn", ["num_slots", "num_kv_heads", "head_dim"]),
        },
        sizes={"num_tokens": [1, 64, 512, 4096], "num_slots": [8192, 65536, 131072]},
        point_ns=0.000004,
        cases=8,
        submissions=0,
    ),
    Kernel(
        id=16,
        name="sample_ragged_paged_attention",
        about="Decoding attention over a paged cache, requests of unequal length.",
        tags=["FlashInfer-Bench", "attention", "model:sample-wren-13b"],
        axes={
            "batch_size": None,
            "num_pages": None,
            "num_page_refs": None,
            "num_qo_heads": 32,
            "num_kv_heads": 4,
            "head_dim": 128,
            "page_size": 32,
            "indptr_len": "batch_size + 1",
        },
        inputs={
            "q": ("bfloat16", ["batch_size", "num_qo_heads", "head_dim"]),
            "k_pages": ("bfloat16", ["num_pages", "page_size", "num_kv_heads", "head_dim"]),
            "v_pages": ("bfloat16", ["num_pages", "page_size", "num_kv_heads", "head_dim"]),
            "kv_indptr": ("int64", ["indptr_len"]),
            "kv_indices": ("int64", ["num_page_refs"]),
            "sm_scale": ("float32", []),
        },
        outputs={
            "output": ("bfloat16", ["batch_size", "num_qo_heads", "head_dim"]),
            "lse": ("float32", ["batch_size", "num_qo_heads"]),
        },
        sizes={"batch_size": [1, 7, 16, 64], "num_pages": [4096, 8192], "num_page_refs": [33, 250, 1021]},
        point_ns=0.00008,
        cases=14,
        submissions=21,
        tolerances=(("1e-2", "0.050"), ("0.02", "5e-2")),
        extra={"op_type": "Paged_Attention"},
    ),
    Kernel(
        id=17,
        name="sample_top_p_sampling",
        about="Draws one token from the smallest set that holds the probability p.",
        tags=["sampling", "FlashInfer-Bench", "model:sample-finch-moe"],
        axes={"batch_size": None, "vocab_size": 65024},
        inputs={
            "probs": ("float32", ["batch_size", "vocab_size"]),
            "top_p": ("float32", ["batch_size"]),
            "seed": ("int64", []),
        },
        outputs={"token_ids": ("int64", ["batch_size"])},
        sizes={"batch_size": [1, 2, 8, 16, 33, 64, 128, 256, 512]},
        point_ns=34.0,
        cases=8,
        submissions=4,
        extra={"reference": "def run(probs, top_p, seed):\n    return sample_sorted(cut_at(probs, top_p), seed)\n"},
    ),
    Kernel(
        id=19,
        name="sample_fused_residual_add_layernorm_swish_gate_and_per_token_fp8_quantize_with_saved_statistics_for_backward",
        about="A name longer than a slug may be; one lonely submission.",
        tags=["L2", "fused", "model:sample-lark-8b"],
        axes={"num_tokens": None, "hidden_size": 3072},
        inputs={
            "residual": ("bfloat16", ["num_tokens", "hidden_size"]),
            "x": ("bfloat16", ["num_tokens", "hidden_size"]),
            "gate": ("bfloat16", ["num_tokens", "hidden_size"]),
            "eps": ("float32", None),
        },
        outputs={
            "quantized": ("float8_e4m3fn", ["num_tokens", "hidden_size"]),
            "token_scale": ("float32", ["num_tokens", 1]),
            "statistics": ("float32", ["num_tokens", 2]),
        },
        sizes={"num_tokens": [32, 100, 256, 512, 1024, 2048, 4096, 8192]},
        point_ns=2.8,
        cases=8,
        submissions=1,
    ),
]

HANDLES = {
    handle: 7001 + 17 * n
    for n, handle in enumerate((
        "quietwarp", "tile_weaver | Sample University", "🦉 nightowl", "grid_stride", "Ελένη | rhodos-lab",
        "halfwarp", "山田 yamada-simd", "Zoë L. | Atelier Décalé", "bankconflict", "قارئ qari", "tmem tinkerer",
        "Registers & Spills", "김하늘 haneul | tilecraft", "Łukasz Ż.", "cp.async.fan", "slowpath | Example Labs",
        "נועה noa", "swizzle:me", "José Ñandú", "Ada of the Tiles", "persistent_cta", "d3pth1st",
        "team occupancy | Sample University", "O'Quill", "two-stage", "the other two-stage",
    ))
}  # fmt: skip

# Share, status, is_correct, error_log of submissions that are drawn.
OUTCOMES: list[tuple[float, str, bool | None, str | None]] = [
    (0.840, "COMPLETED", True, None),
    (0.030, "COMPLETED", False, "sample: 2 cases outside their tolerance"),
    (0.040, "FAILED", False, "sample: output has the wrong shape"),
    (0.030, "ERROR", None, "sample: the build ended with code 1"),
    (0.020, "REJECTED", None, "sample: no entry point of the expected name"),
    (0.015, "CANCELLED", None, None),
    (0.015, "PENDING", None, None),
    (0.010, "DEFERRED_RESULT", None, None),
]
GPU_PACE = {"B200": 1.0, "H200": 1.7, "NVIDIA_GB200": 0.97}
LIGHT = "the kernel's smallest sol_ms"  # in place of a latency: exactly that figure


def odd(kernel_id: int, username: str, latency_ms: str | None, finished_at: str | None, **fields: object) -> Row:
    """A submission placed by hand; what it does not say is as in any other."""
    return {"kernel_id": kernel_id, "username": username, "latency": latency_ms, "finished_at": finished_at, **fields}


ODD_ROWS = [
    # A tie for first place, one figure in three spellings; two of the three finished at one instant.
    odd(1, "quietwarp", "0.0170", "2026-08-09T14:05:31.250000"),
    odd(1, "🦉 nightowl", "1.7e-2", "2026-08-12T07:44:10.500"),
    odd(1, "halfwarp", "0.017", "2026-08-12T07:44:10.500000Z"),
    # Equal times, unequal figures: the later id is the better one, then the earlier id.
    odd(5, "grid_stride", "0.013500", "2026-08-20T10:00:00Z"),
    odd(5, "bankconflict", "0.0134", "2026-08-20T10:00:00.000"),
    odd(2, "O'Quill", "0.007400", "2026-05-30T21:15:42.125", evaluation_stack_version="v1.0"),
    odd(2, "two-stage", "0.0075", "2026-05-30T21:15:42.125000", evaluation_stack_version="v1.0"),
    # Half a nanosecond goes up, whether the digit before it is odd or even.
    odd(2, "swizzle:me", "0.0123455", "2026-07-02T11:20:05.999999"),
    odd(2, "d3pth1st", "0.0123445", "2026-07-03T16:08:59.999500Z"),
    odd(2, "José Ñandú", "0.01233449999999999", "2026-07-04T03:31:07"),
    # A float times 10^6, cut to an integer, is one nanosecond short of these.
    odd(2, "Łukasz Ż.", "0.015627", "2026-06-18T19:00:12.300"),
    odd(6, "persistent_cta", "1.000074", "2026-06-21T05:17:00Z"),
    # Other spellings: a trailing zero, an exponent, a whole number.
    odd(6, "Registers & Spills", "1.10", "2026-05-11T08:02:44.010203", sol_score=Figure("0.50"),
        avg_speedup=Figure("2.0")),
    odd(6, "Ada of the Tiles", "2", "2026-03-19T12:00:01.500Z", evaluation_stack_version="v1.0",
        avg_speedup=Figure("1")),
    odd(10, "cp.async.fan", "2.5e-2", "2026-07-15T02:13:33.700Z", sol_score=Figure("5.1E-1")),
    odd(3, "tmem tinkerer", "0.050", "2026-07-28T22:51:09.430000", avg_speedup=Figure("1.30")),
    # Faster than light; exactly as fast; and faster than a bound that is a placeholder.
    odd(5, "swizzle:me", "0.0012", "2026-07-30T01:02:03.456789", sol_score=Figure("1.0"), avg_speedup=Figure("48.25")),
    odd(8, "d3pth1st", "0.000950", "2026-08-03T18:22:41.118Z", sol_score=Figure("1.0"), avg_speedup=Figure("310.5")),
    odd(12, "two-stage", "1.9e-3", "2026-06-06T06:06:06", sol_score=Figure("1"), evaluation_stack_version="v1.0"),
    odd(12, "the other two-stage", LIGHT, "2026-08-14T09:09:09.090909"),
    odd(9, "team occupancy | Sample University", "0.0014", "2026-08-21T15:40:00.250Z"),
    # First on its board, and disqualified; disqualified long after it finished; not said whether disqualified.
    odd(1, "d3pth1st", "0.013902", "2026-07-22T20:10:05.004", is_disqualified=True, disqualification_source="review",
        disqualification_reason="sample: returns a stored output", disqualified_at="2026-07-24T08:00:00Z"),
    odd(16, "swizzle:me", "0.008804", "2026-04-08T13:37:00.640201", evaluation_stack_version="v1.0",
        is_disqualified=True, disqualification_source="automatic",
        disqualification_reason="sample: work left out of the timed region",
        disqualified_at="2026-08-01T00:00:00.000000"),
    odd(10, "Zoë L. | Atelier Décalé", "0.031337", "2026-04-30T17:25:36.482Z", is_disqualified=None),
    # No end is known, only when it was handed in.
    odd(3, "Ελένη | rhodos-lab", "0.061207", None, submitted_at="2026-06-12T09:41:27.318Z"),
    odd(8, "山田 yamada-simd", "0.071918", None, submitted_at="2026-07-09T23:59:59.999999"),
    odd(16, "נועה noa", "0.024410", None, submitted_at="2026-05-05T05:05:05", evaluation_stack_version="v1.0"),
    # No stack version; no score though there is a time; an account without an id.
    odd(5, "tile_weaver | Sample University", "0.029655", "2026-03-05T10:11:12.131415", evaluation_stack_version=None),
    odd(5, "grid_stride", "0.031002", "2026-03-06T04:20:00.000Z", evaluation_stack_version=None),
    odd(8, "quietwarp", "0.148031", "2026-03-11T19:33:21.087", evaluation_stack_version=None),
    odd(9, "bankconflict", "0.009873", "2026-06-28T14:14:14.141", sol_score=None, avg_speedup=None, fast_1_count=None,
        fast_1_total=None, worker_id=None),
    odd(12, "قارئ qari", "0.021115", "2026-07-19T11:45:50.005000", user_id=None),
    # One each of what is no result.
    odd(1, "two-stage", None, "2026-08-26T10:10:10.101", status="DEFERRED_RESULT", is_correct=None),
    odd(1, "grid_stride", None, None, status="PENDING", is_correct=None, submitted_at="2026-08-27T16:30:00.750000"),
    odd(3, "O'Quill", None, "2026-07-01T01:01:01Z", status="CANCELLED", is_correct=None),
    odd(6, "d3pth1st", None, "2026-06-02T12:34:56.789", status="REJECTED", is_correct=None,
        error_log="sample: the file is too long"),
    # A board on which nothing counts.
    odd(17, "slowpath | Example Labs", None, "2026-04-02T07:30:15.020Z", status="FAILED", is_correct=False,
        evaluation_stack_version="v1.0", error_log="sample: 8 cases outside their tolerance"),
    odd(17, "slowpath | Example Labs", None, "2026-04-02T09:12:47.311", status="ERROR", is_correct=None,
        evaluation_stack_version="v1.0", error_log="sample: out of memory in case 7"),
    odd(17, "김하늘 haneul | tilecraft", "0.012480", "2026-07-07T18:00:00.009", is_correct=False),
    odd(17, "Łukasz Ż.", "0.0098", "2026-08-18T20:48:06.512000", is_disqualified=True, disqualification_source="review",
        disqualification_reason="sample: the seed is ignored", disqualified_at="2026-08-19T06:00:00"),
    odd(19, "Ada of the Tiles", "0.016384", "2026-08-02T13:00:30.600"),
]  # fmt: skip


def compact(value: object) -> str:
    """JSON text without spaces; a Figure is written as it is spelled."""
    if isinstance(value, Figure):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{compact(name)}:{compact(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def lines(items: list[Row]) -> str:
    """A JSON list with one item a line."""
    return "[" + ",".join("\n" + compact(item) for item in items) + "\n]" if items else "[]"


def figure(value: float, places: int) -> Figure:
    """`value` with at most `places` decimals, trailing zeros dropped."""
    return Figure(f"{value:.{places}f}".rstrip("0").rstrip("."))


def axis(value: int | str | None) -> Row:
    """How the API writes an axis."""
    if value is None:
        return {"type": "var"}
    return {"type": "const", "value": value} if isinstance(value, int) else {"type": "expr", "expression": value}


def tensors(arguments: dict[str, Tensor]) -> Row:
    """How the API writes inputs and outputs."""
    return {name: {"shape": shape, "dtype": dtype} for name, (dtype, shape) in arguments.items()}


def make_workloads(kernel: Kernel, rng: random.Random) -> list[Row]:
    """The kernel's entries, repeats included; bounds and baselines in milliseconds."""
    entries = []
    for n, drawn in enumerate(rng.sample(list(product(*kernel.sizes.values())), kernel.cases)):
        entry: Row = {"uuid": str(uuid.UUID(int=rng.getrandbits(128), version=4))} if kernel.tolerances else {}
        strays = kernel.strays if n == kernel.cases - 1 else {}
        entry["axes"] = {**kernel.stated, **dict(zip(kernel.sizes, drawn, strict=True)), **strays}
        if kernel.tolerances:
            max_atol, max_rtol = kernel.tolerances[n % len(kernel.tolerances)]
            entry["inputs"] = {name: {"type": "random"} for name in kernel.inputs}
            entry["tolerance"] = {"max_atol": Figure(max_atol), "max_rtol": Figure(max_rtol)}
        sol_ns = 2100 + math.prod(drawn) * kernel.point_ns
        entry["baseline_latency_ms"] = figure(round(sol_ns * rng.uniform(2.2, 5.5) * 2) / 2e6, 7)
        entry["sol_ms"] = figure(sol_ns / 1e6, 4)
        entries.append(entry)
    return entries + [entries[n] for n in kernel.repeats]


@dataclass(frozen=True)
class Bounds:
    """What a kernel's submissions are measured against, in milliseconds."""

    light: Figure
    sol_ms: float
    baseline_ms: float
    cases: int

    @classmethod
    def of(cls, workloads: list[Row]) -> "Bounds":
        """The smallest and the mean bound and the mean baseline of the entries."""
        sols = [Figure(entry["sol_ms"]) for entry in workloads]
        baselines = [float(Figure(entry["baseline_latency_ms"])) for entry in workloads]
        n = len(workloads)
        return cls(min(sols, key=float), math.fsum(map(float, sols)) / n, math.fsum(baselines) / n, n)

    def scores(self, latency_ms: Figure | None) -> Row:
        """The score (1/2 at the baseline, 1 at the bound), speedup and count of cases that beat the baseline."""
        if latency_ms is None:
            return dict.fromkeys(("sol_score", "avg_speedup", "fast_1_count", "fast_1_total"))
        latency = float(latency_ms)
        room = max(self.baseline_ms - self.sol_ms, 1e-6)
        speedup = self.baseline_ms / latency
        return {
            "sol_score": figure(min(1.0, room / (room + max(latency - self.sol_ms, 0.0))), 6),
            "avg_speedup": figure(speedup, 4),
            "fast_1_count": min(self.cases, max(0, round(self.cases * (speedup - 0.4)))),
            "fast_1_total": self.cases,
        }


def make_definition(kernel: Kernel, workloads: list[Row]) -> Row:
    """The answer of /kernels/<id>, but for its workloads."""
    source = {} if "reference" in kernel.extra else {"baseline": "# synthetic sample: there is no source text\n"}
    return {
        "id": kernel.id,
        "name": kernel.name,
        "title": kernel.name,
        "description": "Synthetic. " + kernel.about,
        "gpu_types": list(kernel.gpus),
        "tags": kernel.tags,
        "axes": {name: axis(value) for name, value in kernel.axes.items()},
        "inputs": tensors(kernel.inputs),
        "outputs": tensors(kernel.outputs),
        **source,
        **kernel.extra,
        "baseline_latency_ms": figure(Bounds.of(workloads).baseline_ms, 6),
        "latency_unit": "ms",
        "sol_is_dummy": kernel.sol_is_dummy,
    }


def spelled(at: datetime, rng: random.Random) -> str:
    """A time as the board might write it: 0, 3 or 6 fraction digits, now and then with a zone."""
    timespec = rng.choice(("microseconds", "microseconds", "microseconds", "milliseconds", "seconds"))
    return at.replace(tzinfo=None).isoformat(timespec=timespec) + ("Z" if rng.random() < 0.2 else "")


def draw(kernel: Kernel, bounds: Bounds, rng: random.Random) -> Row:
    """What an ordinary submission says; the best times fall as the months pass."""
    elapsed = rng.random()
    finished = START + timedelta(microseconds=round(elapsed * SPAN_S * 1e6))
    gpu = kernel.gpus[0] if rng.random() < 0.6 else rng.choice(kernel.gpus)
    outcomes = rng.choices(OUTCOMES, [outcome[0] for outcome in OUTCOMES])
    _, status, is_correct, error_log = outcomes[0]
    frontier = bounds.sol_ms + (bounds.baseline_ms - bounds.sol_ms) * (0.12 + 0.55 * (1 - elapsed) * (1 - elapsed))
    ns = round(frontier * 1e6 * (1 + 0.8 * rng.random() * rng.random()) * GPU_PACE[gpu])
    latency = figure((ns + 0.5) / 1e6, 7) if rng.random() < 0.08 else figure(ns / 1e6, 6)
    newer = elapsed > 0.6 or (elapsed > 0.4 and rng.random() < 0.5)
    disqualified = status == "COMPLETED" and rng.random() < 0.02
    handles = list(HANDLES)
    submitted = finished - timedelta(seconds=rng.randrange(45, 1200))
    return {
        "username": handles[int(rng.random() * rng.random() * len(handles))],
        "latency": latency if status == "COMPLETED" else None,
        "status": status,
        "is_correct": is_correct,
        "error_log": error_log,
        "gpu_type": gpu,
        "evaluation_stack_version": "v1.1" if newer else "v1.0",
        "submitted_at": spelled(submitted, rng) if status == "PENDING" or rng.random() < 0.7 else None,
        "finished_at": None if status == "PENDING" else spelled(finished, rng),
        "worker_id": f"sample-{gpu.lower()}-{rng.choice('abc')}",
        "original_filename": rng.choice((None, None, "kernel.py", "solution.cu")),
        "is_disqualified": disqualified,
        "disqualification_reason": "sample: depends on state of an earlier call" if disqualified else None,
        "disqualification_source": "automatic" if disqualified else None,
        "disqualified_at": spelled(finished + timedelta(days=3), rng) if disqualified else None,
    }


def make_submission(kernel: Kernel, bounds: Bounds, said: Row) -> Row:
    """A submission with every field of the API, in its order; the id comes later."""
    given = dict(said)
    latency = given.pop("latency")
    latency_ms = bounds.light if latency == LIGHT else None if latency is None else Figure(latency)
    scores = bounds.scores(latency_ms)
    row: Row = {
        "id": 0,
        "type": "kernel",
        "user_id": HANDLES[str(given["username"])],
        "username": "",
        "kernel_id": kernel.id,
        "kernel_name": kernel.name,
        "kernel_title": kernel.name,
        "collection_id": None,
        "collection_submission_id": None,
        "collection_title": None,
        "submission_mode": "release",
        "status": "COMPLETED",
        "is_correct": True,
        "sol_score": scores["sol_score"],
        "latency_ms": latency_ms,
        "benchmark_results": None,
        "fast_1_count": scores["fast_1_count"],
        "fast_1_total": scores["fast_1_total"],
        "avg_speedup": scores["avg_speedup"],
        "gpu_type": kernel.gpus[0],
        "worker_id": f"sample-{kernel.gpus[0].lower()}-a",
        "evaluation_stack_version": "v1.1",
        "is_disqualified": False,
        "disqualification_reason": None,
        "disqualification_source": None,
        "disqualified_at": None,
        "submitted_at": None,
        "finished_at": None,
        "error_log": None,
        "original_filename": None,
    }
    return row | given


def instant(row: Row) -> datetime:
    """When a submission finished, or was handed in while its end is not known."""
    return datetime.fromisoformat(str(row["finished_at"] or row["submitted_at"])).replace(tzinfo=UTC)


def make_submissions(bounds: dict[int, Bounds]) -> dict[int, list[Row]]:
    """The submissions of each kernel, newest first; ids rise with time over all kernels."""
    rows = []
    for kernel in KERNELS:
        rng = random.Random(f"{SEED}/submissions/{kernel.id}")  # noqa: S311 - made-up figures, no secrets
        said = [row for row in ODD_ROWS if row["kernel_id"] == kernel.id]
        said += [draw(kernel, bounds[kernel.id], rng) for _ in range(kernel.submissions - len(said))]
        rows += [make_submission(kernel, bounds[kernel.id], row) for row in said]
    rows.sort(key=instant)
    for n, row in enumerate(rows):
        row["id"] = 5003 + 11 * n
    return {kernel.id: [row for row in reversed(rows) if row["kernel_id"] == kernel.id] for kernel in KERNELS}


def make_files() -> Iterator[tuple[str, str]]:
    """Path and text of every file."""
    workloads = {}
    for kernel in KERNELS:
        rng = random.Random(f"{SEED}/workloads/{kernel.id}")  # noqa: S311 - made-up figures, no secrets
        workloads[kernel.id] = make_workloads(kernel, rng)
    submissions = make_submissions({kernel_id: Bounds.of(entries) for kernel_id, entries in workloads.items()})
    index = []
    for kernel in KERNELS:
        definition = make_definition(kernel, workloads[kernel.id])
        listed = {name: definition[name] for name in ("id", "name", "title", "gpu_types", "tags")}
        index.append(listed | {"submission_count": len(submissions[kernel.id])})
        head = compact(definition).removesuffix("}")
        yield f"kernels/{kernel.id}.json", f'{{"data":{head},"workloads":{lines(workloads[kernel.id])}}}}}\n'
        yield f"submissions/{kernel.id}.json", lines(submissions[kernel.id]) + "\n"
    yield "kernels.json", f'{{"data":{{"kernels":{lines(index)}}}}}\n'


def main() -> None:
    """Write the sample, and remove what an earlier one left."""
    parser = argparse.ArgumentParser(description="Write the synthetic sample of the leaderboard.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, metavar="DIR", help="default: here")
    folder: Path = parser.parse_args().out
    files = dict(make_files())
    for part in ("kernels", "submissions"):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for old in (folder / part).glob("[0-9]*.json"):
            if f"{part}/{old.name}" not in files:
                old.unlink()
    for path, text in files.items():
        (folder / path).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
