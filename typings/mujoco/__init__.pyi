# MuJoCo's bindings are compiled and come without types: everything in them is Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
