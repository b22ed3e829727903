class DeliveryError(Exception):
    """A message did not arrive; the text says why in our words, and holds no secret."""
