"""The words of the proof."""

from __future__ import annotations

from typing import Final

# key: (English, Italian)
ROWS: Final[dict[str, tuple[str, str]]] = {
    "tab_proof": ("Proof", "Prova"),
    "proof_start": ("Test it", "Metti alla prova"),
    "proof_num_runs": ("Runs of each lane", "Corse per corsia"),
    "proof_break_it": ("Break it: plant a known fault", "Rompilo: introduci un errore noto"),
    "proof_fault_none": ("nothing", "niente"),
    "proof_fault_unwarped_draft": (
        "draft probabilities before temperature, top-k and top-p",
        "probabilità della bozza prima di temperatura, top-k e top-p",
    ),
    "proof_fault_target_replacement": (
        "replacement from the target, not the residual",
        "sostituto preso dal modello, non dal residuo",
    ),
    "proof_fault_argmax_draft": (
        "likeliest draft token, judged as if drawn",
        "token più probabile, giudicato come estratto",
    ),
    "proof_fault_wrong_bonus_row": (
        "bonus token from the wrong row",
        "token in più dalla riga sbagliata",
    ),
    "proof_hint": (
        "Thousands of runs of three tokens, against the probabilities that the target itself gives to "
        "every one of their outcomes.",
        "Migliaia di corse di tre token, a confronto con le probabilità che il modello stesso dà a ogni "
        "loro esito.",
    ),
    "proof_exactly": (
        "The target's exact distribution of the first three tokens …",
        "La distribuzione esatta dei primi tre token secondo il modello …",
    ),
    "proof_running": (
        "{done} of {planned} runs of each lane.",
        "{done} corse su {planned} per corsia.",
    ),
    "proof_done": ("Finished: {done} runs of each lane.", "Finito: {done} corse per corsia."),
    "proof_stopped": (
        "Stopped after {done} of {planned} runs; the test speaks only when all are counted.",
        "Fermato dopo {done} corse su {planned}; la prova dà un verdetto solo alla fine.",
    ),
    # the first difference of a greedy race
    "difference_recomputing": (
        "The answers differ: computing that position anew …",
        "Le risposte differiscono: ricalcolo di quella posizione …",
    ),
    "difference_numerical_tie_short": ("numerical tie", "pareggio numerico"),
    "difference_defect_short": ("defect", "difetto"),
    "difference_unknown_short": ("not classified", "non classificato"),
    "difference_numerical_tie": (
        "Numerical tie: in float32 neither token is more than {behind} behind the likeliest, and rounding "
        "moves logits by up to {rounding} against each other.",
        "Pareggio numerico: in float32 nessuno dei due token è più di {behind} sotto il più probabile, e "
        "l'arrotondamento sposta i logit fino a {rounding} l'uno rispetto all'altro.",
    ),
    "difference_defect": (
        "Defect: in float32 one of the tokens is {behind} behind the likeliest; rounding does not explain "
        "it (it moved logits by up to {rounding} here). Please report it.",
        "Difetto: in float32 uno dei token è {behind} sotto il più probabile; l'arrotondamento non lo "
        "spiega (qui ha spostato i logit fino a {rounding}). Segnalalo.",
    ),
    "difference_unknown": (
        "Not classified: float32 of these weights is not at hand. The shape of the pass moves logits by up "
        "to {rounding} against each other.",
        "Non classificato: questi pesi non sono disponibili in float32. La forma della passata sposta i "
        "logit fino a {rounding} l'uno rispetto all'altro.",
    ),
    "difference_logits": ("Logits at token {index}", "Logit al token {index}"),
    "difference_gap": ("Gap of the top two", "Distacco fra i primi due"),
    "difference_one": ("{precision}, one row", "{precision}, una riga"),
    "difference_several": ("{precision}, {rows} rows", "{precision}, {rows} righe"),
    "difference_float32": ("float32, one row", "float32, una riga"),
    "difference_ended": ("(ended)", "(finita)"),
    # the verdict
    "proof_held": (
        "No difference found: speculative tokens follow the target's own distribution (p = {p}). Their "
        "shares are off by {distance}; {runs} true draws are off by {low} to {high}.",
        "Nessuna differenza: i token speculativi seguono la distribuzione del modello (p = {p}). Le loro "
        "quote si scostano di {distance}; {runs} estrazioni vere si scostano da {low} a {high}.",
    ),
    "proof_rejected": (
        "Rejected: these tokens do not follow the target's distribution (p = {p}). Their shares are off "
        "by {distance}; {runs} true draws are off by {low} to {high}. Please report it.",
        "Respinto: questi token non seguono la distribuzione del modello (p = {p}). Le loro quote si "
        "scostano di {distance}; {runs} estrazioni vere si scostano da {low} a {high}. Segnalalo.",
    ),
    "proof_caught": (
        "Caught: with the fault planted, the output is no longer the target's (p = {p}). Its shares are "
        "off by {distance}; {runs} true draws are off by {low} to {high}.",
        "Scoperto: con l'errore introdotto il risultato non è più quello del modello (p = {p}). Le quote "
        "si scostano di {distance}; {runs} estrazioni vere si scostano da {low} a {high}.",
    ),
    "proof_missed": (
        "Not caught: in this many runs the planted fault does not show (p = {p}). Shares are off by "
        "{distance}; {runs} true draws are off by {low} to {high}. Choose more runs or another prompt.",
        "Non scoperto: in queste corse l'errore introdotto non si vede (p = {p}). Le quote si scostano di "
        "{distance}; {runs} estrazioni vere si scostano da {low} a {high}. Scegli più corse o un altro "
        "testo.",
    ),
    "proof_nothing_to_test": (
        "Nothing to test: after this prompt the target allows a single outcome. Choose another prompt.",
        "Niente da provare: dopo questo testo il modello ammette un solo esito. Scegli un altro testo.",
    ),
    # the numbers
    "proof_p_value": ("p-value, {lane}", "valore p, {lane}"),
    "proof_p_value_sub": (
        "χ² on all three tokens together; rejected below {significance}",
        "χ² sui tre token insieme; respinto sotto {significance}",
    ),
    "proof_distance": ("Total variation, {lane}", "Variazione totale, {lane}"),
    "proof_distance_sub": (
        "by chance {low} to {high} in 95 % of samples",
        "per caso da {low} a {high} nel 95 % dei campioni",
    ),
    "proof_position": ("Token {index}", "Token {index}"),
    "proof_exact": ("exact", "esatta"),
    "proof_others": ("{count} others", "altri {count}"),
    "proof_ended": ("(ended)", "(finita)"),
    "proof_settings": (
        "Top-k {top_k}, temperature {temperature}, top-p {top_p}; up to {draft} draft tokens of the draft "
        "model, as far as {tokens} tokens leave room; seed {seed}. The target allows {outcomes} outcomes.",
        "Top-k {top_k}, temperatura {temperature}, top-p {top_p}; fino a {draft} token del modello di "
        "bozza, per quanto {tokens} token lasciano spazio; seme {seed}. Il modello ammette {outcomes} "
        "esiti.",
    ),
    "proof_remembered": (
        "Every run is the real decoding, with its own draws and verdicts. What is kept from run to run: "
        "forward passes and their warped rows, since the same history gives the same row. {passes} passes "
        "were computed, {seconds} s in all.",
        "Ogni corsa è la vera decodifica, con le sue estrazioni e i suoi verdetti. Fra una corsa e l'altra "
        "restano le passate e le loro righe trasformate, perché la stessa storia dà la stessa riga. "
        "{passes} passate calcolate, {seconds} s in tutto.",
    ),
}
