"""Distils a small draft model from its target: the parts behind `scripts/distill_draft.py`."""
