"""What `doctor` looks at: findings about this machine, and about the database by its engine."""
