"""A remembered run is the run that the model itself would have made."""

from __future__ import annotations

import pytest
import torch

from specdemo.engine.draft_length import FixedLength
from specdemo.engine.drafting import ModelDrafter
from specdemo.engine.generation import generate
from specdemo.engine.protocols import ModelRunner
from specdemo.engine.sampling import Sampler, SamplingParams, Warped
from specdemo.events import RoundVerified
from specdemo.models.compiled import CompiledRunner, Threads
from specdemo.models.packed import compile_weights
from specdemo.proof.remembering import PassTree, RememberingRunner, RememberingSampler
from tests.fakes import FeatureRunner, TableRunner, random_table
from tests.models.tiny import tiny_llama

PARAMS = SamplingParams(temperature=1.0, top_k=4, top_p=0.9)
PROMPT = [1, 2, 3, 2]


def judged_by(target: ModelRunner, draft: ModelRunner, sampler: Sampler) -> list[object]:
    events = generate(
        target, ModelDrafter(draft, sampler), sampler, PROMPT,
        draft_length=FixedLength(3), max_new_tokens=5, end_token_ids=frozenset({7}),
    )  # fmt: skip
    return [event.round.judged for event in events if isinstance(event, RoundVerified)]


def remembered(target: ModelRunner, draft: ModelRunner, num_runs: int) -> list[list[object]]:
    trees, warped = (PassTree(target), PassTree(draft)), dict[int, Warped]()
    runs = []
    for seed in range(num_runs):
        one, other = (RememberingRunner(tree) for tree in trees)
        runs.append(judged_by(one, other, RememberingSampler(PARAMS, seed, warped)))
        assert runs[-1]
    return runs


@pytest.mark.parametrize("draft_kind", [TableRunner, FeatureRunner])
def test_every_run_judges_as_it_would_without_memory(draft_kind: type[TableRunner]) -> None:
    table, other = random_table(9, 1), random_table(9, 2)
    runs = remembered(TableRunner(table), draft_kind(other), 150)
    for seed, run in enumerate(runs):
        expected = judged_by(TableRunner(table), draft_kind(other), Sampler(PARAMS, seed))
        assert run == expected


def test_a_compiled_model_that_reads_features_too() -> None:
    target, draft = tiny_llama(1), tiny_llama(2)
    weights = compile_weights(target.state_dict(), target.config, torch.float32)
    state = {
        **draft.state_dict(),
        "model.feature_proj.weight": 0.1 * torch.eye(target.config.hidden_size),
    }
    draft.config.target_feature_layer = 1
    reading = compile_weights(state, draft.config, torch.float32)
    threads = Threads(1)
    runs = remembered(
        CompiledRunner(weights, 16, threads), CompiledRunner(reading, 16, threads), 40
    )
    for seed, run in enumerate(runs):
        fresh = [CompiledRunner(w, 16, threads) for w in (weights, reading)]
        assert run == judged_by(fresh[0], fresh[1], Sampler(PARAMS, seed))


def test_no_pass_is_computed_twice() -> None:
    tree = PassTree(TableRunner(random_table(9, 1)))
    for _ in range(3):
        runner = RememberingRunner(tree)
        runner.forward([1, 2], 0)
        first = runner.forward([3, 4], 2)
        runner.rollback(3)
        runner.forward([5], 1)
    assert tree.num_passes == 3
    again = RememberingRunner(tree)
    again.forward([1, 2], 0)
    assert again.forward([3, 4], 2) is first
    assert again.num_cached_tokens == 4


def test_a_history_with_features_is_another_one_than_without() -> None:
    runner = FeatureRunner(random_table(9, 1))
    tree = PassTree(runner)
    plain, featured = RememberingRunner(tree), RememberingRunner(tree)
    plain.forward([1], 1)
    featured.forward([1], 1, torch.full((1, 4), 5.0))
    featured.forward([2], 1)
    assert runner.seen == [5.0, None]
    plain.forward([2], 1)
    assert runner.seen == [None, None]
    assert tree.num_passes == 4
