"""PostgreSQL itself: engine and connections, its wire format, and the embedded cluster."""
