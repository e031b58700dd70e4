"""The thinnest consumer: fetches of one megabyte, one after the other. `raw_reader.py BOOTSTRAP TOPIC FIRST_OFFSET END_OFFSET`"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "conformance"))

from wire_client import WireClient

from millstream_wire.records import parse_header, split


def read(bootstrap: str, topic: str, first_offset: int, end_offset: int) -> None:
    offset = first_offset
    with WireClient(bootstrap) as client:
        while offset < end_offset:
            found = client.fetch(topic, offset)
            if found.error_code or not found.records:
                raise RuntimeError(f"nothing at {offset} of {end_offset}: error {found.error_code}")
            *_, last = split(found.records)
            offset = parse_header(last).next_offset


if __name__ == "__main__":
    read(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
