"""Words about races between servers, in English and Italian. Knows no component."""

from __future__ import annotations

from typing import Final

# key: (English, Italian)
ROWS: Final[dict[str, tuple[str, str]]] = {
    "servers": ("vLLM servers", "server vLLM"),
    "draft_server": ("the server's own", "quella del server"),
    "environment_served": (
        "{pair} · {device} · {processor} · {precision} · {versions}",
        "{pair} · {device} · {processor} · {precision} · {versions}",
    ),
    "served_clock": (
        "Times are this client's: from the request to each arrival, network included.",
        "I tempi sono di questo client: dalla richiesta a ogni arrivo, rete compresa.",
    ),
    "served_known": (
        "The server tells how many drafts it refused, not which: each ◌ stands for one, ◌×3 for three.",
        "Il server dice quante bozze ha rifiutato, non quali: ogni ◌ ne indica una, ◌×3 tre.",
    ),
    "served_kept": (
        "The server leaves out passes without a draft, so passes that refused a whole draft have no place "
        "here; they are counted. Each ◌ is a refused draft, ◌×3 three.",
        "Il server tace le passate senza bozza: quelle che hanno rifiutato una bozza intera qui non hanno "
        "posto, ma sono contate. Ogni ◌ è una bozza rifiutata, ◌×3 tre.",
    ),
    "served_not_told": (
        "No colours: the server does not tell the fate of its drafts; start it with "
        "--per-request-spec-decode-metrics detailed (vLLM 0.30 or newer).",
        "Senza colori: il server non dice la sorte delle bozze; avvialo con "
        "--per-request-spec-decode-metrics detailed (vLLM 0.30 o più recente).",
    ),
    "served_not_fitting": (
        "No colours: it cannot be told which pass wrote which tokens, because some arrived together or "
        "not all passes are told.",
        "Senza colori: non si può dire quale passata ha scritto quali token, perché alcuni sono arrivati "
        "insieme o non tutte le passate sono dette.",
    ),
    "served_no_texts": (
        "No colours: the server does not tell the texts of single tokens (/detokenize).",
        "Senza colori: il server non dice i testi dei singoli token (/detokenize).",
    ),
    "served_no_drafts": (
        "The server drafted nothing for this answer.",
        "Per questa risposta il server non ha proposto niente.",
    ),
    "served_counters_agree": (
        "The server's counters for all requests moved by the same numbers of drafts.",
        "I contatori del server per tutte le richieste sono cresciuti delle stesse bozze.",
    ),
    "served_counters_differ": (
        "The server's counters for all requests did not move by what it told of this answer.",
        "I contatori del server per tutte le richieste non sono cresciuti di quanto detto per questa risposta.",
    ),
    "served_normal_times": (
        "By the normal server's own clock: queued {queue} s, first token {first} s, the rest {rest} s.",
        "Per l'orologio del server normale: in coda {queue} s, primo token {first} s, il resto {rest} s.",
    ),
    "served_speculative_times": (
        "By the speculative server's own clock: queued {queue} s, first token {first} s, the rest {rest} s.",
        "Per l'orologio del server speculativo: in coda {queue} s, primo token {first} s, il resto {rest} s.",
    ),
    "served_memory": (
        "{cache} MB reserved for the caches of all requests; the rest is not reported",
        "{cache} MB riservati alle cache di tutte le richieste; il resto non è comunicato",
    ),
    "timeline_said_served": (
        "{lane}, round {round}: {drafted} drafted, {kept} kept, {tokens} out; waited {waited} ms",
        "{lane}, turno {round}: {drafted} in bozza, {kept} tenuti, {tokens} usciti; attesa {waited} ms",
    ),
    "why_served": (
        "Speculative decoding was {speedup} times as fast as normal decoding, seen from here. What a pass costs "
        "inside the server is not observed.",
        "Vista da qui, la decodifica speculativa è stata {speedup} volte più veloce di quella normale. Quanto "
        "costa una passata dentro il server non si osserva.",
    ),
    "verdict_served": (
        "The server judged it and tells only its fate: the probabilities and the draw stay there.",
        "L'ha giudicato il server, che ne dice solo la sorte: probabilità ed estrazione restano lì.",
    ),
    "unknown_tokens": ("{count} tokens whose text is not known", "{count} token di testo ignoto"),
}
