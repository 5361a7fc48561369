"""The OpenAPI document."""
def document():
    return {}
