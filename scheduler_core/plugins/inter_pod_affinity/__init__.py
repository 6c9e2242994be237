"""InterPodAffinity: the rule in plugin.py, its filter and its score each in a file of their own."""
