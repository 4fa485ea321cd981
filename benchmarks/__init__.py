"""Measurements, run by hand; tests check, these measure."""
