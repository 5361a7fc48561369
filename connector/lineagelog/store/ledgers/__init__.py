"""What others need remembered: tokens, dead letters, offsets of Kafka, cursors of forwarding."""
