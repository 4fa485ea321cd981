"""Which pair a request runs on, and whether it may. Loads nothing."""

from __future__ import annotations

from dataclasses import replace

from specdemo.errors import InvalidRequestError
from specdemo.models.catalog import find_pair, is_custom
from specdemo.models.loading import LoadedSpec, resolve_device, resolve_precision
from specdemo.session.request import DecodeRequest
from specdemo.settings import Settings
from specdemo.trace import SERVER_PAIR


def check_allowed(pair: str, settings: Settings) -> None:
    """Raises unless the pair is in the catalogue or visitors may name their own.

    Servers are never for these: whatever needs the models themselves cannot have them.
    """
    if pair == SERVER_PAIR:
        raise InvalidRequestError(
            "This needs the models on this machine, and a server keeps its own; choose another "
            "pair."
        )
    names = settings.pairs
    if names is not None and not is_custom(pair) and pair not in names:
        raise InvalidRequestError(
            f"This server runs only {', '.join(names)}; choose one of them, or start your own copy "
            f"with SPECDEMO_PAIRS={pair}."
        )
    if is_custom(pair) and not settings.allow_custom_models:
        raise InvalidRequestError(
            "This server runs only the pairs of its catalogue; choose one, or start your own copy "
            "with SPECDEMO_ALLOW_CUSTOM_MODELS=1."
        )


def loaded_spec(
    pair: str,
    precision: str,
    device: str,
    quantize: str = "both",
    double_quantization: bool = False,
) -> LoadedSpec:
    """What `auto` stands for on this machine; full precision has nothing to quantize."""
    actual_device = resolve_device(device)
    spec = LoadedSpec(find_pair(pair), actual_device, resolve_precision(precision, actual_device))
    if not spec.is_quantized:
        return spec
    is_double = double_quantization and spec.precision == "nf4"
    return replace(spec, quantize=quantize, double_quantization=is_double)


def spec_of(request: DecodeRequest) -> LoadedSpec:
    """The pair that a request runs on."""
    return loaded_spec(
        request.pair,
        request.precision,
        request.device,
        request.quantize,
        request.double_quantization,
    )
