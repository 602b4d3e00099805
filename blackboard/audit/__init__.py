"""Whether a log can be trusted: verification, checkpoints to keep elsewhere, and proofs against them.

Nothing here appends, and nothing asks a running server: a store is read beside whoever writes it.
"""
