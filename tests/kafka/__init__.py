"""The Kafka consumer against a real broker and a real PostgreSQL."""
