"""The few calls to the Kubernetes API that a submission makes, with the pod's own service account."""

import json
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TIMEOUT_S = 30


class Pods:
    def __init__(self, api_server: str, namespace: str, account: Path = ACCOUNT) -> None:
        self.api_server = api_server
        self.namespace = namespace
        self._token = account / "token"
        self._context = ssl.create_default_context(cafile=str(account / "ca.crt"))

    @classmethod
    def in_cluster(cls) -> "Pods":
        host = os.environ["KUBERNETES_SERVICE_HOST"]
        bracketed = f"[{host}]" if ":" in host else host
        server = f"https://{bracketed}:{os.environ['KUBERNETES_SERVICE_PORT']}"
        return cls(server, (ACCOUNT / "namespace").read_text().strip())

    def get(self, name: str) -> dict[str, Any] | None:
        try:
            pod: dict[str, Any] = json.loads(self._call("GET", name))
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise
        return pod

    def delete(self, pod: dict[str, Any]) -> None:
        """Ask for the deletion of exactly this pod; one that is gone already is as good."""
        options = {"preconditions": {"uid": pod["metadata"]["uid"]}}
        try:
            self._call("DELETE", pod["metadata"]["name"], options, "application/json")
        except urllib.error.HTTPError as error:
            if error.code not in (404, 409):
                raise

    def set_owner(self, name: str, job_name: str, job_uid: str) -> None:
        """Let the pod, and all that it owns in turn, go when the Job goes."""
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job_name, "uid": job_uid}
        patch = {"metadata": {"ownerReferences": [owner]}}
        self._call("PATCH", name, patch, "application/merge-patch+json")

    def last_lines(self, name: str, count: int) -> str:
        return self._call("GET", f"{name}/log?tailLines={count}").decode(errors="replace")

    def _call(self, method: str, what: str, body: object = None, content_type: str = "") -> bytes:
        # Tokens rotate: read it anew each time.
        headers = {"Authorization": f"Bearer {self._token.read_text().strip()}"}
        if body is not None:
            headers["Content-Type"] = content_type
        url = f"{self.api_server}/api/v1/namespaces/{self.namespace}/pods/{what}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self._context) as answer:
            content: bytes = answer.read()
        return content
