"""Titles of operations, and texts that a terminal prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.curated import curated
from transforms.names import operation_title, printable, printable_json

LETTERS = st.text("abcdefgxyz0123456789_-. ", max_size=60)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        # The two published run pages.
        ("064_multi_head_qkv_projection_with_rope_backward", "Multi head QKV projection with RoPE backward"),
        ("062_kv_cache_update_with_rope_backward", "KV cache update with RoPE backward"),
        # Terms by their authors' spelling.
        ("026_rmsnorm_h7168", "RMSNorm h7168"),
        ("012_gqa_paged_decode_h32_kv4_d128_ps1", "GQA paged decode h32 kv4 d128 ps1"),
        ("032_nvfp4_moe_expert_linear_with_gating", "NVFP4 MoE expert linear with gating"),
        ("080_adaptive_layernorm_continuous_with_modulation", "Adaptive LayerNorm continuous with modulation"),
        ("048_fused_gate_up_projection_with_swiglu", "Fused gate up projection with SwiGLU"),
        ("079_ImageNet_83.6_ssm_output", "ImageNet 83.6 SSM output"),
        ("2d_rope", "2D RoPE"),
        ("plain", "Plain"),
        ("Already a title", "Already a title"),
        ("007", "007"),
        ("007_", "007"),
        ("_", "Unnamed"),
        ("", "Unnamed"),
    ],
)
def test_a_title_is_the_name_in_words(name: str, title: str) -> None:
    assert operation_title(name) == title


@given(LETTERS | st.text(max_size=60))
def test_a_title_is_never_empty_and_has_no_underscores(name: str) -> None:
    title = operation_title(name)
    assert title
    assert "_" not in title
    assert title[0] == title[0].upper()
    if name[:1].isalpha():
        assert operation_title(f"064_{name}") == title


def test_every_kernel_of_the_board_has_a_title_without_its_number(replay: Path) -> None:
    kernels = json.loads((replay / "kernels.json").read_text(encoding="utf-8"))["data"]["kernels"]
    names = [kernel["name"] for kernel in kernels]
    assert len(names) == 174
    terms = set(curated("terms")["spelling"].values())
    for name in names:
        title = operation_title(name)
        assert title.lower() == re.sub(r"^\d+_", "", name).replace("_", " ").lower()
        odd = {word for word in title.split()[1:] if word != word.lower()} - terms
        assert odd <= {"ImageNet"}, f"{odd} in {title}"


@given(st.dictionaries(st.text(), st.text()))
def test_json_for_a_terminal_is_the_same_json(value: dict[str, str]) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1)
    shown = printable_json(text)
    assert json.loads(shown) == value
    assert all(char.isprintable() or char == "\n" for char in shown)


@pytest.mark.parametrize("char", ["\x1b", "\x7f", "\x9b", "\u202e", "\u2028", "\U000e0001"])
def test_what_a_terminal_would_obey_is_escaped(char: str) -> None:
    assert char not in printable_json(json.dumps([char], ensure_ascii=False))


@pytest.mark.parametrize(
    "char", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\u3164", "\ufe00", "\U000e0100"]
)
def test_what_nobody_sees_is_replaced(char: str) -> None:
    assert printable(f"a{char}b") == "a\ufffdb"
    assert char not in printable_json(json.dumps([char], ensure_ascii=False))


@pytest.mark.parametrize("char", ["\n", "\r", "\t", "\u00a0", "\u2003", "\u3000"])
def test_white_space_of_all_kinds_is_a_space(char: str) -> None:
    assert printable(f"a{char}b") == "a b"


@pytest.mark.parametrize("text", ["山田 yamada", "Łukasz Ż.", "נועה", "🦉 night", "e\u0301", "❤\ufe0f", "µs"])
def test_what_people_write_stays(text: str) -> None:
    assert printable(text) == text
    assert printable_json(json.dumps(text, ensure_ascii=False)) == json.dumps(text, ensure_ascii=False)
