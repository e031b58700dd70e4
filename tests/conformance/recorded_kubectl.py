"""kubectl as `kubectl millstream` sees it: answers as an API server gave them, and a forward to a port of this machine.

`python recorded_kubectl.py ANSWERS WORDS ...`: ANSWERS is a JSON file with the documents by kind, and the port behind every pod.
"""

import json
import socket
import sys
import threading
from pathlib import Path


def main() -> int:
    answers = json.loads(Path(sys.argv[1]).read_text())
    match sys.argv[2:]:
        case ["get", "secret", name, "-o", "json"]:
            print(json.dumps(answers["secrets"][name]))
        case ["get", kind, *_]:
            print(json.dumps({"items": answers[kind]}))
        case ["port-forward", _, port, "--address", "127.0.0.1"]:
            _forward(port.removeprefix(":"), answers["port"])
        case words:
            print(f"error: unknown command {words}", file=sys.stderr)
            return 1
    return 0


def _forward(wanted: str, port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        print(f"Forwarding from 127.0.0.1:{door.getsockname()[1]} -> {wanted}", flush=True)
        while True:
            caller, _ = door.accept()
            print(f"Handling connection for {wanted}", flush=True)
            called = socket.create_connection(("127.0.0.1", port))
            for source, sink in ((caller, called), (called, caller)):
                threading.Thread(target=_relay, args=(source, sink), daemon=True).start()


def _relay(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        sink.close()


if __name__ == "__main__":
    sys.exit(main())
