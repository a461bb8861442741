"""Bytes in: what a source answers, kept to the byte, and the items read from it."""
