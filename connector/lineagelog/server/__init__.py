"""The HTTP server: receives events for the intake, answers reads, and says how it is doing."""

from .app import App, create_app
from .limits import Limits
from .serve import HttpServer, check_tls, run_server

__all__ = ["App", "HttpServer", "Limits", "check_tls", "create_app", "run_server"]
