"""The action gate: is there a record that this holder lacks and that binds this concrete action?

Pure, and complete on a bare set of records: it knows nothing of boards, events or files.
Source: seed 2; the action gate's design.
"""
