"""Distils a small draft model from its target on a CPU.

    python scripts/distill_draft.py generate --target models/target --data distill/data
    python scripts/distill_draft.py train --target models/target --data distill/data \\
        --initial models/pilot --draft-token-ids models/pilot/frequent_token_ids.json \\
        --output distill/draft
    python scripts/distill_draft.py evaluate --target models/target --data distill/data \\
        --draft distill/draft --prompts assets/prompts/*.jsonl --output distill/evaluation.json

Every command can be interrupted and called again: `generate` goes on with the first shard that
is missing, `train` with its last checkpoint. Heavy allocations are reused, not returned, under
MALLOC_MMAP_THRESHOLD_=4294967295 MALLOC_TRIM_THRESHOLD_=8589934592 OMP_WAIT_POLICY=PASSIVE.

Recipe
    Model: four Llama layers of a first draft model (trained from the target's layers 0, 1, 28, 29
    without features), final norm, and feature_proj, 576 x 576, from zero. 14.5 M parameters.
    Data: 182,000 tokens that the target wrote, four shards of 160 rows: chats of 256 tokens (two),
    of 384 (one), plain texts of 256 (one). Seven user turns in ten begin with a generic stem,
    half of the answers are greedy, the rest at temperature 0.7 and 1.0. Eight rows a shard are
    held out. Nine rows were dropped whose stem also begins a Spec-Bench question.
    Loss: cross-entropy against the target's top 48 tokens within 16,384 draft tokens, at every
    committed position and on branches of 1 to 5 drafted inputs at a third of them.
    AdamW, 1,152 text tokens a step, cosine; rate 5e-4 (feature_proj 2e-3, whitened), 380 steps,
    the fourth shard from step 160 on.
    Two busy cores with AVX2: writing 85 to 170 tokens/s, training 400 loss tokens per CPU second.

Second training, from the draft so made
    Data: 266,240 new tokens (`generate --seed 2 --num-shards 6`), each seen once.
    240 steps, rate 4e-4 (feature_proj 1.5e-3), `--seed 3`; 600 loss tokens per CPU second.
    Held out (48 rows of the new shards)           before           after
    agreement of arg-maxes, depth 1 / 3 / 6        .489 .475 .473   .517 .493 .490
    the same on greedy text                        .537 .521 .520   .584 .552 .551
    sum of min(p, q), depth 1 / 3 / 6              .452 .437 .433   .463 .441 .437
    tokens per target pass, 3 / 5 drafted, greedy  1.92 2.02        2.04 2.18
    No row shares eight words with a prompt. The new texts joined the table of continuations.

Third training, from that, whose result is shipped
    Data: 593,920 new tokens (`generate --seed 3 --num-shards 13`), each seen once, and those of the
    second training once more. 720 steps, rate 5e-4 (feature_proj 2e-3), `--seed 5`; 25 minutes on
    two cores with AVX-512, 700 loss tokens per CPU second; writing 250 to 530 tokens/s.
    Held out (104 rows of the new shards)          before           after
    agreement of arg-maxes, depth 1 / 3 / 6        .516 .499 .492   .549 .523 .517
    the same on greedy text                        .582 .562 .558   .615 .592 .583
    sum of min(p, q), depth 1 / 3 / 6              .471 .450 .445   .509 .476 .469
    tokens per target pass, 3 / 5 drafted, greedy  2.03 2.20        2.13 2.33
    No row shares eight words with a prompt. The table of continuations holds these texts too.
    Tried on it: the layers' matrices rounded to 4 bits would halve a draft pass's bytes, but lose
    8 % of the tokens per pass with a scale for each row, 5.5 % with one for 32 weights: left.

Tried (loss at depth 1 / beyond, mean of ten steps of the first epoch, the same batches)
                                                          steps 31-40  51-60        91-100
    feature added to the embedding, rates 7e-4, 2e-4      3.51 / 3.42  3.21 / 3.08  3.36 / 3.28
    the same, whitened, rates 3e-4, 5e-4                  3.59 / 3.45
    feature added before layer 2, whitened, 5e-4, 2e-3    3.27 / 3.28  2.97 / 2.95  3.10 / 3.15
    Not trained: two layers. Without retraining, keeping some layers of the first draft model gives
    a loss of 2.75 (all), 4.89 (0, 2, 3), 6.79 (0, 1, 2), 9.18 (0, 2).
    The second epoch's loss falls by 0.3 at once: more data will help more than more epochs.

First training, held out (32 rows)           first draft model   step 160   step 380
    agreement of arg-maxes, depth 1 / 3 / 6      .482 .480 .476      .504 .493 .490   .521 .511 .505
    the same on greedy text                      .536 .536 .536      .555 .543 .542   .573 .568 .563
    sum of min(p, q), depth 1 / 3 / 6            .448 .446 .443      .463 .452 .448   .478 .465 .460
    tokens per target pass, 3 / 5 drafted, greedy 1.93 2.08          1.99 2.14        2.03 2.20
    The 8,192 most frequent tokens alone lose 0.001 of agreement.
    75 more steps (2.5e-4) with a fifth shard changed nothing: .521 .513 .510, 2.02 2.19.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import torch
from distillation.continuations import write_continuations
from distillation.evaluation import evaluate
from distillation.files import write_json
from distillation.generation import generate
from distillation.overlap import data_overlap
from distillation.training import TrainingPaths, TrainingSpec, train


def run_generate(arguments: argparse.Namespace) -> None:
    """Writes the shards that the data folder still lacks."""
    generate(
        arguments.target, arguments.data, arguments.num_shards, arguments.num_rows, arguments.seed
    )


def run_train(arguments: argparse.Namespace) -> None:
    """Trains, or goes on with an interrupted training."""
    paths = TrainingPaths(
        target=arguments.target,
        data=arguments.data,
        initial=arguments.initial,
        draft_token_ids=arguments.draft_token_ids,
        counted_texts=arguments.counted_texts,
        output=arguments.output,
    )
    spec = TrainingSpec(
        num_steps=arguments.num_steps,
        stop_after=arguments.num_steps if arguments.stop_after is None else arguments.stop_after,
        num_batch_tokens=arguments.num_batch_tokens,
        learning_rate=arguments.learning_rate,
        feature_learning_rate=arguments.feature_learning_rate,
        num_steps_per_checkpoint=arguments.num_steps_per_checkpoint,
        seed=arguments.seed,
    )
    train(paths, spec, arguments.layers)


def run_tabulate(arguments: argparse.Namespace) -> None:
    """Writes the table of continuations."""
    write_continuations(arguments.texts, arguments.target, arguments.prompts, arguments.output)


def run_evaluate(arguments: argparse.Namespace) -> None:
    """Measures a draft folder on held-out rows and looks for prompts in the training texts."""
    result = evaluate(arguments.target, arguments.data, arguments.draft, arguments.cut)
    if arguments.prompts:
        result["overlap_with_prompts"] = asdict(
            data_overlap(arguments.target, arguments.data, arguments.prompts)
        )
    print(json.dumps(result, indent=1))
    if arguments.output:
        write_json(arguments.output, result)


def build_parser() -> argparse.ArgumentParser:
    """Declares the four subcommands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--target", type=Path, required=True, help="folder of the target model and its tokenizer"
    )
    common.add_argument("--data", type=Path, required=True, help="folder of the shards")
    common.add_argument("--num-threads", type=int, default=2)
    _add_generate(commands.add_parser("generate", parents=[common], help=generate.__doc__))
    _add_train(commands.add_parser("train", parents=[common], help=train.__doc__))
    _add_tabulate(commands.add_parser("tabulate", help=write_continuations.__doc__))
    _add_evaluate(commands.add_parser("evaluate", parents=[common], help=evaluate.__doc__))
    return parser


