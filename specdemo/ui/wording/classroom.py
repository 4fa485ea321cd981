"""Words of what a hall needs: links, keys, size, pictures, reports, and two runs side by side."""

from typing import Final

# key: (English, Italian)
ROWS: Final[dict[str, tuple[str, str]]] = {
    "tools_link": ("Copy link", "Copia il link"),
    "tools_linked": ("Link copied", "Link copiato"),
    "tools_picture": ("Picture", "Immagine"),
    "tools_picture_as": ("Picture of the answer, {kind}", "Immagine della risposta, {kind}"),
    "tools_report": ("Report", "Rapporto"),
    "tools_presenter": ("Presenter size", "Formato sala"),
    "tools_keys": ("Keys", "Tasti"),
    "tools_panels": ("Panels", "Riquadri"),
    "panel_normal": ("Normal lane", "Corsia normale"),
    "panel_measures": ("Figures", "Cifre"),
    "panel_legend": ("Legend", "Legenda"),
    "panel_verdict": ("Verdict of a token", "Verdetto di un token"),
    "panel_timeline": ("Timeline", "Linea del tempo"),
    "panel_why": ("Why it came out so", "Perché è andata così"),
    "panel_charts": ("Charts", "Grafici"),
    "panel_precisions": ("Precisions compared", "Confronto fra precisioni"),
    "panel_comparison": ("Comparison with another run", "Confronto con un'altra corsa"),
    "panel_runs": ("Runs of this visit", "Corse di questa visita"),
    # keyboard map
    "keys_title": ("Keyboard", "Tastiera"),
    "keys_close": ("Close", "Chiudi"),
    "keys_help": ("this list", "questo elenco"),
    "keys_escape": ("close this list", "chiude questo elenco"),
    "keys_space": (
        "play and pause the replay, or pause a live race, while no field or button has the focus",
        "avvia e ferma il replay, o mette in pausa una gara, se nessun campo o pulsante è attivo",
    ),
    "keys_clock": (
        "on the replay's clock: previous and next pass",
        "sull'orologio del replay: passata precedente e successiva",
    ),
    "keys_tokens": (
        "in a lane: from token to token, each with its verdict",
        "in una corsia: da un token all'altro, ognuno con il suo verdetto",
    ),
    "keys_ends": ("in a lane: first and last token", "in una corsia: primo e ultimo token"),
    "keys_rounds": (
        "on the timeline: from round to round",
        "sulla linea del tempo: da un turno all'altro",
    ),
    "keys_lanes": ("on the timeline: the other lane", "sulla linea del tempo: l'altra corsia"),
    "keys_enter": (
        "on the timeline: to the round's tokens; in the prompt: race",
        "sulla linea del tempo: ai token del turno; nel testo: gara",
    ),
    # comparison of two runs
    "compare": ("Compare with another run", "Confronta con un'altra corsa"),
    "compare_hint": (
        "Choose a recorded run or open a file: its figures and its speed stand beside those of the run on screen.",
        "Scegli una corsa registrata o apri un file: le sue cifre e la sua velocità stanno accanto a quelle della corsa sullo schermo.",
    ),
    "compare_no_run": (
        "There is no run on screen to compare with; race or choose a recorded run first.",
        "Non c'è una corsa sullo schermo da confrontare; fai una gara o scegli una corsa registrata.",
    ),
    "compare_this": ("Run on screen", "Corsa sullo schermo"),
    "compare_other": ("Other run", "Altra corsa"),
    "compare_prompt": ("Prompt", "Testo"),
    "compare_pair": ("Pair", "Coppia"),
    "compare_draft": ("Draft", "Bozza"),
    "compare_temperature": ("Temperature", "Temperatura"),
    "compare_precision": ("Precision", "Precisione"),
    "compare_device": ("Processor", "Processore"),
    "compare_tokens": ("Tokens", "Token"),
    "compare_normal": ("Normal, tokens/s", "Normale, token/s"),
    "compare_speculative": ("Speculative, tokens/s", "Speculativa, token/s"),
    "compare_speedup": ("Speedup", "Accelerazione"),
    "compare_alpha": ("Acceptance rate", "Tasso di accettazione"),
    "compare_tau": ("Tokens per target pass, τ", "Token per passata, τ"),
    "compare_untested": ("Drafted, never judged", "Proposti, mai giudicati"),
    "compare_overhead": ("Outside the models", "Fuori dai modelli"),
    "compare_memory": ("Weights and caches, MB", "Pesi e cache, MB"),
    "compare_speed_chart": (
        "Tokens per second, mean so far: run on screen solid, other run dashed",
        "Token al secondo, media finora: corsa sullo schermo continua, altra corsa tratteggiata",
    ),
    # report of one run
    "report_title": ("Report of a run", "Rapporto di una corsa"),
    "report_figures": ("Figures", "Cifre"),
    "report_request": ("What was asked", "Che cosa è stato chiesto"),
    "report_measure": ("measure", "misura"),
    "report_value": ("value", "valore"),
    "report_prompt": ("Prompt: {text}", "Testo: {text}"),
    "report_answer": ("Answer: {text}", "Risposta: {text}"),
    "report_seconds": ("Seconds", "Secondi"),
    "report_first_token": ("First token, s", "Primo token, s"),
    "report_rate": ("Tokens/s", "Token/s"),
    "report_passes": ("Target passes", "Passate del modello"),
    "report_rounds_note": (
        "Every number was measured in this run, on the run's own clock.",
        "Ogni numero è stato misurato in questa corsa, sul suo orologio.",
    ),
}
