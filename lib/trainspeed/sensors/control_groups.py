"""The control groups that this process is in: a container's, a job's. Linux; none elsewhere.

Source: https://man7.org/linux/man-pages/man7/cgroups.7.html (/proc/pid/cgroup)
"""

from __future__ import annotations

from pathlib import Path

FILE_SYSTEM = Path("/")


def control_groups(controller: str, root: Path = FILE_SYSTEM) -> list[Path]:
    """Return the folders of a controller's groups, of both versions: each may have a limit. Some may not exist.

    That of this process comes first, then those that it is in. A container may see its own at the top, by whatever name
    the host gives it.
    """
    top = root / "sys/fs/cgroup"
    groups: list[Path] = []
    try:
        # A group's name is whatever bytes its maker gave it.
        lines = (root / "proc/self/cgroup").read_text(errors="surrogateescape").splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "" or controller in controllers.split(","):  # version 2 names none
            own = Path(path.lstrip("/"))
            # Those that are mounted together have a folder of all their names, and as a rule links of each.
            tops = [top / controller, top / controllers] if controllers else [top]
            groups += [one / group for one in tops for group in (own, *own.parents)]
    return list(dict.fromkeys([*groups, top, top / controller]))
