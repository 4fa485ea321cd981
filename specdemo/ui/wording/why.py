"""Words of “why (not) faster?”: one sentence for each finding."""

from typing import Final

# key: (English, Italian)
ROWS: Final[dict[str, tuple[str, str]]] = {
    "why": ("Why (not) faster?", "Perché (non) più veloce?"),
    "why_waiting": (
        "When the race is over, its own numbers say here what decided it.",
        "A gara finita, i suoi stessi numeri dicono qui che cosa l'ha decisa.",
    ),
    "why_nothing": ("Nothing to compare yet.", "Ancora niente da confrontare."),
    "why_no_draft": (
        "Nothing was drafted, so both lanes did the same work: {speedup}×.",
        "Nessuna bozza: le due corsie hanno fatto lo stesso lavoro, {speedup}×.",
    ),
    "why_faster": (
        "Speculative decoding was {speedup} times as fast as normal decoding.",
        "La decodifica speculativa è stata {speedup} volte più veloce di quella normale.",
    ),
    "why_slower": (
        "Speculative decoding was slower than normal decoding: {speedup} times its speed.",
        "La decodifica speculativa è stata più lenta di quella normale: {speedup} volte la sua velocità.",
    ),
    "why_refused": (
        "Refusals: of {drafted} draft tokens a round {kept} were kept. Had all been kept: {without}×.",
        "Rifiuti: di {drafted} token di bozza a turno ne sono rimasti {kept}. Tenendoli tutti: {without}×.",
    ),
    "why_draft_cost": (
        "Drafting took {share} of the run; a draft pass costs {ratio} of a target pass. Were it free: {without}×.",
        "La bozza ha preso {share} della corsa; una sua passata costa {ratio} di quella del modello. Se fosse gratis: {without}×.",
    ),
    "why_verify_cost": (
        "Judging a draft took {ratio} times a one-token pass. Were it one: {without}×.",
        "Giudicare una bozza è costato {ratio} passate da un token. Se ne costasse una: {without}×.",
    ),
    "why_overhead": (
        "Work outside the passes took {share} of the run. Without it: {without}×.",
        "Il lavoro fuori dalle passate ha preso {share} della corsa. Senza: {without}×.",
    ),
    "why_busy": (
        "The machine was busy: one equal pass in ten took {factor} times the median, so these numbers are rough.",
        "La macchina era occupata: una passata su dieci, tutte uguali, è durata {factor} volte la mediana; i numeri sono approssimativi.",
    ),
    "advice_none": (
        "No draft length pays here: set the draft source to none. Expected: {expected}×.",
        "Nessuna lunghezza di bozza conviene qui: scegli nessuna bozza. Previsto: {expected}×.",
    ),
    "advice_length": (
        "Try {length} draft tokens per round. Expected: {expected}×.",
        "Prova {length} token di bozza per turno. Previsto: {expected}×.",
    ),
    "advice_longer": (
        "Reading the prompt, equal in both lanes, weighs much in so short an answer: ask for {tokens} tokens. Expected: {expected}×.",
        "Leggere il testo, uguale nelle due corsie, pesa molto su una risposta così breve: chiedi {tokens} token. Previsto: {expected}×.",
    ),
}
