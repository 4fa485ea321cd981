"""The errors a user can meet. Each message is a whole sentence that says the way out.

SpecdemoError
├── InvalidRequestError      a prompt or a number that cannot be run
│   ├── PromptTooLongError   more tokens than the context window holds
│   └── InvalidSuiteError    a file of prompts that cannot be read
├── ResultsFileError         a file of results that cannot be read, written or continued
├── ModelLoadError           a model file that is missing, damaged or unknown
│   ├── PairMismatchError    two models that do not share a tokenizer
│   └── NotEnoughMemoryError weights that do not fit
├── CacheFolderError         no place to keep the converted weights
├── UnsupportedCacheError    a cache that cannot be rolled back
├── ServerError              a server that is down, refuses, or breaks off
├── TraceFileError           a file that holds no trace that can be replayed
└── BadLogitsError           a model that answered with NaN or infinity
"""

from __future__ import annotations


class SpecdemoError(Exception):
    """Anything that is the user's to know and to mend."""


class InvalidRequestError(SpecdemoError):
    """A prompt or a number that cannot be run."""


class PromptTooLongError(InvalidRequestError):
    """A prompt that leaves no room in the context window."""


class InvalidSuiteError(InvalidRequestError):
    """A file of prompts that cannot be read, with the file and the line."""


class ResultsFileError(SpecdemoError):
    """A file of results that cannot be read, written or continued."""


class ModelLoadError(SpecdemoError):
    """A model file that is missing, damaged or unknown."""


class PairMismatchError(ModelLoadError):
    """A draft model that does not share the target's tokenizer."""


class NotEnoughMemoryError(ModelLoadError):
    """Weights that do not fit into free memory."""


class CacheFolderError(SpecdemoError):
    """No place to keep the converted weights."""


class UnsupportedCacheError(SpecdemoError):
    """A cache that cannot be rolled back."""


class BadLogitsError(SpecdemoError):
    """A model that answered with NaN or infinity."""


class ServerError(SpecdemoError):
    """A server that is down, refuses a request, or breaks off its answer."""


class TraceFileError(SpecdemoError):
    """A file that holds no trace that can be replayed."""
