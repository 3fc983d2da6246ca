"""Names of a package that are imported on first use, so that importing the package stays cheap."""

import importlib
from collections.abc import Callable, Mapping


def exports(
    package: dict, home: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """A package's `__getattr__` and `__dir__`.

    package: its `globals()`. home: for each name the submodule that it is imported from.
    """

    def get(name: str):
        if name not in home:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f".{home[name]}", package["__name__"]), name)
        package[name] = value  # the next access finds it without this call
        return value

    def names() -> list[str]:
        return sorted(set(package) | set(home))

    return get, names
