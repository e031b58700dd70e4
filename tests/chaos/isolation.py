"""Namespaces of the run's own, where they can be made: its network, mounts and processes are gone when it is, however it ends."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from disks import Disk

_INSIDE = "MILLSTREAM_CHAOS_ISOLATED"
_UNSHARE = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
_PROGRAMS = ("unshare", "nsenter", "ip")


def enter(arguments: list[str]) -> str:
    """Go on in new namespaces: does not return if that is possible, else says why it is not; empty inside of them."""
    reason = "" if _INSIDE in os.environ else _refusal()
    if not reason and _INSIDE not in os.environ:
        command = [*_UNSHARE, sys.executable, *arguments]
        os.execvpe(command[0], command, {**os.environ, _INSIDE: "1"})
    return reason


def _refusal() -> str:
    if sys.platform != "linux":
        return "network namespaces are Linux's"
    missing = [program for program in _PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    if os.geteuid() != 0:
        return "network namespaces need root"
    script = "mkdir -p /run/netns && ip link add chaos-try type bridge && ip netns add chaos-try"
    mount = "mkdir -p /run/netns && mount -t tmpfs none /run/netns"
    tried = subprocess.run([*_UNSHARE, "sh", "-c", f"{mount} && {script}"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"no namespaces here: {tried.stderr.strip()[-200:]}"


def disks_refusal() -> str:
    """Why no file system can be mounted for a broker, or nothing."""
    if _INSIDE not in os.environ:
        return "mounts are made in the run's own namespaces only, and there are none"
    if shutil.which("mkfs.ext4") is None:
        return "mkfs.ext4 is not installed"
    with tempfile.TemporaryDirectory(prefix="millstream-chaos-") as directory:
        disk = Disk(Path(directory), "try")
        try:
            disk.make()
            disk.lose_power()
            disk.remove()
        except (OSError, RuntimeError) as error:
            return str(error)
    return ""
