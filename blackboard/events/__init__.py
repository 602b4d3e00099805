"""What can be recorded: event kinds, envelope, policy, upcasters."""
