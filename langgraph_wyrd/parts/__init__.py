"""The parts that a saver is composed of, one concern each."""
