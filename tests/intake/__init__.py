"""How deliveries become events: documents of a stream, batches, limits."""
