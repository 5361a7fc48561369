"""The web page: rendered here from templates, kept alive by small modules of our own; nothing of others is loaded."""

from .routes import WebPage

__all__ = ["WebPage"]
