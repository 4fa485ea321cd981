"""What each number means, by the name that the command line and the files give it."""

from typing import Final

# key: (English, Italian)
ROWS: Final[dict[str, tuple[str, str]]] = {
    "define_tokens_per_second": (
        "tokens_per_second: tokens of the answer ÷ seconds on this run's own clock, prompt included",
        "tokens_per_second: token della risposta ÷ secondi dell'orologio di questa corsa, testo di partenza incluso",
    ),
    "define_seconds": (
        "seconds: time spent computing this run; drawing and waiting are not in it",
        "seconds: tempo di calcolo di questa corsa, senza disegno né attese",
    ),
    "define_first_token": (
        "time_to_first_token_seconds: reading the prompt and the first round",
        "time_to_first_token_seconds: lettura del testo e primo turno",
    ),
    "define_tokens": (
        "num_output_tokens: tokens of the answer, the end token included",
        "num_output_tokens: token della risposta, quello di fine incluso",
    ),
    "define_speedup": (
        "speedup: tokens per second, speculative ÷ normal",
        "speedup: token al secondo, speculativa ÷ normale",
    ),
    "define_acceptance_rate": (
        "acceptance_rate α: draft tokens kept ÷ draft tokens judged; untested ones do not count",
        "acceptance_rate α: token di bozza tenuti ÷ giudicati; i non giudicati non contano",
    ),
    "define_mean_acceptance_length": (
        "mean_acceptance_length τ: tokens of the answer ÷ target passes, bonus included",
        "mean_acceptance_length τ: token della risposta ÷ passate del modello, omaggio incluso",
    ),
    "define_output": (
        "same_output: whether both answers agree, token for token; meaningful only for greedy runs",
        "same_output: se le due risposte coincidono token per token; ha senso solo con temperatura 0",
    ),
}
