"""Words of the tab that teaches, and of the panel of claims and limits."""

from typing import Final

# key: (English, Italian)
ROWS: Final[dict[str, tuple[str, str]]] = {
    "tab_learn": ("Learn", "Impara"),
    "learn_empty": (
        "Choose a recorded run or race first: everything here is taken from the run on screen.",
        "Scegli una corsa registrata o fai una gara: tutto qui viene dalla corsa sullo schermo.",
    ),
    "learn_steps": ("One round, step by step", "Un turno, passo per passo"),
    "learn_of": ("On the run: {prompt}", "Sulla corsa: {prompt}"),
    "learn_back": ("Back", "Indietro"),
    "learn_next": ("Next", "Avanti"),
    "learn_show": ("Show this round in the lanes", "Mostra questo turno nelle corsie"),
    "learn_round": ("round {round}", "turno {round}"),
    "learn_step_draft": ("Draft", "Bozza"),
    "learn_step_verify": ("Verify", "Verifica"),
    "learn_step_accept": ("Accept", "Accetta"),
    "learn_step_resample": ("Resample", "Ricampiona"),
    "learn_step_bonus": ("Bonus", "Omaggio"),
    "learn_draft": (
        "The drafter proposed {drafted} tokens ahead. q is how likely it held each of them.",
        "La bozza ha proposto {drafted} token in anticipo. q è quanto riteneva probabile ciascuno.",
    ),
    "learn_verify": (
        "One pass of the target model went over all {drafted} at once. It gave p, the target's own probability, at every place, and the odds of one token more.",
        "Una sola passata del modello ha letto tutti i {drafted} insieme. Ha dato p, la sua probabilità, in ogni posto, e le probabilità di un token in più.",
    ),
    "learn_accept": (
        "From left to right, a token is kept when a random draw falls below min(1, p ÷ q). Here {kept} of {tested} judged tokens were kept; judging ends at the first refusal.",
        "Da sinistra a destra, un token resta se un numero estratto a caso è minore di min(1, p ÷ q). Qui {kept} token giudicati su {tested} sono rimasti; il giudizio finisce al primo rifiuto.",
    ),
    "learn_greedy_accept": (
        "At temperature 0 there is no draw: a token is kept when it is the target's own likeliest. Here {kept} of {tested} judged tokens were kept; judging ends at the first refusal.",
        "A temperatura 0 non si estrae nulla: un token resta se è il più probabile anche per il modello. Qui {kept} token giudicati su {tested} sono rimasti; il giudizio finisce al primo rifiuto.",
    ),
    "learn_resample": (
        "“{refused}” was refused: its draw {draw} was not below {threshold}. “{chosen}” was drawn in its place from max(0, p − q), which is what makes the answer follow the target exactly. Tokens behind it that nobody judged: {untested}.",
        "«{refused}» è stato rifiutato: il numero estratto {draw} non era minore di {threshold}. Al suo posto «{chosen}» è stato estratto da max(0, p − q): per questo la risposta segue esattamente il modello. Token seguenti che nessuno ha giudicato: {untested}.",
    ),
    "learn_greedy_resample": (
        "“{refused}” was refused: the target's likeliest token was “{chosen}”, which stands in its place. Tokens behind it that nobody judged: {untested}.",
        "«{refused}» è stato rifiutato: il token più probabile per il modello era «{chosen}», che prende il suo posto. Token seguenti che nessuno ha giudicato: {untested}.",
    ),
    "learn_bonus": (
        "All {drafted} drafted tokens were kept, so the pass's last row gave one more for nothing: “{chosen}”.",
        "Tutti i {drafted} token della bozza sono rimasti, quindi l'ultima riga della passata ne ha dato uno gratis: «{chosen}».",
    ),
    "learn_none_draft": (
        "Nothing was drafted and judged in this run; choose another run or another draft source.",
        "In questa corsa nessuna bozza è stata giudicata; scegli un'altra corsa o un'altra fonte.",
    ),
    "learn_none_verify": (
        "No draft was judged in this run; choose another run or another draft source.",
        "In questa corsa nessuna bozza è stata giudicata; scegli un'altra corsa o un'altra fonte.",
    ),
    "learn_none_accept": (
        "No draft token was accepted in this run; choose another run.",
        "In questa corsa nessun token di bozza è stato accettato; scegli un'altra corsa.",
    ),
    "learn_none_resample": (
        "No draft token was refused and replaced in this run; choose another run.",
        "In questa corsa nessun token di bozza è stato rifiutato e sostituito; scegli un'altra corsa.",
    ),
    "learn_none_bonus": (
        "No round of this run kept its whole draft, so none brought a bonus; choose another run.",
        "Nessun turno di questa corsa ha tenuto tutta la bozza, quindi nessun omaggio; scegli un'altra corsa.",
    ),
    # predictions
    "learn_predict": (
        "Predict: will this token be accepted?",
        "Prevedi: questo token sarà accettato?",
    ),
    "learn_no_question": (
        "No draft token was judged in this run, so there is nothing to predict.",
        "In questa corsa nessun token di bozza è stato giudicato: non c'è nulla da prevedere.",
    ),
    "learn_yes": ("Accepted", "Accettato"),
    "learn_no": ("Refused", "Rifiutato"),
    "learn_another": ("Another token", "Un altro token"),
    "learn_q": ("draft's probability q", "probabilità della bozza q"),
    "learn_p": ("target's probability p", "probabilità del modello p"),
    "learn_threshold": ("kept if the draw is below", "resta se l'estratto è minore di"),
    "learn_draw": ("the draw", "il numero estratto"),
    "learn_best": ("the target's likeliest", "il più probabile per il modello"),
    "learn_hidden": ("after your answer", "dopo la risposta"),
    "learn_right": ("Right.", "Giusto."),
    "learn_wrong": ("Not this time.", "Non stavolta."),
    "learn_was_accepted": (
        "The draw {draw} was below {threshold}: accepted.",
        "Il numero estratto {draw} era minore di {threshold}: accettato.",
    ),
    "learn_was_rejected": (
        "The draw {draw} was not below {threshold}: refused.",
        "Il numero estratto {draw} non era minore di {threshold}: rifiutato.",
    ),
    "learn_greedy_was_accepted": (
        "It was the target's likeliest token: accepted.",
        "Era il token più probabile per il modello: accettato.",
    ),
    "learn_greedy_was_rejected": (
        "The target's likeliest token was “{best}”: refused.",
        "Il token più probabile per il modello era «{best}»: rifiutato.",
    ),
    "learn_score": ("{right} of {asked} right", "{right} giuste su {asked}"),
    # tasks
    "learn_tasks": ("Find it in this run", "Trovalo in questa corsa"),
    "learn_task_tau": (
        "The speculative lane wrote {tokens} tokens in {rounds} target passes. What is τ, its tokens per target pass?",
        "La corsia speculativa ha scritto {tokens} token in {rounds} passate. Quanto vale τ, i token per passata?",
    ),
    "learn_task_place": (
        "Which place in the draft (1, 2, 3 …) was refused most often? The chart “Which drafts are kept?” tells.",
        "Quale posto nella bozza (1, 2, 3 …) è stato rifiutato più spesso? Lo dice il grafico «Quali bozze sono tenute?».",
    ),
    "learn_task_untested": (
        "{drafted} tokens were drafted and {tested} judged. How many were drafted in vain, without being judged?",
        "{drafted} token sono stati proposti e {tested} giudicati. Quanti sono stati proposti invano, senza giudizio?",
    ),
    "learn_check": ("Check", "Verifica"),
    "learn_reveal": ("Show the answer", "Mostra la risposta"),
    "learn_task_right": ("Right: {answer}.", "Giusto: {answer}."),
    "learn_task_wrong": ("Not yet. Look again.", "Non ancora. Guarda meglio."),
    "learn_task_answer": ("It is {answer}.", "È {answer}."),
    "learn_or": ("or", "o"),
    # claims
    "claims": ("Claims and limits", "Promesse e limiti"),
    "claims_head_said": ("What is said", "Che cosa si dice"),
    "claims_head_own": ("This run measured", "Questa corsa ha misurato"),
    "claims_head_note": ("What to make of it", "Come leggerlo"),
    "claims_kind_claim": ("Usual claims", "Promesse usuali"),
    "claims_kind_challenge": ("Known difficulties", "Difficoltà note"),
    "claim_latency": ("30–40 % less latency", "Latenza ridotta del 30–40 %"),
    "claim_latency_note": (
        "It depends on how many drafts are kept and on what a draft costs. Where few are kept, speculative decoding is slower.",
        "Dipende da quante bozze restano e da quanto costano. Dove ne restano poche, la decodifica speculativa è più lenta.",
    ),
    "claim_memory": ("26 → 14 GB of memory", "Memoria da 26 a 14 GB"),
    "claim_memory_note": (
        "This is what 8-bit weights save over 16-bit ones, for a model of 13 billion weights. Speculation saves no memory; choose another precision above the prompt and the page sets both runs side by side.",
        "È quanto si risparmia con pesi a 8 bit invece che a 16, per un modello da 13 miliardi di pesi. La speculazione non risparmia memoria; scegli un'altra precisione sopra il testo e la pagina mette le due corse a confronto.",
    ),
    "claim_computation": ("50 % less computation", "50 % di calcolo in meno"),
    "claim_computation_note": (
        "Fewer passes, not less computation: refused and untested tokens were computed too. Time is saved because one pass over several rows costs little more than over one.",
        "Meno passate, non meno calcolo: anche i token rifiutati e non giudicati sono stati calcolati. Si guadagna tempo perché una passata su più righe costa poco più che su una.",
    ),
    "claim_extra": ("Memory overhead of the draft", "Memoria in più per la bozza"),
    "claim_extra_note": (
        "The draft's weights and its own KV cache come on top of the target's.",
        "I pesi della bozza e la sua cache KV si aggiungono a quelli del modello.",
    ),
    "claim_tuning": ("The draft must fit the target", "La bozza deve somigliare al modello"),
    "claim_tuning_note": (
        "The bundled draft was distilled from its target. Draft source and length are settings; the Benchmark tab compares them.",
        "La bozza inclusa è stata distillata dal suo modello. Fonte e lunghezza sono impostazioni; la scheda Benchmark le confronta.",
    ),
    "claim_verification": ("Verification overhead", "Costo della verifica"),
    "claim_verification_note": (
        "A longer draft makes each verification dearer and wastes more when it is refused early.",
        "Una bozza più lunga rende più cara ogni verifica e spreca di più se è rifiutata presto.",
    ),
    "claim_strategies": ("Other decoding strategies", "Altre strategie di decodifica"),
    "claim_strategies_note": (
        "Greedy and sampling (temperature, top-k, top-p, repetition penalty) are exact here. Beam search is not offered: it keeps several texts at once, while the acceptance rule judges one.",
        "Greedy e campionamento (temperatura, top-k, top-p, penalità) qui sono esatti. La beam search non c'è: tiene più testi insieme, mentre la regola di accettazione ne giudica uno.",
    ),
    "claim_batches": ("Batches", "Richieste insieme"),
    "claim_batches_note": (
        "This page decodes one prompt at a time, so that each clock holds its own passes alone. In a large batch the device is busy already: extra rows cost time and the gain shrinks.",
        "Questa pagina decodifica un testo alla volta, così ogni orologio contiene solo le proprie passate. Con molte richieste insieme il dispositivo è già occupato: le righe in più costano tempo e il guadagno cala.",
    ),
    "claim_own_less": (
        "{share} less time per token (speedup {speedup}×)",
        "{share} di tempo in meno per token (accelerazione {speedup}×)",
    ),
    "claim_own_more": (
        "{share} more time per token (speedup {speedup}×)",
        "{share} di tempo in più per token (accelerazione {speedup}×)",
    ),
    "claim_own_memory": (
        "target weights {target} MB in {precision}",
        "pesi del modello {target} MB in {precision}",
    ),
    "claim_own_passes": (
        "{saved} target passes saved ({normal} → {speculative}); rows through the target {normal_rows} → {speculative_rows}; drafted by the small model {model}, from the text {text}, from its table {table}",
        "{saved} passate risparmiate ({normal} → {speculative}); righe lette dal modello {normal_rows} → {speculative_rows}; proposti dal modello piccolo {model}, dal testo {text}, dalla tabella {table}",
    ),
    "claim_own_passes_more": (
        "{saved} target passes more ({normal} → {speculative}); rows through the target {normal_rows} → {speculative_rows}; drafted by the small model {model}, from the text {text}, from its table {table}",
        "{saved} passate in più ({normal} → {speculative}); righe lette dal modello {normal_rows} → {speculative_rows}; proposti dal modello piccolo {model}, dal testo {text}, dalla tabella {table}",
    ),
    "claim_own_extra": (
        "{weights} MB of weights and {cache} MB of cache, {share} of what the target holds",
        "{weights} MB di pesi e {cache} MB di cache, il {share} di quanto occupa il modello",
    ),
    "claim_own_tuning": (
        "{rate} of judged drafts accepted, {tau} tokens per target pass",
        "{rate} delle bozze giudicate accettate, {tau} token per passata",
    ),
    "claim_own_no_draft": ("nothing was drafted and judged", "nessuna bozza è stata giudicata"),
    "claim_own_verification": (
        "a verification takes {ratio} one-token passes; {overhead} of the run outside the models; {refused} drafts refused and {untested} never judged, of {drafted}",
        "una verifica vale {ratio} passate da un token; {overhead} della corsa fuori dai modelli; {refused} bozze rifiutate e {untested} mai giudicate, su {drafted}",
    ),
    "claim_own_greedy": ("greedy (temperature 0)", "greedy (temperatura 0)"),
    "claim_own_sampling": (
        "sampling: temperature {temperature}, top-k {top_k}, top-p {top_p}",
        "campionamento: temperatura {temperature}, top-k {top_k}, top-p {top_p}",
    ),
    "claim_own_batches": ("batch of 1, on {processor}", "una richiesta, su {processor}"),
}
