"""The log in a PostgreSQL database that many servers share."""
