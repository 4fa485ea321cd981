"""The words of the benchmark and of draft-and-score."""

from __future__ import annotations

from typing import Final

# key: (English, Italian)
ROWS: Final[dict[str, tuple[str, str]]] = {
    "decimal_mark": (".", ","),
    "tab_race": ("Race", "Gara"),
    "tab_benchmark": ("Benchmark", "Misure"),
    "tab_score": ("Draft and score", "Bozza e punteggio"),
    # benchmark: what to run
    "bench_suite": ("Prompts", "Testi"),
    "bench_suite_tutorial": ("tutorial (5, completion)", "tutorial (5, completamento)"),
    "bench_suite_spec_bench": ("Spec-Bench (60 over six tasks)", "Spec-Bench (60 in sei compiti)"),
    "bench_suite_own": ("your own file", "un tuo file"),
    "bench_own": (
        "Text (one prompt per line) or JSONL",
        "Testo (uno per riga) o JSONL",
    ),
    "bench_precisions": ("Precisions", "Precisioni"),
    "bench_sources": ("Draft sources", "Fonti delle bozze"),
    "bench_lengths": ("Draft lengths", "Lunghezze della bozza"),
    "bench_length_2": ("2 tokens", "2 token"),
    "bench_length_4": ("4 tokens", "4 token"),
    "bench_length_8": ("8 tokens", "8 token"),
    "bench_repeats": ("Repeats", "Ripetizioni"),
    "bench_tokens": ("Max new tokens", "Nuovi token al massimo"),
    "bench_tokens_info": ("0: the suite's own", "0: quelli della serie"),
    "bench_resume": ("Continue from a JSON of results", "Continua da un JSON di risultati"),
    "bench_start": ("Measure", "Misura"),
    "bench_json": ("JSON", "JSON"),
    "bench_csv": ("CSV", "CSV"),
    "bench_html": ("HTML report", "Rapporto HTML"),
    "bench_hint": (
        "Every answer is measured alone, warm, one after another, in alternating order.",
        "Ogni risposta è misurata da sola, a caldo, una dopo l'altra, in ordine alterno.",
    ),
    "bench_empty": ("No run yet.", "Ancora nessuna corsa."),
    "bench_running": (
        "{done} of {planned} runs; about {left} left.",
        "{done} corse su {planned}; restano circa {left}.",
    ),
    "bench_begun": ("{done} of {planned} runs.", "{done} corse su {planned}."),
    "bench_done": ("Finished: {done} runs.", "Finito: {done} corse."),
    "bench_stopped": (
        "Stopped after {done} of {planned} runs; save the JSON to continue later.",
        "Fermato dopo {done} corse su {planned}; salva il JSON per continuare in seguito.",
    ),
    "bench_not_written": (
        "The files to save could not be written: the disk is full or read-only. Free some space and start again; the table here is complete.",
        "Non è stato possibile scrivere i file da salvare: il disco è pieno o in sola lettura. Libera spazio e riprova; la tabella qui è completa.",
    ),
    "bench_no_file": (
        "Choose a file with prompts first.",
        "Scegli prima un file con i testi.",
    ),
    # benchmark: what was measured
    "bench_precision": ("precision", "precisione"),
    "bench_method": ("method", "metodo"),
    "bench_prompt": ("prompt", "testo"),
    "bench_latency": ("latency, s", "latenza, s"),
    "bench_first_token": ("first token, s", "primo token, s"),
    "bench_rest": ("after the first token, s", "dopo il primo token, s"),
    "bench_rate": ("tokens/s", "token/s"),
    "bench_total_rate": ("all tokens ÷ all seconds", "tutti i token ÷ tutti i secondi"),
    "bench_speedup": ("speedup (quartiles)", "accelerazione (quartili)"),
    "bench_fresh": ("where under 20 % repeats", "dove si ripete meno del 20 %"),
    "bench_tau": ("τ", "τ"),
    "bench_drafted_tau": ("τ of drafted passes only", "τ delle sole passate con bozza"),
    "bench_alpha": ("accepted ÷ tested", "accettati ÷ giudicati"),
    "bench_drafted": ("accepted ÷ drafted", "accettati ÷ proposti"),
    "bench_repeated": ("repeated", "ripetuto"),
    "bench_held": ("held, MB", "occupati, MB"),
    "bench_peak": ("process peak, MB", "picco del processo, MB"),
    "bench_same": ("same output", "stesso risultato"),
    "bench_over_best": (
        "speedup over normal in {precision}",
        "accelerazione sulla normale in {precision}",
    ),
    "bench_methods": ("Precision × method", "Precisione × metodo"),
    "bench_methods_note": (
        "Medians of speedups over normal decoding of the same prompt, precision and repeat; "
        "everything else is a mean. “Repeated” is the share of tokens in a 4-gram seen before: "
        "looping text flatters every drafter. τ: tokens per target pass.",
        "Mediane delle accelerazioni sulla decodifica normale dello stesso testo, precisione e "
        "ripetizione; il resto sono medie. «Ripetuto» è la quota di token in un 4-gramma già "
        "visto: un testo che si ripete favorisce ogni bozza. τ: token per passata.",
    ),
    "bench_prompts": ("Prompt by prompt", "Testo per testo"),
    "bench_tutorial": ("The tutorial's figures and ours", "I valori del tutorial e i nostri"),
    "bench_tutorial_note": (
        "The tutorial's 26,458 MB against 8,993 MB stands under its quantization heading and "
        "compares different precisions; ours hold the precision equal in both columns. Its "
        "“speculative” answer is the draft's own, scored afterwards; ours is the target's.",
        "I 26.458 MB contro 8.993 MB del tutorial stanno sotto il suo titolo sulla quantizzazione "
        "e confrontano precisioni diverse; i nostri hanno la stessa precisione nelle due colonne. "
        "La sua risposta «speculativa» è quella della bozza, valutata dopo; la nostra è del "
        "modello.",
    ),
    "bench_tutorial_full": (
        "Tutorial: Gemma-2 9B with 2B, full precision",
        "Tutorial: Gemma-2 9B con 2B, precisione piena",
    ),
    "bench_tutorial_4bit": (
        "Tutorial: Gemma-2 9B with 2B, 4-bit NF4",
        "Tutorial: Gemma-2 9B con 2B, NF4 a 4 bit",
    ),
    "bench_ours": ("Ours", "Nostri"),
    "bench_who": ("who", "chi"),
    "bench_normal_s": ("normal, s", "normale, s"),
    "bench_speculative_s": ("speculative, s", "speculativa, s"),
    "bench_ratio": ("normal ÷ speculative", "normale ÷ speculativa"),
    "bench_normal_rate": ("normal, tokens/s", "normale, token/s"),
    "bench_speculative_rate": ("speculative, tokens/s", "speculativa, token/s"),
    "bench_normal_mb": ("normal, MB", "normale, MB"),
    "bench_speculative_mb": ("speculative, MB", "speculativa, MB"),
    "bench_chart_rates": ("Mean tokens per second", "Media dei token al secondo"),
    "bench_chart_speedups": (
        "Speedup of each prompt, and the median",
        "Accelerazione di ogni testo, e la mediana",
    ),
    "bench_chart_latencies": ("Mean time of an answer", "Tempo medio di una risposta"),
    "bench_chart_held": ("Memory held", "Memoria occupata"),
    "bench_report": ("Benchmark: {suite}", "Misure: {suite}"),
    "bench_lead": (
        "{done} of {planned} runs: {prompts} prompts, {repeats} repeats, up to {tokens} new "
        "tokens, temperature {temperature}, seeds {first} to {last}.",
        "{done} corse su {planned}: {prompts} testi, {repeats} ripetizioni, fino a {tokens} nuovi "
        "token, temperatura {temperature}, semi da {first} a {last}.",
    ),
    "bench_order": (
        "Every answer was measured alone, on a warm model, one after another; the order of the "
        "methods was turned round from prompt to prompt.",
        "Ogni risposta è stata misurata da sola, a modello caldo, una dopo l'altra; l'ordine dei "
        "metodi è stato invertito da un testo all'altro.",
    ),
    "bench_averages": (
        "Averages are means of per-prompt means; all tokens ÷ all seconds stands beside them.",
        "Le medie sono medie delle medie per testo; accanto c'è tutti i token ÷ tutti i secondi.",
    ),
    "bench_equal_precision": (
        "Normal and speculative runs hold the same weights in the same precision; a draft model "
        "comes on top.",
        "Le corse normali e speculative hanno gli stessi pesi nella stessa precisione; un modello "
        "di bozza si aggiunge.",
    ),
    "bench_attribution": (
        "Prompts: 60 of Spec-Bench (github.com/hemingkx/Spec-Bench, Apache-2.0).",
        "Testi: 60 di Spec-Bench (github.com/hemingkx/Spec-Bench, Apache-2.0).",
    ),
    # draft and score
    "score_start": ("Draft and score", "Bozza e punteggio"),
    "score_hint": (
        "The draft model writes the whole answer; the target only looks at it afterwards.",
        "Il modello di bozza scrive tutta la risposta; il modello la guarda solo dopo.",
    ),
    "score_drafting": ("The draft model writes …", "Il modello di bozza scrive …"),
    "score_scoring": ("The target scores …", "Il modello valuta …"),
    "score_racing": (
        "Normal and true speculative decoding of the same prompt …",
        "Decodifica normale e vera decodifica speculativa dello stesso testo …",
    ),
    "score_done": (
        "Finished: the target would have written something else from answer token {index} on.",
        "Finito: dal token {index} della risposta il modello avrebbe scritto altro.",
    ),
    "score_agrees": (
        "Finished: the target would have written every token of this answer too.",
        "Finito: il modello avrebbe scritto ogni token di questa risposta.",
    ),
    "score_empty": (
        "The draft model wrote nothing: there is no answer to score.",
        "Il modello di bozza non ha scritto nulla: non c'è una risposta da valutare.",
    ),
    "score_lane_draft": ("Draft, scored", "Bozza, valutata"),
    "score_lane_draft_sub": (
        "the small model's own text; nothing was refused",
        "il testo del modello piccolo; nulla è stato scartato",
    ),
    "score_lane_speculative_sub": (
        "drafts verified: the target's own text",
        "bozze verificate: il testo del modello",
    ),
    "score_lane_normal_sub": ("the target alone", "il modello da solo"),
    "score_average": ("Average log-likelihood", "Log-verosimiglianza media"),
    "score_average_sub": (
        "prompt and answer, as the tutorial counts",
        "testo e risposta, come conta il tutorial",
    ),
    "score_answer_average": ("Answer only", "Solo la risposta"),
    "score_answer_average_sub": ("{count} answer tokens", "{count} token di risposta"),
    "score_perplexity": ("Perplexity", "Perplessità"),
    "score_perplexity_sub": (
        "exp(−average); answer only {answer}",
        "exp(−media); solo risposta {answer}",
    ),
    "score_time": ("Draft + score", "Bozza + valutazione"),
    "score_time_sub": (
        "{draft} s to write, {score} s to score",
        "{draft} s per scrivere, {score} s per valutare",
    ),
    "score_first": (
        "Token {index}: the target would have written {best} (probability {best_prob}), not {own} "
        "({own_prob}). Verification stops here and replaces it; scoring reads on.",
        "Token {index}: il modello avrebbe scritto {best} (probabilità {best_prob}), non {own} "
        "({own_prob}). La verifica si ferma qui e lo sostituisce; la valutazione prosegue.",
    ),
    "score_token": (
        "{own}: the target gave it probability {own_prob} (log {log_prob}); its first choice was "
        "{best} ({best_prob}).",
        "{own}: il modello gli dava probabilità {own_prob} (log {log_prob}); la sua prima scelta "
        "era {best} ({best_prob}).",
    ),
    "score_token_hint": (
        "Point at a token of the draft, or reach it with Tab and the arrow keys.",
        "Indica un token della bozza, o raggiungilo con Tab e le frecce.",
    ),
    "score_level_0": ("expected, p ≥ 0.5", "atteso, p ≥ 0,5"),
    "score_level_1": ("possible, p ≥ 0.1", "possibile, p ≥ 0,1"),
    "score_level_2": ("surprising, p ≥ 0.01", "sorprendente, p ≥ 0,01"),
    "score_level_3": ("very surprising, p under 0.01", "molto sorprendente, p sotto 0,01"),
    "score_level_first": ("first other choice", "prima scelta diversa"),
    "score_changed": (
        "{count} token ids changed when the text was tokenized again.",
        "{count} id di token sono cambiati ritokenizzando il testo.",
    ),
    "score_lacks_features": (
        "This draft model reads the target's hidden states in speculative decoding; alone it has "
        "to write without them, and writes worse.",
        "Questo modello di bozza legge gli stati interni del modello nella decodifica speculativa; "
        "da solo ne fa a meno, e scrive peggio.",
    ),
    "score_why": (
        "A score is not a verdict: however low it is, the text stays the draft's. True speculative "
        "decoding replaces each refused token and ends with the target's own answer.",
        "Un punteggio non è un verdetto: per quanto basso, il testo resta della bozza. La vera "
        "decodifica speculativa sostituisce ogni token scartato e finisce con la risposta del "
        "modello.",
    ),
}
