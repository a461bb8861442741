"""The snapshot in Croissant (JSON-LD), the format in which machine-learning tools describe data sets.

Made with mlcroissant, which validates what it makes. It is imported here only: it costs a second or two.
"""

from __future__ import annotations

import json
from typing import Any

from scrapers.codes import Code
from warehouse.connection import WarehouseError
from warehouse.snapshot import PARTITION

URL = "https://github.com/SamMausberg/KernelIndex"
NO_LICENCE = "The licences of its sources, as stated in each source's entry of manifest.json"
PARQUET = "application/x-parquet"


def croissant(manifest: dict[str, Any]) -> bytes:
    """Return the Croissant description of a snapshot from its manifest. Raises `WarehouseError` when that is not
    valid."""
    import mlcroissant as mlc  # type: ignore[import-untyped]

    tables = manifest["tables"]
    try:
        described = mlc.Metadata(
            name=f"kix-snapshot-{manifest['snapshot']}",
            description=_description(manifest),
            url=next((one["page_url"] for one in manifest["sources"] if one["page_url"]), URL),
            version=_version(manifest),
            license=sorted({one["licence"] for one in manifest["sources"]}) or [NO_LICENCE],
            creators=[mlc.Organization(name=one["attribution"], url=one["page_url"] or None)
                      for one in manifest["sources"]] or [mlc.Organization(name="kix", url=URL)],
            cite_as=f"kix snapshot {manifest['snapshot']}, content {manifest['content_digest']}",
            date_created=manifest["created_at"].replace(tzinfo=None),
            date_published=manifest["created_at"].replace(tzinfo=None),
            distribution=[_files(mlc, table, manifest) for table in tables],
            record_sets=[_records(mlc, table) for table in tables],
        )  # fmt: skip
        found = described.to_json()
    except mlc.ValidationError as error:
        words = f"the Croissant description is not valid, please report it: {error}"
        raise WarehouseError(words, code=Code.DEFECT) from error
    return json.dumps(found, indent=2, ensure_ascii=False, default=str).encode() + b"\n"


def _description(manifest: dict[str, Any]) -> str:
    warning = f"{manifest['warning']} " if manifest["warning"] else ""
    return (
        f"{warning}Results of public GPU-kernel leaderboards as KernelIndex manifests, with boards, records and"
        " provenance. Values compare only within one comparison_key, never across comparability families. Where and"
        " when each figure was read is in syncs and fetches; manifest.json has a SHA-256 for every file."
    )


def _version(manifest: dict[str, Any]) -> str:
    """A version as Croissant wants it, MAJOR.MINOR.PATCH: the schema's number, the day and the time of the snapshot."""
    created = manifest["created_at"]
    return f"{manifest['schema_migration']}.{created:%Y%m%d}.{int(f'{created:%H%M%S}')}"


def _files(mlc: Any, table: dict[str, Any], manifest: dict[str, Any]) -> Any:
    name = f"{table['name']}-files"
    mine = [one for one in manifest["files"] if one["table"] == table["name"]]
    if table["partitioned"]:
        return mlc.FileSet(
            id=name, name=name, encoding_formats=[PARQUET], includes=[f"{table['name']}/**/*.parquet"],
            description=f"{table['rows']} rows, a folder for each {PARTITION}.",
        )  # fmt: skip
    (only,) = mine
    return mlc.FileObject(
        id=name, name=name, encoding_formats=[PARQUET], content_url=only["path"], sha256=only["sha256"],
        content_size=f"{only['bytes']} B", description=f"{only['rows']} rows.",
    )  # fmt: skip


def _records(mlc: Any, table: dict[str, Any]) -> Any:
    where = {"file_set" if table["partitioned"] else "file_object": f"{table['name']}-files"}
    return mlc.RecordSet(
        id=table["name"],
        name=table["name"],
        description=table["meaning"],
        fields=[
            mlc.Field(
                id=f"{table['name']}/{column['name']}",
                name=column["name"],
                description=column["meaning"] + (f" Unit: {column['unit']}." if column["unit"] else ""),
                data_types=[_type(mlc, column["type"])],
                repeated=True if column["type"].endswith("[]") else None,
                source=mlc.Source(**where, extract=mlc.Extract(column=column["name"])),
            )
            for column in table["columns"]
        ],
    )


def _type(mlc: Any, kind: str) -> Any:
    kinds = {
        "BOOLEAN": mlc.DataType.BOOL, "DOUBLE": mlc.DataType.FLOAT64, "BIGINT": mlc.DataType.INT64,
        "INTEGER": mlc.DataType.INT32, "SMALLINT": mlc.DataType.INT16, "DATE": mlc.DataType.DATE,
        "TIMESTAMP WITH TIME ZONE": mlc.DataType.DATETIME,
    }  # fmt: skip
    return kinds.get(kind.removesuffix("[]"), mlc.DataType.TEXT)
