"""Writes the bundled target and a draft as folders that vLLM, or anything else, can serve.

    python scripts/export_for_servers.py FOLDER                    FOLDER/target and FOLDER/draft
    python scripts/export_for_servers.py FOLDER --draft MY_DRAFT   a plain Llama draft of your own

A draft becomes a whole `LlamaForCausalLM`: the target's embedding and head are put in place, which
drafts distilled from it do without. The bundled draft is no plain Llama: before its layer 2 it
reads the target's hidden state, it proposes from 8,192 tokens and is held in int8. Exported, it
loses all three, and is kept less often than on the page.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from specdemo.models.catalog import SMOLLM2_135M, BundledModelSpec
from specdemo.models.conversion import converted_folder
from specdemo.session.race import run_through
from specdemo.settings import read_settings

EMBEDDING = "model.embed_tokens.weight"
FEATURE_KEYS = ("target_feature_size", "target_feature_layer", "draft_vocab_size")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


def export_target(output: Path) -> None:
    """The target's converted folder, without the manifest of our cache."""
    target = SMOLLM2_135M.target
    assert isinstance(target, BundledModelSpec)
    folder = run_through(converted_folder(target, read_settings().cache_folder))
    shutil.copytree(
        folder, output, dirs_exist_ok=True, ignore=shutil.ignore_patterns("manifest.json")
    )


def export_draft(draft: Path, target: Path, output: Path) -> None:
    """A draft's layers with the target's embedding, head and tokenizer, in float32."""
    config = LlamaConfig.from_pretrained(draft)
    for key in FEATURE_KEYS:
        if hasattr(config, key):
            delattr(config, key)
    config.dtype = torch.float32
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    state = {
        name: weight.float()
        for name, weight in load_file(draft / "model.safetensors").items()
        if name in model.state_dict()
    }
    with safe_open(target / "model.safetensors", "pt") as weights:
        state.setdefault(EMBEDDING, weights.get_tensor(EMBEDDING).float())
    missing = set(model.state_dict()) - set(state) - {"lm_head.weight"}
    if missing:
        raise SystemExit(f"{draft} is no Llama draft: it lacks {', '.join(sorted(missing))}.")
    model.load_state_dict(state, strict=False, assign=True)
    model.tie_weights()
    model.save_pretrained(output)
    for name in TOKENIZER_FILES:
        shutil.copy(target / name, output / name)


def main() -> None:
    """Write both folders."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where to write; 1.2 GB")
    parser.add_argument(
        "--draft", type=Path, default=SMOLLM2_135M.draft.path, help="config.json, model.safetensors"
    )
    options = parser.parse_args()
    export_target(options.folder / "target")
    export_draft(options.draft, options.folder / "target", options.folder / "draft")
    print(f"{options.folder}/target and {options.folder}/draft")


if __name__ == "__main__":
    main()
