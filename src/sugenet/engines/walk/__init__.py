"""Going through sets of moves one by one, all of them or at random, at the rate of the machine."""

__all__: list[str] = []
