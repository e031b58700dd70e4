"""Small text files in whatever file system a path names, through Spark's own Hadoop client."""

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from millstream_spark.errors import OutputUnwritable


class Storage:
    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm
        self._configuration: Any = spark._jsc.hadoopConfiguration()

    def qualify(self, path: str) -> str:
        """Return the path with its scheme and authority, so that two spellings of one place compare equal."""
        name = self._path(path)
        return str(self._file_system(name).makeQualified(name).toString())

    def names(self, directory: str) -> list[str]:
        """Return the names in a directory, and nothing for one that does not exist."""
        path = self._path(directory)
        system = self._file_system(path)
        if not system.exists(path):
            return []
        return [str(status.getPath().getName()) for status in system.listStatus(path)]

    def read_text(self, path: str) -> str | None:
        name = self._path(path)
        system = self._file_system(name)
        if not system.exists(name):
            return None
        stream = system.open(name)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def create_text(self, path: str, text: str) -> None:
        """Create a file that was not there; a reader sees all of it or nothing."""
        name = self._path(path)
        system = self._file_system(name)
        unfinished = self._path(path + ".unfinished")
        try:
            stream = system.create(unfinished, True)
            stream.write(text.encode())
            stream.close()
        except Py4JJavaError as error:
            raise OutputUnwritable(f"{path}: {error.java_exception.getMessage()}") from error
        if not system.rename(unfinished, name):
            raise OutputUnwritable(f"{path} cannot be made: another driver may have made it at the same time")

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is in it; what is not there is deleted."""
        name = self._path(path)
        self._file_system(name).delete(name, True)

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def _file_system(self, path: Any) -> Any:
        return path.getFileSystem(self._configuration)
