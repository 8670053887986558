"""The compiled forms of rules: faster than those of `rules`, which say what each must do."""

__all__: list[str] = []
