"""Checks the list of the program's components (SBOM, CycloneDX): it keeps to its schema, and names every dependency.

Usage: sbom.py FILE TREE, where TREE is the output of `cargo tree --prefix none` for the program. Needs
cyclonedx-python-lib.
"""

import json
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

file, tree = sys.argv[1:]
text = open(file, encoding="utf-8").read()
bom = json.loads(text)
fault = JsonStrictValidator(SchemaVersion.from_version(bom["specVersion"])).validate_str(text)
if fault:
    sys.exit(f"{file} does not keep to the schema of CycloneDX {bom['specVersion']}: {fault}")
root = bom["metadata"]["component"]
named = {(one["name"], one["version"]) for one in [*bom["components"], root]}
used = {tuple(line.split()[:2]) for line in open(tree, encoding="utf-8") if line.strip()}
used = {(name, version.removeprefix("v")) for name, version in used}
if missing := sorted(used - named):
    sys.exit(f"{file} does not name {missing}")
unlicensed = [one["name"] for one in bom["components"] if not one.get("licenses")]
if unlicensed:
    sys.exit(f"{file} has no licence for {unlicensed}")
# cargo-cyclonedx takes the features of all crates of the workspace together, so it names a few crates that only tests
# use.
print(f"CycloneDX {bom['specVersion']}: all {len(used)} crates of the program, and {len(named - used)} more")