def _add_generate(command: argparse.ArgumentParser) -> None:
    command.add_argument("--num-shards", type=int, default=4)
    command.add_argument(
        "--num-rows", type=int, default=160, help="rows of a shard, written in lockstep"
    )
    command.add_argument("--seed", type=int, default=1)
    command.set_defaults(run=run_generate)


def _add_train(command: argparse.ArgumentParser) -> None:
    command.add_argument("--initial", type=Path, required=True, help="draft folder to start from")
    command.add_argument(
        "--draft-token-ids", type=Path, required=True, help="JSON list of the draft vocabulary"
    )
    command.add_argument(
        "--counted-texts", type=Path, help="more texts (.jsonl.gz) to order that vocabulary by"
    )
    command.add_argument(
        "--output", type=Path, required=True, help="draft folder to write, and to resume from"
    )
    command.add_argument(
        "--layers", type=_layer_list, help="layers to keep, such as 0,2; default: all"
    )
    command.add_argument("--num-steps", type=int, default=380)
    command.add_argument("--stop-after", type=int, help="pause after this step; the schedule stays")
    command.add_argument("--num-batch-tokens", type=int, default=1152, help="text tokens of a step")
    command.add_argument("--learning-rate", type=float, default=5e-4)
    command.add_argument("--feature-learning-rate", type=float, default=2e-3)
    command.add_argument("--num-steps-per-checkpoint", type=int, default=100)
    command.add_argument("--seed", type=int, default=1)
    command.set_defaults(run=run_train)


def _add_tabulate(command: argparse.ArgumentParser) -> None:
    command.add_argument("--target", type=Path, required=True, help="folder of the target model")
    command.add_argument(
        "--texts", type=Path, nargs="+", required=True, help=".jsonl.gz files or folders of shards"
    )
    command.add_argument(
        "--prompts", type=Path, nargs="+", required=True, help="prompts that nothing may come from"
    )
    command.add_argument("--output", type=Path, required=True, help="draft folder to write into")
    command.set_defaults(run=run_tabulate, num_threads=2)


def _add_evaluate(command: argparse.ArgumentParser) -> None:
    command.add_argument("--draft", type=Path, required=True, help="draft folder to measure")
    command.add_argument(
        "--cut", type=int, default=8192, help="second, smaller vocabulary to measure"
    )
    command.add_argument(
        "--prompts", type=Path, nargs="*", help="evaluation prompts to look for in the texts"
    )
    command.add_argument("--output", type=Path, help="JSON file to write")
    command.set_defaults(run=run_evaluate)


def _layer_list(text: str) -> list[int]:
    return [int(index) for index in text.split(",")]


if __name__ == "__main__":
    parsed = build_parser().parse_args()
    torch.set_num_threads(parsed.num_threads)
    parsed.run(parsed)
