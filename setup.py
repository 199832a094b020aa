"""The native core is compiled as part of an installation, where torch and a compiler are, unless TNP_NATIVE=0."""

import importlib.util
import os
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

NATIVE = Path(__file__).parent / "backend_torch" / "native"


class Build(build_py):
    """Copies the packages, with the extension if it can be built."""

    def run(self) -> None:
        spec = importlib.util.spec_from_file_location("build_native", NATIVE / "build.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            if os.environ.get("TNP_NATIVE") != "0":
                module.build()
        except RuntimeError as error:
            print(f"the native core is not built, tnp runs without it: {error}", file=sys.stderr)
        super().run()


class NativeDistribution(Distribution):
    """Its wheel is for one platform if it has the extension."""

    def has_ext_modules(self) -> bool:
        return any(NATIVE.glob("core-*"))


setup(cmdclass={"build_py": Build}, distclass=NativeDistribution)
