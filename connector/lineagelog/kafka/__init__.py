"""Kafka: the one home of confluent-kafka (librdkafka)."""
