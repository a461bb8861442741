"""What runs, when, and on whose behalf: the command, the steps of a sync, and their orchestration."""
