"""Data files of the package, and the commands that made them: see README.md here."""
