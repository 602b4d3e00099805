"""An event-sourced blackboard that remembers what each agent has seen and still holds."""

__version__ = "0.1.0"
