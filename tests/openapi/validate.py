"""The document is valid OpenAPI 3.1, complete, and the same in JSON and YAML.

Usage: validate.py OPENAPI.JSON OPENAPI.YAML
"""

import json
import sys

import yaml
from openapi_spec_validator import validate

OPERATIONS = 88


def main(json_path: str, yaml_path: str) -> None:
    with open(json_path, encoding="utf-8") as file:
        document = json.load(file)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with open(yaml_path, encoding="utf-8") as file:
        assert yaml.load(file, loader) == document, "YAML and JSON differ"
    assert document["openapi"].startswith("3.1."), document["openapi"]
    count = sum(len(methods) for methods in document["paths"].values())
    assert count == OPERATIONS, f"{count} operations"
    validate(document)
    print(f"    valid OpenAPI {document['openapi']}: {count} operations, {len(document['components']['schemas'])} schemas")


if __name__ == "__main__":
    main(*sys.argv[1:])
