"""The cycle made quick: runners that decorate the plain one without changing a decision; see README.md."""
