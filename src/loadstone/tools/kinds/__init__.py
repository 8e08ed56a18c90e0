"""The tools, one module each; the registry finds every module that declares a `KIND`."""
