"""The words about pairs and precisions, in English and Italian. Knows no component."""

from __future__ import annotations

from typing import Final

# key: (English, Italian)
ROWS: Final[dict[str, tuple[str, str]]] = {
    # header
    "precision_8bit": ("8-bit", "8 bit"),
    "precision_nf4": ("4-bit NF4", "4 bit NF4"),
    "models": ("Models", "Modelli"),
    "custom_pair": ("your own …", "i tuoi …"),
    "custom_target": ("Target model", "Modello"),
    "custom_target_placeholder": (
        "hub id owner/name, folder or GGUF file",
        "id dell'hub owner/name, cartella o file GGUF",
    ),
    "custom_draft": ("Draft model", "Modello di bozza"),
    "custom_draft_placeholder": (
        "of the same family; empty: n-gram lookup only",
        "della stessa famiglia; vuoto: solo n-grammi",
    ),
    # settings
    "quantize": ("Quantize", "Quantizza"),
    "quantize_info": ("in 8-bit and 4-bit", "a 8 e a 4 bit"),
    "quantize_both": ("both models", "entrambi"),
    "quantize_target": ("target", "modello"),
    "quantize_draft": ("draft", "bozza"),
    "strict": ("Strict: equal shape", "Rigoroso: stessa forma"),
    "strict_info": (
        "The normal lane computes as many rows a token as a verification, so that rounding cannot part the "
        "lanes. It gets slower: the speedup of a strict race is none over normal decoding.",
        "La corsia normale calcola per ogni token tante righe quante una verifica, così l'arrotondamento "
        "non separa le corsie. Diventa più lenta: l'accelerazione non vale rispetto alla decodifica normale.",
    ),
    "strict_speedup": (
        "strict: over a normal lane slowed by its extra rows",
        "rigoroso: su una corsia normale rallentata dalle righe in più",
    ),
    "double_quantization": ("Double quantization", "Doppia quantizzazione"),
    "double_quantization_info": (
        "4-bit: rounds the scales too, a little smaller",
        "4 bit: arrotonda anche le scale, un po' più piccolo",
    ),
    # a change of precision
    "precision_compared": ("Precision compared", "Precisioni a confronto"),
    "precision_hint": (
        "Change the precision and race again to compare.",
        "Cambia la precisione e ripeti la gara per confrontare.",
    ),
    "precision_faster": (
        "{precision} is faster on this machine: {rate} against {other} tokens/s.",
        "{precision} è più veloce su questa macchina: {rate} contro {other} token/s.",
    ),
    "precision_not_faster": (
        "{precision} is not faster on this machine: {rate} against {other} tokens/s.",
        "{precision} non è più veloce su questa macchina: {rate} contro {other} token/s.",
    ),
    "precision_other_prompt": (
        "The two runs answered different prompts.",
        "Le due corse hanno risposto a testi diversi.",
    ),
    "run_memory": ("Memory, MB", "Memoria, MB"),
    # status
    "status_load_stopped": (
        "Loading stopped; Race starts it again.",
        "Caricamento fermato; Gara lo riprende.",
    ),
}
