"""The folded settings. Knows no event."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from specdemo.settings import Limits
from specdemo.ui.form import DEFAULTS, DRAFT_LENGTHS, DRAFT_SOURCES, MODES, ORDERS, QUANTIZE
from specdemo.ui.labels import Labels


@dataclass(frozen=True, slots=True)
class SettingsFields:
    """The folded settings, in the order of `handlers.Form`."""

    mode: gr.Radio
    draft_source: gr.Dropdown
    draft_length: gr.Dropdown
    num_draft_tokens: gr.Slider
    temperature: gr.Slider
    top_k: gr.Number
    top_p: gr.Slider
    repetition_penalty: gr.Slider
    seed: gr.Number
    max_new_tokens: gr.Slider
    order: gr.Radio
    system_prompt: gr.Textbox
    quantize: gr.Radio
    double_quantization: gr.Checkbox
    strict: gr.Checkbox


def draw_settings(labels: Labels) -> SettingsFields:
    """All settings, in an accordion that starts closed."""
    limits, default = Limits(), DEFAULTS
    with labels.make(gr.Accordion, {"label": "settings"}, open=False, elem_id="sd-settings"):
        with gr.Row():
            mode = labels.make(gr.Radio, {"label": "mode", "choices": MODES}, value="chat")
            order = labels.make(
                gr.Radio, {"label": "order", "choices": ORDERS}, value=default.order
            )
            source = labels.make(
                gr.Dropdown,
                {"label": "draft_source", "choices": DRAFT_SOURCES},
                value=default.draft_source,
            )
            length = labels.make(
                gr.Dropdown,
                {"label": "draft_length", "choices": DRAFT_LENGTHS},
                value=default.draft_length,
            )
            num_draft_tokens = _slider(
                labels,
                "num_draft_tokens",
                default.num_draft_tokens,
                bounds=(1, limits.num_draft_tokens),
                step=1,
                has_info=True,
            )
        with gr.Row():
            max_new_tokens = _slider(
                labels,
                "max_new_tokens",
                default.max_new_tokens,
                bounds=(1, limits.new_tokens),
                step=1,
            )
            temperature = _slider(
                labels,
                "temperature",
                default.temperature,
                bounds=(0, 2),
                step=0.05,
                has_info=True,
            )
            penalty = _slider(
                labels,
                "repetition_penalty",
                default.repetition_penalty,
                bounds=(1, 2),
                step=0.01,
                has_info=True,
            )
        with gr.Row():
            top_p = _slider(
                labels, "top_p", default.top_p, bounds=(0.01, 1), step=0.01, has_info=True
            )
            top_k = _number(labels, "top_k", default.top_k)
            seed = _number(labels, "seed", default.seed)
        with gr.Row():
            quantize = labels.make(
                gr.Radio,
                {"label": "quantize", "info": "quantize_info", "choices": QUANTIZE},
                value=default.quantize,
            )
            double = labels.make(
                gr.Checkbox,
                {"label": "double_quantization", "info": "double_quantization_info"},
                value=default.double_quantization,
            )
            strict = labels.make(
                gr.Checkbox, {"label": "strict", "info": "strict_info"}, value=default.strict
            )
        system_prompt = labels.make(
            gr.Textbox,
            {"label": "system_prompt", "placeholder": "system_prompt_placeholder"},
            max_length=limits.prompt_characters,
        )
    return SettingsFields(
        mode=mode,
        draft_source=source,
        draft_length=length,
        num_draft_tokens=num_draft_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        repetition_penalty=penalty,
        seed=seed,
        max_new_tokens=max_new_tokens,
        order=order,
        system_prompt=system_prompt,
        quantize=quantize,
        double_quantization=double,
        strict=strict,
    )


def _slider(
    labels: Labels,
    name: str,
    value: float,
    *,
    bounds: tuple[float, float],
    step: float,
    has_info: bool = False,
) -> gr.Slider:
    keys = {"label": name, "info": f"{name}_info"} if has_info else {"label": name}
    low, high = bounds
    return labels.make(
        gr.Slider, keys, minimum=low, maximum=high, step=step, value=value, min_width=220
    )


def _number(labels: Labels, name: str, value: int) -> gr.Number:
    keys = {"label": name, "info": f"{name}_info"}
    return labels.make(gr.Number, keys, value=value, precision=0, min_width=160)
