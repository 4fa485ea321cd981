"""From a model's source to its files on this machine. Knows no architecture and no weights.

Only safetensors and GGUF are ever read: a pickle can run code.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from httpx2 import HTTPError  # what the hub's client raises when the network fails
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)
from tqdm.auto import tqdm

from specdemo.errors import ModelLoadError

_TIMEOUT_SECONDS = 10.0
_TOLD_EVERY_SECONDS = 0.5
_UNAUTHORIZED, _FORBIDDEN = 401, 403
_SMALL_FILES = ("*.json", "*.jinja", "*.txt", "tokenizer.model")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model's files are: a folder here, or a repository and the names of its weights."""

    title: str
    folder: Path | None
    repository: str
    weights: tuple[str, ...]

    @property
    def gguf_file(self) -> str | None:
        """The name of the GGUF file, if that is what the weights are."""
        return next((name for name in self.weights if name.endswith(".gguf")), None)


def locate(source: str) -> Source:
    """Find out what a source has to offer; raises `ModelLoadError` that says the way out."""
    path = Path(source).expanduser()
    if path.is_file():
        return Source(path.name, path.parent, "", chosen_weights(path.name, [path.name]))
    if path.is_dir():
        names = sorted(file.name for file in path.iterdir())
        return Source(path.name, path, "", chosen_weights(path.name, names))
    repository, _, wanted = _split(source)
    try:
        info = HfApi().model_info(repository, timeout=_TIMEOUT_SECONDS)
    except (OSError, HTTPError, HFValidationError) as error:
        return _cached(repository, wanted, error)
    names = [sibling.rfilename for sibling in info.siblings or []]
    return Source(repository, None, repository, chosen_weights(repository, names, wanted))


def _split(source: str) -> tuple[str, str, str]:
    """Repository and file of `owner/name/file.gguf`; raises where it can be neither id nor path."""
    found = re.fullmatch(r"([\w.-]+/[\w.-]+)(/)?([\w.-]+\.gguf)?", source)
    if not found or source.startswith((".", "/")):
        raise ModelLoadError(
            f"There is no folder or GGUF file {source}, and it is no hub id like owner/name; "
            "check the spelling."
        )
    return found[1], "/", found[3] or ""


def _cached(repository: str, wanted: str, error: Exception) -> Source:
    """What was downloaded earlier, where the hub does not answer; else that error as ours."""
    if isinstance(error, RepositoryNotFoundError):
        raise hub_error(repository, error) from error
    try:
        folder = Path(snapshot_download(repository, local_files_only=True))
    except (OSError, HTTPError, HFValidationError):
        raise hub_error(repository, error) from error
    names = sorted(file.name for file in folder.iterdir())
    return Source(repository, folder, repository, chosen_weights(repository, names, wanted))


def chosen_weights(title: str, names: Sequence[str], wanted: str = "") -> tuple[str, ...]:
    """The weight files to read; raises `ModelLoadError` where there is none that is safe."""
    top = [name for name in names if "/" not in name]
    sharded = [name for name in top if fnmatch(name, "model*.safetensors")]
    others = [name for name in top if name.endswith(".safetensors")]
    ggufs = [name for name in top if name.endswith(".gguf") and wanted in ("", name)]
    if not wanted and (sharded or others):
        return tuple(sharded or others)
    if len(ggufs) == 1:
        return tuple(ggufs)
    if ggufs:
        raise ModelLoadError(f"{title} has several GGUF files; add one: {', '.join(ggufs)}.")
    if any(name.endswith(_PICKLES) for name in top):
        raise ModelLoadError(
            f"{title} offers its weights only as pickles, which can run code when they are read; "
            "choose a repository with safetensors or GGUF files."
        )
    raise ModelLoadError(
        f"{title} holds no weights as safetensors or GGUF; choose another repository or folder."
    )


def fetch_small_files(source: Source) -> Path:
    """The folder with configuration and tokenizer; the weights of a hub model may be missing."""
    if source.folder:
        return source.folder
    return _download(source.repository, _SMALL_FILES, _Progress())


