"""Programs that show tnp at work, each run as ``python -m examples.<name>``."""
