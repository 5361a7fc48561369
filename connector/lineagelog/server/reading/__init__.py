"""All that is asked with GET: health, metrics, the OpenAPI document, reads and analyses. The one home of Starlette."""

from .routes import ANYBODYS, Reading, path_to_match

__all__ = ["ANYBODYS", "Reading", "path_to_match"]
