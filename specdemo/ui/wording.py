"""Every word on screen, in English and Italian, one row each.

Knows no component and no number. A word in braces is filled in by whoever draws the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LANGUAGES: Final[dict[str, str]] = {"en": "English", "it": "Italiano"}
DEFAULT_LANGUAGE: Final = "en"

# key: (English, Italian)
_ROWS: Final[dict[str, tuple[str, str]]] = {
    # header
    "title": ("Speculative decoding, live", "Decodifica speculativa, dal vivo"),
    "subtitle": (
        "One model answers twice: token by token, and with a draft that guesses ahead.",
        "Un modello risponde due volte: un token alla volta, e con una bozza che anticipa.",
    ),
    "weights_note": (
        "The bundled weights are dequantized from a 4-bit Q4_1 file, so “full precision” here "
        "means that file's values.",
        "I pesi inclusi provengono da un file Q4_1 a 4 bit riportato in virgola mobile: qui "
        "«precisione piena» significa i valori di quel file.",
    ),
    "precision": ("Precision", "Precisione"),
    "precision_auto": ("auto", "auto"),
    "precision_float32": ("float32", "float32"),
    "precision_bfloat16": ("bfloat16", "bfloat16"),
    "precision_auto_chose": ("auto ({precision})", "auto ({precision})"),
    "language": ("Language", "Lingua"),
    # prompt
    "prompt": ("Prompt", "Testo di partenza"),
    "prompt_placeholder": (
        "Type a prompt and press Enter",
        "Scrivi un testo e premi Invio",
    ),
    "race": ("Race", "Gara"),
    "stop": ("Stop", "Ferma"),
    "again": ("Again with a new seed", "Ancora, con un altro seme"),
    "examples": ("Examples (press again for another)", "Esempi (premi ancora per un altro)"),
    "example_chat": ("Chat", "Conversazione"),
    "example_translation": ("Translation", "Traduzione"),
    "example_content": ("Content", "Contenuti"),
    "example_game": ("Game character", "Personaggio di gioco"),
    "example_code": ("Code", "Codice"),
    "example_tutorial": ("Tutorial", "Tutorial"),
    "follow_up": ("Follow-up", "Continua"),
    "follow_up_placeholder": (
        "Follow-up, after a chat answer",
        "Altra domanda, dopo una risposta",
    ),
    "ask": ("Ask", "Chiedi"),
    # settings
    "settings": ("Settings", "Impostazioni"),
    "mode": ("Mode", "Modo"),
    "mode_chat": ("chat", "chat"),
    "mode_completion": ("completion", "completamento"),
    "draft_source": ("Draft source", "Fonte delle bozze"),
    "draft_model": ("small model", "modello piccolo"),
    "draft_ngram": ("n-gram lookup", "ricerca di n-grammi"),
    "draft_hybrid": ("n-gram, else small model", "n-grammi, altrimenti modello piccolo"),
    "draft_none": ("none", "nessuna"),
    "draft_length": ("Draft length", "Lunghezza della bozza"),
    "length_adaptive": ("as far as it pays", "finché conviene"),
    "length_fixed": ("fixed", "fissa"),
    "length_heuristic": ("grows and shrinks", "cresce e cala"),
    "length_confidence": ("until the draft is unsure", "finché la bozza è sicura"),
    "num_draft_tokens_info": (
        "when fixed, or at the start of growing",
        "se fissa, o all'inizio se cresce",
    ),
    "num_draft_tokens": ("Draft tokens per round", "Token di bozza per turno"),
    "temperature": ("Temperature", "Temperatura"),
    "temperature_info": (
        "0: always the likeliest token",
        "0: sempre il token più probabile",
    ),
    "top_k": ("Top-k", "Top-k"),
    "top_k_info": ("0: off", "0: spento"),
    "top_p": ("Top-p", "Top-p"),
    "top_p_info": ("1: off", "1: spento"),
    "repetition_penalty": ("Repetition penalty", "Penalità di ripetizione"),
    "repetition_penalty_info": ("1: off", "1: spenta"),
    "seed": ("Seed", "Seme"),
    "seed_info": (
        "matters only above temperature 0",
        "conta solo con temperatura sopra 0",
    ),
    "max_new_tokens": ("Max new tokens", "Nuovi token al massimo"),
    "order": ("Order", "Ordine"),
    "order_race": ("race", "gara"),
    "order_one_after_another": ("one after another", "uno dopo l'altro"),
    "system_prompt": ("System prompt", "Istruzioni di sistema"),
    "system_prompt_placeholder": ("the model's own default", "quelle proprie del modello"),
    # lanes
    "lane_normal": ("Normal", "Normale"),
    "lane_normal_sub": ("one token per target pass", "un token per passata"),
    "lane_speculative": ("Speculative", "Speculativa"),
    "lane_speculative_sub": (
        "draft ahead, judge all in one pass",
        "più token proposti, una passata per giudicarli",
    ),
    "tokens_per_second": ("tokens/s", "token/s"),
    "seconds": ("seconds", "secondi"),
    "first_token": ("first token", "primo token"),
    "tokens": ("tokens", "token"),
    "copy": ("Copy", "Copia"),
    "copied": ("Copied", "Copiato"),
    "final_only": ("Final text only", "Solo il testo finale"),
    "answer_of": ("Answer, {lane}", "Risposta, {lane}"),
    "empty_lane": ("The answer appears here.", "La risposta appare qui."),
    "you": ("You", "Tu"),
    "model": ("Model", "Modello"),
    "end_of_text": ("end of text", "fine del testo"),
    "several_tokens": ("{count} tokens, one character", "{count} token, un carattere"),
    # comparison
    "speedup": ("Speedup", "Accelerazione"),
    "so_far": ("so far", "finora"),
    "faster": ("faster than normal decoding", "più veloce della decodifica normale"),
    "slower": ("slower than normal decoding", "più lenta della decodifica normale"),
    "acceptance_rate": ("Acceptance rate", "Tasso di accettazione"),
    "acceptance_rate_sub": (
        "{accepted} of {tested} judged drafts",
        "{accepted} bozze su {tested} giudicate",
    ),
    "mean_acceptance_length": ("Tokens per target pass, τ", "Token per passata, τ"),
    "mean_acceptance_length_sub": ("1.00 in the normal lane", "1,00 nella corsia normale"),
    "output": ("Output", "Risultato"),
    "output_waiting": ("compared token for token", "confrontato token per token"),
    "output_same_so_far": ("Same output so far", "Finora identico"),
    "output_same": ("Same output, token for token", "Identico, token per token"),
    "output_differs": (
        "Differs from token {index} on",
        "Diverso dal token {index} in poi",
    ),
    "output_differs_tie": (
        "In low precision a near-tie between two tokens can fall either way.",
        "In bassa precisione un quasi pareggio fra due token può finire in un modo o nell'altro.",
    ),
    "output_sampling": (
        "Sampling: both follow the same distribution, so they need not agree word for word.",
        "Campionamento: le due seguono la stessa distribuzione, non le stesse parole.",
    ),
    "best_normal": (
        "Fastest normal here ({precision}): {rate} tokens/s; speedup over it {speedup}",
        "Normale più veloce qui ({precision}): {rate} token/s; accelerazione su questa {speedup}",
    ),
    "environment": (
        "{pair} · {device} · {processor} · {threads} threads · {precision} · {versions}",
        "{pair} · {device} · {processor} · {threads} thread · {precision} · {versions}",
    ),
    # legend and verdict
    "legend": ("Legend", "Legenda"),
    "state_pending": ("pending", "in attesa"),
    "state_pending_sub": ("drafted, not judged yet", "proposto, non ancora giudicato"),
    "state_accepted": ("accepted", "accettato"),
    "state_accepted_sub": ("judged and kept", "giudicato e tenuto"),
    "state_rejected": ("rejected", "rifiutato"),
    "state_rejected_sub": ("judged and refused", "giudicato e scartato"),
    "state_untested": ("untested", "non giudicato"),
    "state_untested_sub": ("after the first refusal", "dopo il primo rifiuto"),
    "state_resampled": ("resampled", "ricampionato"),
    "state_resampled_sub": ("in place of the refused", "al posto del rifiutato"),
    "state_bonus": ("bonus", "omaggio"),
    "state_bonus_sub": ("free when all were kept", "gratis se tutti tenuti"),
    "seam_sub": ("end of a round", "fine di un turno"),
    "state_normal": ("normal", "normale"),
    "verdict_hint": (
        "Point at a token, or reach it with Tab and the arrow keys, to see its verdict.",
        "Indica un token, o raggiungilo con Tab e le frecce, per vederne il verdetto.",
    ),
    "verdict_accepted": (
        "Kept: the draw u does not exceed min(1, p/q).",
        "Tenuto: il sorteggio u non supera min(1, p/q).",
    ),
    "verdict_rejected": (
        "Refused: the draw u exceeds min(1, p/q).",
        "Scartato: il sorteggio u supera min(1, p/q).",
    ),
    "verdict_untested": (
        "Nobody judged it: an earlier draft of this round was refused.",
        "Nessuno l'ha giudicato: una bozza precedente del turno è stata scartata.",
    ),
    "verdict_resampled": (
        "Drawn from what the target likes more than the draft did, max(0, p - q), in place of the "
        "refused token.",
        "Estratto da ciò che il modello preferisce più della bozza, max(0, p - q), al posto del "
        "token scartato.",
    ),
    "verdict_bonus": (
        "All drafts were kept, so the same pass gives one more token for free.",
        "Tutte le bozze sono state tenute: la stessa passata regala un token in più.",
    ),
    "verdict_normal": (
        "One token from one target pass; nothing was drafted.",
        "Un token da una passata del modello; nessuna bozza.",
    ),
    "verdict_greedy_accepted": (
        "Kept: it is the target's likeliest token too.",
        "Tenuto: è anche il token più probabile per il modello.",
    ),
    "verdict_greedy_rejected": (
        "Refused: the target's likeliest token is another one.",
        "Scartato: il token più probabile per il modello è un altro.",
    ),
    "verdict_greedy_resampled": (
        "The target's own likeliest token, in place of the refused one.",
        "Il token più probabile per il modello, al posto di quello scartato.",
    ),
    "verdict_q": ("draft q", "bozza q"),
    "verdict_p": ("target p", "modello p"),
    "verdict_threshold": ("min(1, p/q)", "min(1, p/q)"),
    "verdict_draw": ("draw u", "sorteggio u"),
    "round": ("round {index}", "turno {index}"),
    # charts
    "chart_latency": ("How long does it take?", "Quanto tempo ci vuole?"),
    "chart_first_token": ("Time to first token, s", "Tempo al primo token, s"),
    "chart_per_token": ("Time per output token, ms", "Tempo per token, ms"),
    "chart_total": ("Total, s", "Totale, s"),
    "chart_speed": ("How many tokens per second?", "Quanti token al secondo?"),
    "chart_rate": ("tokens per second", "token al secondo"),
    "chart_mean": ("{lane}, mean so far", "{lane}, media finora"),
    "chart_recent": ("{lane}, last {window} s", "{lane}, ultimi {window} s"),
    "chart_memory": ("How much memory does it hold?", "Quanta memoria occupa?"),
    "chart_target_weights": ("target weights", "pesi del modello"),
    "chart_draft_weights": ("draft weights", "pesi della bozza"),
    "chart_target_cache": ("target KV cache", "cache KV del modello"),
    "chart_draft_cache": ("draft KV cache", "cache KV della bozza"),
    "chart_peak": ("measured peak", "picco misurato"),
    "not_measured": ("not measured yet", "non ancora misurato"),
    # runs
    "runs": ("Runs of this visit", "Corse di questa visita"),
    "runs_empty": ("No run yet.", "Ancora nessuna corsa."),
    "run_time": ("Time", "Ora"),
    "run_prompt": ("Prompt", "Testo"),
    "run_source": ("Draft source", "Bozze"),
    "run_normal": ("Normal, tokens/s", "Normale, token/s"),
    "run_speculative": ("Speculative, tokens/s", "Speculativa, token/s"),
    # status
    "status_ready": ("Ready.", "Pronto."),
    "status_loading": ("Loading the models …", "Carico i modelli …"),
    "status_waiting": ("Waiting for the device …", "Aspetto il mio turno …"),
    "status_running": ("Racing …", "Gara in corso …"),
    "status_measuring": (
        "Measuring normal decoding in this machine's fastest precision …",
        "Misuro la decodifica normale nella precisione più veloce di questa macchina …",
    ),
    "status_stopping": (
        "Stopping after this pass …",
        "Mi fermo dopo questa passata …",
    ),
    "status_stopped": (
        "Stopped; the numbers cover what was done.",
        "Fermato; i numeri coprono ciò che è stato fatto.",
    ),
    "status_finished": ("Finished.", "Finito."),
    "status_finished_faster": (
        "Finished: speculative decoding was {speedup} times as fast.",
        "Finito: la decodifica speculativa è stata {speedup} volte più veloce.",
    ),
    "status_finished_slower": (
        "Finished: speculative decoding was slower, at {speedup} times the normal speed.",
        "Finito: la decodifica speculativa è stata più lenta, {speedup} volte la velocità normale.",
    ),
    "status_unexpected": (
        "Something unexpected went wrong; the details are in the server's log. You can race again.",
        "Qualcosa è andato storto; i dettagli sono nel registro del server. Puoi riprovare.",
    ),
    "number_missing": (
        "Fill in every number in the settings.",
        "Compila tutti i numeri nelle impostazioni.",
    ),
}


def words(language: str) -> Mapping[str, str]:
    """All words of a language; English for a language that is not spoken here."""
    column = 1 if language == "it" else 0
    return {key: row[column] for key, row in _ROWS.items()}


def preferred_language(accept_language: str) -> str:
    """The spoken language that an Accept-Language header ranks first."""
    ranked = sorted(map(_tag_and_weight, accept_language.split(",")), key=lambda tag: -tag[1])
    spoken = [tag for tag, weight in ranked if tag in LANGUAGES and weight > 0]
    return spoken[0] if spoken else DEFAULT_LANGUAGE


def _tag_and_weight(entry: str) -> tuple[str, float]:
    tag, _, weight = entry.partition(";q=")
    try:
        return tag.strip().lower()[:2], float(weight or 1)
    except ValueError:
        return tag.strip().lower()[:2], 0.0
