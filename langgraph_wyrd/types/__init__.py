"""Values of the user's own classes: which are rebuilt, and what becomes of those that can't be."""
