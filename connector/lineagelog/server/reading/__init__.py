"""All that is not receiving: health, metrics, OpenAPI, reads, analyses, findings. The one home of Starlette."""

from .routes import ANYBODYS, Reading, path_to_match

__all__ = ["ANYBODYS", "Reading", "path_to_match"]
