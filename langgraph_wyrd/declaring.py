"""Declaring."""


class Declaring:
    pass
