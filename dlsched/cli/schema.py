"""``dlsched schema``: the JSON Schema of a family's instance files."""

from typing import Any

from dlsched.cli.options import FamilyName
from dlsched.cli.output import print_json
from dlsched.core.family import AnyFamily
from dlsched.core.instance import InstanceFile
from dlsched.families import find_family

NAME = "schema"


def run(family: FamilyName) -> int:
    """Print the JSON Schema of the format (what one field alone can say; `solve` checks the rest)."""
    print_json(instance_schema(find_family(family)))
    return 0


def instance_schema(family: AnyFamily) -> dict[str, Any]:
    """Return the schema; the files' ``format`` field, which the classes do not hold, is added."""
    name = f"dlsched/{family.name}/1"
    instance: type[InstanceFile] = family.instance
    schema = instance.model_json_schema()
    properties = {"format": {"const": name, "type": "string"}} | schema["properties"]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name}
    return head | schema | {"title": name, "properties": properties, "required": ["format", *schema["required"]]}
