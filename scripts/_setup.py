"""Makes and renews .venv beside the checkout, with the standard library alone.

`_setup.py --check GROUP`, run by the interpreter of .venv, exits 0 when .venv already holds what GROUP needs;
`_setup.py GROUP` makes it so. A group's stamp is written last and says what was installed, so that an
interrupted run is simply done again. One process at a time works on .venv; the others wait for it.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
GROUPS = {
    "runtime": ("runtime", "build"),
    "test": ("runtime", "build", "test"),
    "lint": ("runtime", "build", "test", "lint"),
    "bench": ("runtime", "build", "bench"),
}


def main(arguments: list[str]) -> int:
    check = arguments[:1] == ["--check"]
    group = arguments[-1] if arguments else "runtime"
    if check:
        return 0 if is_ready(group) and packages_are_for(*sys.version_info[:2]) else 1
    with one_at_a_time() as lock:
        if not (is_ready(group) and works()):
            begun = time.monotonic()
            say(f"setting up .venv ({group}), once ...")
            make_venv(lock)
            install(group, lock)
            say(f"set up in {time.monotonic() - begun:.0f} s")
    return 0


def say(text: str) -> None:
    sys.stderr.write(f"blackboard: {text}\n")
    sys.stderr.flush()


def stamp(group: str) -> Path:
    return VENV / f".installed-{group}"


def wanted(group: str) -> str:
    """What .venv must hold for `group`: a digest of pins, metadata and place.

    The settings of tools in pyproject.toml change nothing that is installed, so they are no part of it.
    """
    digest = hashlib.sha256(f"{ROOT}\n".encode())
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    installed = [metadata["build-system"], metadata["project"], metadata["tool"]["hatch"]]
    digest.update(json.dumps(installed).encode())
    for path in requirement_files(group):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def requirement_files(group: str) -> list[Path]:
    return [ROOT / "requirements" / f"{name}.txt" for name in GROUPS[group]]


def is_ready(group: str) -> bool:
    """A larger group that is up to date serves a smaller one."""
    larger = [name for name, parts in GROUPS.items() if set(parts) >= set(GROUPS[group])]
    return PYTHON.exists() and any(read(stamp(name)) == wanted(name) for name in larger)


def packages_are_for(major: int, minor: int) -> bool:
    """False where the system has replaced the interpreter that .venv was made with by a newer one."""
    return (VENV / "lib" / f"python{major}.{minor}").is_dir()


def read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return None


@contextlib.contextmanager
def one_at_a_time() -> Iterator[int]:
    """The kernel releases the lock when its holders end, however they end: this process, and the ones that it
    hands the lock to, because a `pip` whose parent was killed goes on writing.
    """
    with (ROOT / ".venv.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another set-up of this checkout ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def make_venv(lock: int) -> None:
    """Keeps a virtual environment that works and was made here; anything else is made anew."""
    if read(VENV / ".made-in") == str(ROOT) and works():
        return
    shutil.rmtree(VENV, ignore_errors=True)
    run([sys.executable, "-I", "-m", "venv", str(VENV)], lock)
    (VENV / ".made-in").write_text(str(ROOT), encoding="utf-8")


def install(group: str, lock: int) -> None:
    pins = [argument for path in requirement_files(group) for argument in ("-r", str(path))]
    pip("--require-hashes", *pins, lock=lock)
    pip("--no-deps", "--no-build-isolation", "--editable", str(ROOT), lock=lock)
    target = stamp(group)
    partial = target.with_suffix(".partial")
    partial.write_text(wanted(group), encoding="utf-8")
    partial.replace(target)


def pip(*arguments: str, lock: int) -> None:
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-warn-script-location"]
    run([str(PYTHON), "-I", "-m", "pip", "install", *options, *arguments], lock)


def works() -> bool:
    command = [str(PYTHON), "-I", "-m", "pip", "--version"]
    return PYTHON.exists() and subprocess.run(command, capture_output=True, check=False).returncode == 0


def run(command: list[str], lock: int) -> None:
    """Silent when it works; shows everything that the command printed when it fails."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(),
        text=True,
        check=False,
        pass_fds=[lock],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout)
        say(f"the set-up failed in: {' '.join(command)}")
        sys.exit(2)


def environment() -> dict[str, str]:
    """The caller's environment (proxies, mirrors), less what would install elsewhere or load other code."""
    unwanted = {"PYTHONHOME", "PYTHONPATH", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV", "PIP_TARGET", "PIP_USER"}
    return {name: value for name, value in os.environ.items() if name not in unwanted}


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        say("the set-up was interrupted; the next run does it again")
        sys.exit(130)
