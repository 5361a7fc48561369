"""What becomes of findings: recorded runs of analyses, the evidence behind a finding, and the webhook that is told."""

from .recording import Recorder

__all__ = ["Recorder"]
