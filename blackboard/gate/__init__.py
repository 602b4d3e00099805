"""What may happen next: pure decisions over a board."""
