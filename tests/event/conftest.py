"""Hypothesis on a machine that has other work: no deadlines per example, reproducible on demand by its own seed."""

from hypothesis import HealthCheck, settings

settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared-machine")
