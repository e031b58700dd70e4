"""Says what pyproject.toml cannot: with extensions beside the sources (compiled/README.md) a wheel is of one platform."""

from pathlib import Path

from setuptools import Distribution, setup


class Package(Distribution):
    def has_ext_modules(self) -> bool:
        return any(Path(__file__).parent.glob("*/*/src/**/*.so"))


setup(distclass=Package)