def fetch_weights(source: Source) -> Generator[str, None, Path]:
    """The folder with everything, telling how far the download is; closing this stops it."""
    if source.folder:
        check_shards(source.folder, source.title)
        return source.folder
    progress, result = _Progress(), _Result()

    def download() -> None:
        try:
            result.folder = _download(source.repository, source.weights, progress)
        except BaseException as error:
            result.error = error

    thread = threading.Thread(target=download, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_TOLD_EVERY_SECONDS)
            if progress.total_bytes:
                yield progress.sentence(source.title)
    finally:
        progress.is_stopped = True
        thread.join()
    if result.error or result.folder is None:
        raise result.error or ModelLoadError(f"The download of {source.title} was stopped.")
    check_shards(result.folder, source.title)
    return result.folder


class _Result:
    """What a download came to."""

    folder: Path | None = None
    error: BaseException | None = None


class _Progress:
    """How far a download is, written by its threads; telling it to stop makes them fail."""

    def __init__(self) -> None:
        self.num_bytes = 0.0
        self.total_bytes = 0.0
        self.is_stopped = False

    def sentence(self, title: str) -> str:
        """How much is here."""
        done, total = self.num_bytes / 1e9, self.total_bytes / 1e9
        return f"Downloading {title}: {done:.2f} of {total:.2f} GB…"

    def bar_class(self) -> type[Any]:
        """A progress bar that draws nothing and reports here."""
        progress = self

        class Bar(tqdm):  # type: ignore[misc]
            def __init__(self, *args: Any, **options: Any) -> None:
                self._counts_bytes = "Reconstructing" in (options.get("desc") or "")
                options.pop("name", None)
                super().__init__(*args, **{**options, "disable": True})

            def update(self, n: float | None = 1) -> bool | None:
                if progress.is_stopped:
                    raise InterruptedError("The download was stopped.")
                if self._counts_bytes:
                    progress.num_bytes += n or 0
                    progress.total_bytes = self.total or progress.total_bytes
                return None

        return Bar


def _download(repository: str, patterns: Sequence[str], progress: _Progress) -> Path:
    try:
        folder = snapshot_download(
            repository,
            allow_patterns=list(patterns),
            etag_timeout=_TIMEOUT_SECONDS,
            tqdm_class=progress.bar_class(),
        )
    except (OSError, HTTPError) as error:
        raise hub_error(repository, error) from error
    return Path(folder)


def check_shards(folder: Path, title: str) -> None:
    """Raises `ModelLoadError` if the index names a file that is not there."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return
    named = set(json.loads(index.read_text())["weight_map"].values())
    missing = sorted(name for name in named if not (folder / name).exists())
    if missing:
        raise ModelLoadError(
            f"{title} is incomplete: {', '.join(missing)} missing; download it again."
        )


def hub_error(repository: str, error: BaseException) -> ModelLoadError:
    """What went wrong with the hub, in one sentence that says the way out."""
    page = f"https://huggingface.co/{repository}"
    if isinstance(error, GatedRepoError):
        return ModelLoadError(
            f"{repository} is gated: accept its licence at {page}, then set HF_TOKEN to a token of "
            "that account and try again."
        )
    if isinstance(error, RepositoryNotFoundError):
        return ModelLoadError(
            f"The hub knows no model {repository} that you may read; check the spelling, or set "
            "HF_TOKEN to a token that may read it."
        )
    code = error.response.status_code if isinstance(error, HfHubHTTPError) else None
    if code in (_UNAUTHORIZED, _FORBIDDEN):
        return ModelLoadError(
            f"The hub refuses {repository} to this account; look at {page} for what it asks, then "
            "set HF_TOKEN to a token that may read it."
        )
    if (
        isinstance(error, OSError)
        and error.errno
        and not isinstance(error, LocalEntryNotFoundError)
    ):
        return ModelLoadError(
            f"The download of {repository} stopped ({error.strerror}); free space or set HF_HOME "
            "to a folder that you may write to, and try again."
        )
    return ModelLoadError(
        f"The hub could not be reached for {repository}, and it is not in the cache; check the "
        "network, or choose the bundled pair, which needs none."
    )
