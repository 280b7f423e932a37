#!/usr/bin/env python3
"""Prints what the program is made of: a CycloneDX document from what cargo knows.

    packaging/sbom.py [--target TRIPLE] > charla.cdx.json

It lists what is linked into the binary `charla` for that target: no crates of tests, none of build scripts. Its time is
SOURCE_DATE_EPOCH, or that of the last commit, so that the same sources give the same document.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def linked(metadata):
    """The ids of what the binary links, each with what it links itself."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    first = next(package["id"] for package in metadata["packages"] if package["name"] == "charla-cli")
    links, waiting = {}, [first]
    while waiting:
        package = waiting.pop()
        if package in links:
            continue
        normal = [
            dependency["pkg"]
            for dependency in nodes[package]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
        links[package] = normal
        waiting += normal
    return first, links


def component(package, checksums):
    name, version = package["name"], package["version"]
    described = {"type": "library", "bom-ref": f"pkg:cargo/{name}@{version}", "name": name, "version": version}
    if package["license"]:
        # Older manifests write a slash where the form has a word.
        described["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package["source"]:
        described["purl"] = f"pkg:cargo/{name}@{version}"
        described["hashes"] = [{"alg": "SHA-256", "content": checksums[name, version]}]
    return described


def document(target):
    metadata = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target))
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(row["name"], row["version"]): row["checksum"] for row in lock["package"] if "checksum" in row}
    packages = {package["id"]: package for package in metadata["packages"]}
    first, links = linked(metadata)
    reference = lambda package: f"pkg:cargo/{packages[package]['name']}@{packages[package]['version']}"
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct").strip()
    made = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc)
    program = {**component(packages[first], checksums), "type": "application", "name": "charla"}
    parts = sorted((component(packages[package], checksums) for package in links if package != first), key=lambda part: part["bom-ref"])
    dependencies = [{"ref": reference(package), "dependsOn": sorted(map(reference, links[package]))} for package in links]
    content = json.dumps([program, parts], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {"timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": program},
        "components": parts,
        "dependencies": sorted(dependencies, key=lambda row: row["ref"]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="x86_64-unknown-linux-musl")
    print(json.dumps(document(parser.parse_args().target), indent=2))


if __name__ == "__main__":
    main()
