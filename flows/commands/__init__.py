"""What the commands do, one module a subject; imported only when a command runs."""
