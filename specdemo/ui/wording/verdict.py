"""Words of a token's verdict."""

from typing import Final

# key: (English, Italian)
ROWS: Final[dict[str, tuple[str, str]]] = {
    "verdict_hint": (
        "Click a token, or reach it with Tab and the arrow keys, to see how it was judged.",
        "Clicca un token, o raggiungilo con Tab e le frecce, per vedere come è stato giudicato.",
    ),
    "verdict_accepted": (
        "Kept: the draw u = {draw} lies below min(1, p/q) = {threshold}.",
        "Tenuto: il sorteggio u = {draw} sta sotto min(1, p/q) = {threshold}.",
    ),
    "verdict_rejected": (
        "Refused: the draw u = {draw} does not lie below min(1, p/q) = {threshold}.",
        "Rifiutato: il sorteggio u = {draw} non sta sotto min(1, p/q) = {threshold}.",
    ),
    "verdict_untested": (
        "Nobody judged it: an earlier token of this draft was refused.",
        "Nessuno l'ha giudicato: un token precedente di questa bozza è stato rifiutato.",
    ),
    "verdict_untested_end": (
        "Nobody judged it: the text had already ended.",
        "Nessuno l'ha giudicato: il testo era già finito.",
    ),
    "verdict_resampled": (
        "Drawn in place of the refused token from what the target likes more than the draft did, max(0, p − q).",
        "Estratto al posto del token rifiutato da ciò che il modello preferisce più della bozza, max(0, p − q).",
    ),
    "verdict_bonus": (
        "All {kept} draft tokens were kept, so row {row} of the same pass gives one more, drawn from p.",
        "Tutti i {kept} token di bozza sono stati tenuti: la riga {row} della stessa passata ne dà uno in più, estratto da p.",
    ),
    "verdict_normal": (
        "One token from one target pass, drawn from p; nothing was drafted.",
        "Un token da una passata del modello, estratto da p; nessuna bozza.",
    ),
    "verdict_pending": (
        "Drafted and not judged yet.",
        "In bozza, non ancora giudicato.",
    ),
    "verdict_greedy_accepted": (
        "Kept: it is the target's likeliest token too.",
        "Tenuto: è anche il token più probabile per il modello.",
    ),
    "verdict_greedy_rejected": (
        "Refused: the target's likeliest token here is “{best}”.",
        "Rifiutato: qui il token più probabile per il modello è «{best}».",
    ),
    "verdict_greedy_resampled": (
        "The target's own likeliest token, in place of the refused one.",
        "Il token più probabile per il modello, al posto di quello rifiutato.",
    ),
    "verdict_greedy_bonus": (
        "All {kept} draft tokens were kept, so row {row} of the same pass gives one more: the target's likeliest.",
        "Tutti i {kept} token di bozza sono stati tenuti: la riga {row} della stessa passata ne dà uno in più, il più probabile.",
    ),
    "verdict_greedy_normal": (
        "The target's likeliest token, from one pass; nothing was drafted.",
        "Il token più probabile per il modello, da una passata; nessuna bozza.",
    ),
    "verdict_copied": (
        "Copied from token {position} of the text, after “{before}”.",
        "Copiato dal token {position} del testo, dopo «{before}».",
    ),
    "verdict_looked_up": (
        "Looked up: in texts that the target wrote, it followed these tokens {share} of the time.",
        "Cercato: nei testi scritti dal modello seguiva questi token nel {share} dei casi.",
    ),
    "verdict_round": ("round {round}, place {place}", "turno {round}, posto {place}"),
    "verdict_q": ("draft q", "bozza q"),
    "verdict_p": ("target p", "modello p"),
    "verdict_residual": ("max(0, p − q)", "max(0, p − q)"),
    "verdict_threshold": ("accepts below min(1, p/q)", "accetta sotto min(1, p/q)"),
    "verdict_draw": ("the draw u", "il sorteggio u"),
    "verdict_token": ("token", "token"),
    "verdict_greedy_note": (
        "Probabilities before greedy choice.",
        "Probabilità prima della scelta del più probabile.",
    ),
    "verdict_drafted": ("drafted", "in bozza"),
    "verdict_drawn": ("chosen", "scelto"),
    "verdict_unknown": ("not among the top {count}", "non tra i primi {count}"),
}
